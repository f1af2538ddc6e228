package store

import (
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
)

// Page is one page of a list. Next is the cursor of the following page, "" at the end.
type Page[T any] struct {
	Items []T
	Next  string
}

// Group is a registered chat room.
type Group struct {
	ID         string
	Shard      uint8 // crc32-IEEE(ID) mod 256
	Name       string
	Locale     string    // "" = unknown
	Revision   int64     // of name, locale and archived_at; from 1
	ArchivedAt time.Time // zero = live
	CreatedAt  time.Time
	UpdatedAt  time.Time
}

// Archived reports whether the group is archived.
func (g Group) Archived() bool { return !g.ArchivedAt.IsZero() }

// GroupQuery selects groups. Search "" = all, else groups whose id or name contains it, case folded for ASCII letters.
// Allowed nil = all groups, else only those named. Limit ≤ 0 = 50; at most 500.
type GroupQuery struct {
	Search  string
	Allowed []string
	Cursor  string
	Limit   int
}

// PolicyRecord is a group's document with what is known of its publication. Version 0 = no document was ever saved.
type PolicyRecord struct {
	Group     Group
	Version   int64
	Document  policy.Document
	UpdatedAt time.Time
	Live      *Publication   // nil = never published
	Pending   bool           // Version is not in Redis yet
	System    *policy.System // in force when the record was read
}

// Publication says what of a group is in Redis.
type Publication struct {
	GroupID string
	Version int64
	Order   int64
	At      time.Time
	LagMS   int64 // commit to visible
}

// Version is one saved state of a group's document. Kind is update, delete, restore, archive or unarchive.
type Version struct {
	GroupID  string
	Version  int64
	Kind     string
	Document policy.Document
	At       time.Time
	Actor    string
	Role     string
	Channel  string
	Reason   string
}

// Exemption is one whitelist entry.
type Exemption struct {
	UserID    string
	ExpiresAt time.Time // zero = no end
	Note      string
	GrantedBy string
	GrantedAt time.Time
}

// ExemptionResult answers a write to the collection. Version is the collection's counter afterwards.
type ExemptionResult struct {
	Exemption Exemption
	Version   int64
	Created   bool
	Changed   bool
}

// ExemptionQuery selects entries of one group. Search "" = all, else those whose user id or note contains it.
type ExemptionQuery struct {
	Search string
	Cursor string
	Limit  int
}

// ExemptionPage is a page with the collection's counter, its ETag.
type ExemptionPage struct {
	Page[Exemption]
	Version int64
}

// The causes of a mute.
const (
	CauseLadder    = "ladder"
	CauseModerator = "moderator"
	CauseReview    = "review"
	CauseRemove    = "remove"
)

// Mute is the one mute record of a member in a group. StartMS (Redis ms) is its identity.
type Mute struct {
	GroupID  string
	UserID   string
	StartMS  int64
	EndMS    int64
	Cause    string
	Step     int64  // of the ladder, 0 = none
	By       string // a moderator's name, "" = the script
	Reason   string
	LiftedAt time.Time // zero = not lifted
	LiftedBy string
}

// MuteInput is what a moderator asks: a mute until EndMS (Unix ms).
type MuteInput struct {
	EndMS  int64
	Reason string
}

// Ban keeps a member from one action. StartMS (Redis ms) is its identity.
type Ban struct {
	GroupID  string
	Action   string
	UserID   string
	StartMS  int64
	EndMS    int64
	LiftedAt time.Time
	LiftedBy string
}

// HoldKey is a position in the pages of MutesForPublish and BansForPublish; the zero HoldKey is before the first. Action is of
// bans only.
type HoldKey struct {
	GroupID string
	Action  string
	UserID  string
}

// HoldEvent is a mute or a ban that the check script gave, or both. Zero MuteStartMS or BanStartMS = none.
type HoldEvent struct {
	GroupID     string
	Action      string
	UserID      string
	Cause       string // of the mute: CauseLadder, CauseReview or CauseRemove
	Step        int64
	MuteStartMS int64
	MuteEndMS   int64
	BanStartMS  int64
	BanEndMS    int64
}

// EventBatch is what was read of one shard's stream: the events, and the stream id to go on from.
type EventBatch struct {
	Shard  uint8
	Cursor string
	Events []HoldEvent
}

