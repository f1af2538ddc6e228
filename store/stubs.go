package store

import (
	"context"
	"errors"
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
)

var errUnwritten = errors.New("not written yet")

// PutGroup registers, renames or un-archives a group. Same values: nothing happens. If-Match names the revision (0 = not registered).
func (s *Store) PutGroup(ctx context.Context, a Actor, m Match, id, name, locale string) (g Group, created bool, err error) {
	return g, false, errUnwritten
}

// Group reads one group; CodeNotFound.
func (s *Store) Group(ctx context.Context, id string) (g Group, err error) { return g, errUnwritten }

// ListGroups pages groups by id.
func (s *Store) ListGroups(ctx context.Context, q GroupQuery) (p Page[Group], err error) {
	return p, errUnwritten
}

// ArchiveGroup archives (again: nothing happens).
func (s *Store) ArchiveGroup(ctx context.Context, a Actor, m Match, id string) (g Group, err error) {
	return g, errUnwritten
}

// Policy reads the record.
func (s *Store) Policy(ctx context.Context, groupID string) (r PolicyRecord, err error) {
	return r, errUnwritten
}

// UpdatePolicy saves what fn makes of the document. On CodeStale the record is the current one.
func (s *Store) UpdatePolicy(ctx context.Context, a Actor, groupID string, m Match, fn func(*policy.System, policy.Document) (policy.Document, error)) (r PolicyRecord, changed bool, err error) {
	return r, false, errUnwritten
}

// DeletePolicy saves the document that fn makes of the empty one (nil = the empty one) as a new version of kind delete.
func (s *Store) DeletePolicy(ctx context.Context, a Actor, groupID string, m Match, fn func(*policy.System, policy.Document) (policy.Document, error)) (r PolicyRecord, changed bool, err error) {
	return r, false, errUnwritten
}

// Versions pages newest first.
func (s *Store) Versions(ctx context.Context, groupID, cursor string, limit int) (p Page[Version], err error) {
	return p, errUnwritten
}

// Version reads one.
func (s *Store) Version(ctx context.Context, groupID string, version int64) (v Version, err error) {
	return v, errUnwritten
}

// PutExemption adds or replaces an entry (UserID, ExpiresAt and Note of e).
func (s *Store) PutExemption(ctx context.Context, a Actor, groupID string, m Match, e Exemption) (r ExemptionResult, err error) {
	return r, errUnwritten
}

// RemoveExemption removes; CodeNotFound. Returns the counter.
func (s *Store) RemoveExemption(ctx context.Context, a Actor, groupID string, m Match, userID string) (version int64, err error) {
	return 0, errUnwritten
}

// Exemption reads one and the counter.
func (s *Store) Exemption(ctx context.Context, groupID, userID string) (e Exemption, version int64, err error) {
	return e, 0, errUnwritten
}

// ListExemptions pages by user id.
func (s *Store) ListExemptions(ctx context.Context, groupID string, q ExemptionQuery) (p ExemptionPage, err error) {
	return p, errUnwritten
}

// PutMute mutes. If-Match names StartMS of the active mute (0 = none).
func (s *Store) PutMute(ctx context.Context, a Actor, groupID, userID string, m Match, in MuteInput) (r Mute, err error) {
	return r, errUnwritten
}

// LiftMute ends the active mute; CodeNotFound when none.
func (s *Store) LiftMute(ctx context.Context, a Actor, groupID, userID string, m Match) (r Mute, err error) {
	return r, errUnwritten
}

// Mute reads the active mute; CodeNotFound when none.
func (s *Store) Mute(ctx context.Context, groupID, userID string) (r Mute, err error) {
	return r, errUnwritten
}

// ListMutes pages active mutes by user id.
func (s *Store) ListMutes(ctx context.Context, groupID, cursor string, limit int) (p Page[Mute], err error) {
	return p, errUnwritten
}

// ListBans pages active bans by action and user id.
func (s *Store) ListBans(ctx context.Context, groupID, cursor string, limit int) (p Page[Ban], err error) {
	return p, errUnwritten
}

// LiftBan ends the active ban; CodeNotFound when none.
func (s *Store) LiftBan(ctx context.Context, a Actor, groupID, action, userID string) (r Ban, err error) {
	return r, errUnwritten
}

// System is what operators have set, in force now.
func (s *Store) System(ctx context.Context) (*policy.System, error) { return nil, errUnwritten }

// SystemAt is the system at counters read with a row; immutable, so cached.
func (s *Store) SystemAt(ctx context.Context, c Counters) (*policy.System, error) {
	return nil, errUnwritten
}

// Bounds reads.
func (s *Store) Bounds(ctx context.Context) (r BoundsRecord, err error) { return r, errUnwritten }

// UpdateBounds replaces. On CodeStale the record is the current one.
func (s *Store) UpdateBounds(ctx context.Context, a Actor, m Match, b policy.Bounds) (r BoundsRecord, changed bool, err error) {
	return r, false, errUnwritten
}

// Defaults reads.
func (s *Store) Defaults(ctx context.Context) (r DefaultsRecord, err error) { return r, errUnwritten }

// UpdateDefaults replaces. On CodeStale the record is the current one.
func (s *Store) UpdateDefaults(ctx context.Context, a Actor, m Match, d policy.Document) (r DefaultsRecord, changed bool, err error) {
	return r, false, errUnwritten
}

