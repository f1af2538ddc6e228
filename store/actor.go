package store

import "slices"

// The roles of tokens (design §8).
const (
	RoleOperator   = "operator"    // all
	RoleAuditor    = "auditor"     // reads all
	RolePlatform   = "platform"    // the chat platform's backend: registers groups, reads policies
	RoleGateway    = "gateway"     // checks, reads effective policies
	RoleGroupAdmin = "group_admin" // its own groups only
)

// The channels through which a change comes.
const (
	ChannelAPI    = "api"
	ChannelUI     = "ui"
	ChannelApply  = "apply"
	ChannelSystem = "system"
)

// Actor is who changes something, from where and why. It goes into every write and its audit entry.
type Actor struct {
	Name      string // the token's name, or a person's; text to show
	Role      string
	Channel   string // api, ui, apply or system
	RequestID string
	Address   string // of the client; "" = unknown
	Reason    string // ≤ 500 characters, "" = none
}

// Principal is who stands behind a verified token.
type Principal struct {
	TokenID string
	Name    string
	Role    string
	Groups  []string // the groups of a group_admin, sorted; others have none
}

// Sees reports whether the group is visible to the principal: all groups are, except to a group_admin.
func (p Principal) Sees(groupID string) bool {
	return p.Role != RoleGroupAdmin || slices.Contains(p.Groups, groupID)
}

// Allowed is the filter for ListGroups: nil = all groups.
func (p Principal) Allowed() []string {
	if p.Role != RoleGroupAdmin {
		return nil
	}
	if p.Groups == nil {
		return []string{}
	}
	return p.Groups
}

// Match is an If-Match: any version, or the one named. The zero Match asks for version 0.
type Match struct {
	Any     bool
	Version int64
}

// Anything matches whatever is there.
func Anything() Match { return Match{Any: true} }

// Exactly matches one version.
func Exactly(version int64) Match { return Match{Version: version} }

func (m Match) fits(version int64) bool { return m.Any || m.Version == version }