// Counters are the system's counters, read in one statement with the row that they order.
type Counters struct {
	Generation      int64
	BoundsVersion   int64
	DefaultsVersion int64
}

// BoundsRecord is the bounds in force. Version 0 = the shipped ones.
type BoundsRecord struct {
	Version int64
	Bounds  policy.Bounds
	System  *policy.System
}

// DefaultsRecord is the system's own document. Version 0 = the shipped one; registry edits bump it too.
type DefaultsRecord struct {
	Version  int64
	Document policy.Document
	System   *policy.System
}

// Token is a bearer token without its secret.
type Token struct {
	ID        string
	Name      string
	Role      string
	Groups    []string  // sorted; of group_admin only
	ExpiresAt time.Time // zero = never
	CreatedAt time.Time
	CreatedBy string
	RevokedAt time.Time // zero = not revoked
}

// TokenInput describes a token to make.
type TokenInput struct {
	Name      string
	Role      string
	Groups    []string
	ExpiresAt time.Time

	// Secret was made by NewSecret for one request: a token that is asked for twice with it is made once. "" = a new one.
	Secret string
}

// AuditEntry is one change. Before and After are JSON, "" = nothing. Hashes are hex; the first entry has none before it.
type AuditEntry struct {
	Seq       int64
	At        time.Time
	Actor     string
	Role      string
	Channel   string
	Action    string
	Target    string
	GroupID   string
	Before    string
	After     string
	Reason    string
	RequestID string
	Address   string
	Erased    []string // the parts of which the texts were erased: who (actor, address), what (target, before, after, reason)
	PrevHash  string
	Hash      string
}

// AuditQuery selects entries, newest first. Empty fields select all; From is inclusive, To exclusive.
type AuditQuery struct {
	Actor     string
	Role      string
	Channel   string
	GroupID   string
	Action    string // policy.update, or policy.* for all of a kind
	Changed   string // JSON pointer of a field that was changed, or in which something was: /actions/message/window
	RequestID string
	From      time.Time
	To        time.Time
	Cursor    string
	Limit     int
}

// Kind says what of a group Redis must learn.
type Kind string

// The kinds of changes.
const (
	KindPolicy     Kind = "policy"     // document, archive, notices
	KindExemptions Kind = "exemptions" // the collection
	KindMute       Kind = "mute"       // one member's mute: put or lift
	KindBan        Kind = "ban"        // one member's ban: lift
	KindFleet      Kind = "fleet"      // bounds, defaults or registry: every group
)

// Change is a committed change that Redis must learn of. Version is the group's, the exemptions' counter, or 0.
type Change struct {
	OutboxID string
	Kind     Kind
	GroupID  string
	Action   string
	UserID   string
	Version  int64
	At       time.Time
}

// OutboxRow is a change that waits in the database, leased to whoever claimed it.
type OutboxRow struct {
	ID        string
	Kind      Kind
	GroupID   string
	Action    string
	UserID    string
	Version   int64
	CreatedAt time.Time
}

// PublishRow is a group as the publisher needs it, with the counters read in the same statement.
type PublishRow struct {
	GroupID           string
	Shard             uint8
	Locale            string
	Archived          bool
	Version           int64
	Document          policy.Document
	Err               error // the stored document cannot be read: do not publish this row
	ExemptionsVersion int64
	ExemptionsCount   int64
	Counters          Counters
}

// ExemptionSet is a group's whole collection as the publisher needs it; empty when the group is archived.
type ExemptionSet struct {
	GroupID string
	Shard   uint8
	Version int64
	Order   int64 // generation·2^40 + Version
	Entries []ExemptionEntry
}

// ExemptionDelta is what a group's collection needs to come from the order Base to Order: the entries to put, as they are
// at Order, and the users to remove. Without Known the changes cannot be told, and the whole collection is needed.
type ExemptionDelta struct {
	GroupID string
	Base    int64
	Order   int64
	Count   int64 // entries of the whole collection at Order
	Known   bool
	Put     []ExemptionEntry
	Removed []string
}

// ExemptionEntry is a user with the end of the exemption in Unix ms, 0 = no end.
type ExemptionEntry struct {
	UserID    string
	ExpiresMS int64
}

// SyncStatus tells how far the outbox is.
type SyncStatus struct {
	OutboxDepth int64
	Oldest      time.Time // zero = the outbox is empty
	FleetShards int64     // that the fleet job has not ended
}