// PutAction registers or changes an action of the registry.
func (s *Store) PutAction(ctx context.Context, a Actor, spec policy.ActionSpec) (created, changed bool, err error) {
	return false, false, errUnwritten
}

// CreateToken makes a token; the secret is returned once.
func (s *Store) CreateToken(ctx context.Context, a Actor, in TokenInput) (t Token, secret string, err error) {
	return t, "", errUnwritten
}

// ListTokens pages newest first.
func (s *Store) ListTokens(ctx context.Context, cursor string, limit int) (p Page[Token], err error) {
	return p, errUnwritten
}

// Token reads one.
func (s *Store) Token(ctx context.Context, id string) (t Token, err error) { return t, errUnwritten }

// RevokeToken revokes (again: nothing happens).
func (s *Store) RevokeToken(ctx context.Context, a Actor, id string) (t Token, err error) {
	return t, errUnwritten
}

// Authenticate verifies; CodeUnauthenticated.
func (s *Store) Authenticate(ctx context.Context, secret string) (p Principal, err error) {
	return p, errUnwritten
}

// BootstrapOperator makes secret the operator token if no operator ever existed; "" = make one. created=false: one existed.
func (s *Store) BootstrapOperator(ctx context.Context, secret string) (token string, created bool, err error) {
	return "", false, errUnwritten
}

// ListAudit seals, then pages newest first.
func (s *Store) ListAudit(ctx context.Context, q AuditQuery) (p Page[AuditEntry], err error) {
	return p, errUnwritten
}

// SealAudit numbers what has no number yet; returns how many.
func (s *Store) SealAudit(ctx context.Context) (int64, error) { return 0, errUnwritten }

// SignedIn and SignedOut write session.create and session.revoke.
func (s *Store) SignedIn(ctx context.Context, a Actor) error { return errUnwritten }

// SignedOut writes session.revoke.
func (s *Store) SignedOut(ctx context.Context, a Actor) error { return errUnwritten }

// ClaimOutbox leases up to limit rows, oldest first.
func (s *Store) ClaimOutbox(ctx context.Context, limit int, lease time.Duration) ([]OutboxRow, error) {
	return nil, errUnwritten
}

// ExtendOutbox renews leases; returns how many of the rows are still there.
func (s *Store) ExtendOutbox(ctx context.Context, ids []string, lease time.Duration) (int64, error) {
	return 0, errUnwritten
}

// CompleteOutbox deletes rows and records publications (nil = none), in one transaction.
func (s *Store) CompleteOutbox(ctx context.Context, ids []string, pubs []Publication) error {
	return errUnwritten
}

// SyncStatus counts.
func (s *Store) SyncStatus(ctx context.Context) (st SyncStatus, err error) { return st, errUnwritten }

// PublishRows reads groups by id; unregistered ones are left out.
func (s *Store) PublishRows(ctx context.Context, groupIDs []string) ([]PublishRow, error) {
	return nil, errUnwritten
}

// PublishPage pages all groups (archived too) of the shards (nil = all) by id.
func (s *Store) PublishPage(ctx context.Context, shards []uint8, after string, limit int) ([]PublishRow, error) {
	return nil, errUnwritten
}

// ExemptionsForPublish reads a whole collection; CodeNotFound.
func (s *Store) ExemptionsForPublish(ctx context.Context, groupID string) (e ExemptionSet, err error) {
	return e, errUnwritten
}

// ExemptionSets reads the collections of many groups.
func (s *Store) ExemptionSets(ctx context.Context, groupIDs []string) ([]ExemptionSet, error) {
	return nil, errUnwritten
}

// MuteForPublish reads the record, lifted or ended ones too; CodeNotFound.
func (s *Store) MuteForPublish(ctx context.Context, groupID, userID string) (m Mute, err error) {
	return m, errUnwritten
}

// BanForPublish reads the record, lifted or ended ones too; CodeNotFound.
func (s *Store) BanForPublish(ctx context.Context, groupID, action, userID string) (b Ban, err error) {
	return b, errUnwritten
}

// ActiveMutes pages mutes that hold now, of the shards (nil = all).
func (s *Store) ActiveMutes(ctx context.Context, shards []uint8, after HoldKey, limit int) ([]Mute, error) {
	return nil, errUnwritten
}

// ActiveBans pages bans that hold now, of the shards (nil = all).
func (s *Store) ActiveBans(ctx context.Context, shards []uint8, after HoldKey, limit int) ([]Ban, error) {
	return nil, errUnwritten
}

// ApplyEvents keeps what the script gave; idempotent. One transaction.
func (s *Store) ApplyEvents(ctx context.Context, batches []EventBatch) error { return errUnwritten }

// EventCursors reads where each stream was read to; shards never read are absent.
func (s *Store) EventCursors(ctx context.Context) (map[uint8]string, error) { return nil, errUnwritten }

// ResetEventCursors forgets, after a rebuild of the shards.
func (s *Store) ResetEventCursors(ctx context.Context, shards []uint8) error { return errUnwritten }

// Listen calls fn("") once listening is in force, then with each payload; returns on loss. SQLite: blocks until ctx ends.
func (s *Store) Listen(ctx context.Context, fn func(payload string)) error { return errUnwritten }

// Notify tells the other instances.
func (s *Store) Notify(ctx context.Context, payload string) error { return errUnwritten }

// Cleanup deletes what has expired: sessions, holds that ended 30 days ago.
func (s *Store) Cleanup(ctx context.Context) error { return errUnwritten }
