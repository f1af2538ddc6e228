package enforce

import (
	"hash/crc32"
	"strings"

	"github.com/pacekeeper/pacekeeper/policy"
)

// Shards is the number of shards. All keys of a group lie in one, and so in one cluster slot.
const Shards = 256

// DefaultPrefix is the application prefix of keys where none is configured.
const DefaultPrefix = "pk"

// wholeGroup stands in a user's place in the key of a whole group's state.
const wholeGroup = "~group"

const hexDigits = "0123456789abcdef"

// Keys builds every key that Pacekeeper uses in Redis; no key is built anywhere else. Immutable.
type Keys struct {
	prefix string
	heads  *[Shards]string // of the keys of each shard: prefix:{s1f}:
}

// NewKeys makes the keys under an application prefix; "" is DefaultPrefix.
func NewKeys(prefix string) Keys {
	if prefix == "" {
		prefix = DefaultPrefix
	}
	k := Keys{prefix: prefix, heads: &[Shards]string{}}
	for i := range k.heads {
		k.heads[i] = prefix + ":" + ShardTag(uint8(i)) + ":"
	}
	return k
}

func (k Keys) head(group string) string { return k.heads[Shard(group)] }

// Shard is the shard of a group: CRC-32 (IEEE) of the id's bytes mod 256.
func Shard(id string) uint8 { return uint8(crc32.ChecksumIEEE([]byte(id))) } //nolint:gosec // mod 256 is meant

// ShardTag is the cluster hash tag of a shard, e.g. {s1f}.
func ShardTag(shard uint8) string {
	return string([]byte{'{', 's', hexDigits[shard>>4], hexDigits[shard&15], '}'})
}

// Policy is the hash of one action's compiled policy of a group.
func (k Keys) Policy(action, group string) string {
	return k.head(group) + "policy:" + action + "|" + group
}

// Default is the hash of one action's compiled defaults; every shard has one.
func (k Keys) Default(shard uint8, action string) string { return k.sharded(shard, "default:"+action) }

// ScopePolicy is the hash of one action's compiled policy in a scope of the system; where the action is limited there,
// every shard has one.
func (k Keys) ScopePolicy(shard uint8, action string, scope policy.Scope) string {
	return k.sharded(shard, "policy:"+action+"|"+scope.Place())
}

// ScopeState is the packed state of one subject's attempts at one action in a scope of the system: of a user, of an
// address as policy.IPSubject has it, of two users as policy.PeerSubject has them. It lies in the subject's shard.
func (k Keys) ScopeState(action string, scope policy.Scope, subject string) string {
	return k.grouped("state:"+action+"|"+scope.Place()+"|", subject)
}

// scopeMember stands in the place of a member's record; scopes have no strikes, so nothing writes it.
func (k Keys) scopeMember(scope policy.Scope, subject string) string {
	return k.grouped("member:"+scope.Place()+"|", subject)
}

// Exempt is the sorted set of a group's named exemptions: user → expiry ms, inf = none.
func (k Keys) Exempt(group string) string { return k.grouped("exempt:", group) }

// ExemptV holds the order of Exempt, even when that is empty.
func (k Keys) ExemptV(group string) string { return k.grouped("exemptv:", group) }

// Notice is the hash of a group's own notice texts.
func (k Keys) Notice(group string) string { return k.grouped("notice:", group) }

// State is the packed state of one member's attempts at one action.
func (k Keys) State(action, group, user string) string {
	return k.head(group) + "state:" + action + "|" + group + "|" + user
}

// GroupState is the packed state of all of a group's attempts at one action; no user's id starts with ~.
func (k Keys) GroupState(action, group string) string { return k.State(action, group, wholeGroup) }

// Member is the packed record of one member's strikes and mute.
func (k Keys) Member(group, user string) string {
	return k.head(group) + "member:" + group + "|" + user
}

// Muted is the sorted set of a group's muted members: user → end ms.
func (k Keys) Muted(group string) string { return k.grouped("muted:", group) }

// Events is the stream of a shard's strikes, mutes and bans.
func (k Keys) Events(shard uint8) string { return k.sharded(shard, "events") }

// Epoch tells whether a shard is complete: absent or ~nonce = not.
func (k Keys) Epoch(shard uint8) string { return k.sharded(shard, "epoch") }

// Never is a key that nothing ever writes, for asking whether a shard takes writes.
func (k Keys) Never(shard uint8) string { return k.sharded(shard, "never") }

func (k Keys) grouped(kind, group string) string { return k.head(group) + kind + group }

func (k Keys) sharded(shard uint8, rest string) string { return k.heads[shard] + rest }

// parseState takes a state key apart; ids hold no |, so the parts are exact.
func (k Keys) parseState(key string) (action, group, user string, ok bool) {
	rest, ok := strings.CutPrefix(key, k.prefix+":{s")
	if !ok || len(rest) < len("1f}:state:") || rest[2:10] != "}:state:" {
		return "", "", "", false
	}
	action, rest, ok = strings.Cut(rest[10:], "|")
	if !ok {
		return "", "", "", false
	}
	group, user, ok = strings.Cut(rest, "|")
	return action, group, user, ok
}
