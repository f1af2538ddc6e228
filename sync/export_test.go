package sync

import "github.com/pacekeeper/pacekeeper/store"

// Payloads is payloads, for tests.
func Payloads(instance string, changes []store.Change) []string { return payloads(instance, changes) }

// ParsePayload is parsePayload, for tests.
func ParsePayload(payload string) (string, []store.Change, bool) { return parsePayload(payload) }
