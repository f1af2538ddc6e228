// Package enforce is the kit that services import to obey Pacekeeper's policies: the keys and packed forms in Redis, the
// scripts that decide there, and a client that asks them.
//
// A check is one EVALSHA of check.lua; policy.Decide is its reference. The Client answers for Redis where it cannot.
// The Publisher is the control plane's side: it writes policies, exemptions, mutes and bans, and reads events back.
package enforce
