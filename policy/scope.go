package policy

import (
	"net/netip"
)

// Scope is whose attempts a limit counts together.
type Scope string

// The scopes. Limits of ScopeGroup are those of documents and defaults; the others are the system's own.
const (
	ScopeGroup Scope = "group" // of a member in one group
	ScopeUser  Scope = "user"  // of a member across all groups
	ScopePeer  Scope = "peer"  // of two users who write to each other
	ScopeIP    Scope = "ip"    // of a client's address
)

// SystemScopes are those that the defaults may limit beside the members of groups, in the order of answers.
func SystemScopes() []Scope { return []Scope{ScopeUser, ScopePeer, ScopeIP} }

func scopeNames() []string {
	names := make([]string, 0, len(SystemScopes()))
	for _, scope := range SystemScopes() {
		names = append(names, string(scope))
	}
	return names
}

// Place is what stands in a group's place in the keys of a system scope; no group is called so.
func (s Scope) Place() string { return "~" + string(s) }

// ipv6Bits is the network that one customer has: who holds it has all of its addresses.
const ipv6Bits = 64

// IPSubject is the id under which a client's address is counted: of IPv4 the address, of IPv6 its /64, such as
// 2001:db8:1:2::/64; IPv4 in IPv6 (::ffff:192.0.2.1) is IPv4, and a zone is left out. The error is CodeInvalid for what
// is no address, with one field at pointer.
func IPSubject(pointer, text string) (string, error) {
	address, err := netip.ParseAddr(text)
	if err != nil {
		code, detail := "format", "ip must be an IPv4 or IPv6 address, such as 192.0.2.1 or 2001:db8::1, without a port"
		if text == "" {
			code = "required"
		}
		return "", &Error{Code: CodeInvalid, Message: "an address is not well formed", Fields: []FieldError{{pointer, code, detail}}}
	}
	address = address.Unmap().WithZone("")
	if address.Is4() {
		return address.String(), nil
	}
	network, _ := address.Prefix(ipv6Bits) // 64 bits are within an IPv6 address
	return network.String(), nil
}

// PeerSubject is the id under which what two users write to each other is counted, whoever of them writes: both ids in
// the order of their bytes with | between, which no id holds.
func PeerSubject(one, other string) string {
	if other < one {
		one, other = other, one
	}
	return one + "|" + other
}

// ScopeBan is a ban that a limit of the system gave a subject. It is limiter state: Redis alone holds it.
type ScopeBan struct {
	Scope   Scope
	Action  string
	Subject string // a user's id, PeerSubject or IPSubject
	StartMS int64  // ms since the epoch, by the clock of Redis
	EndMS   int64  // likewise; 0 = lifted
}
