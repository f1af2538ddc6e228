package store

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

// emptyDocument is the canonical text of a document that states nothing.
const emptyDocument = "{}"

// Edit turns the document that stands into the one to save. It must be pure: it may be called again when somebody else
// saved in between. Its errors pass to the caller.
type Edit func(*policy.System, policy.Document) (policy.Document, error)

// policyRow is a group with the counters and its publication, read in one statement.
type policyRow struct {
	Group                                      groupRow `gorm:"embedded"`
	Generation, BoundsVersion, DefaultsVersion int64
	LiveVersion, LiveOrder, LiveAt, LiveLag    *int64
}

const selectPolicy = `SELECT g.*, s.generation, s.bounds_version, s.defaults_version,
		p.version AS live_version, p.order_no AS live_order, p.at AS live_at, p.lag_ms AS live_lag
	FROM groups AS g JOIN system AS s ON s.id = 1 LEFT JOIN publications AS p ON p.group_id = g.id WHERE g.id = ?`

func (r policyRow) counters() Counters {
	return Counters{Generation: r.Generation, BoundsVersion: r.BoundsVersion, DefaultsVersion: r.DefaultsVersion}
}

func (r policyRow) publication() *Publication {
	if r.LiveVersion == nil {
		return nil
	}
	return &Publication{
		GroupID: r.Group.ID, Version: *r.LiveVersion, Order: *r.LiveOrder, At: fromMicros(r.LiveAt), LagMS: *r.LiveLag,
	}
}

// record parses the stored document, which was valid when it was saved.
func (r policyRow) record(system *policy.System) (PolicyRecord, error) {
	doc, err := parseStored(r.Group.ID, r.Group.Document)
	live := r.publication()
	return PolicyRecord{
		Group: r.Group.public(), Version: r.Group.Version, Document: doc, UpdatedAt: fromMicros(&r.Group.UpdatedAt), Live: live,
		Pending: r.Group.Version > 0 && (live == nil || live.Version < r.Group.Version), System: system,
	}, err
}

// parseStored reads a document that the store printed. A fault here is a damaged database, not bad input.
func parseStored(groupID, text string) (policy.Document, error) {
	return readStored(groupID, []byte(text))
}

func readStored(groupID string, text []byte) (policy.Document, error) {
	doc, err := policy.ParseDocument(text)
	if err != nil {
		return doc, fmt.Errorf("store: the stored document of group %q cannot be read: %s", groupID, err.Error())
	}
	return doc, nil
}

// Policy reads a group's document, what is known of its publication, and the system in force. CodeNotFound.
func (s *Store) Policy(ctx context.Context, groupID string) (r PolicyRecord, err error) {
	err = s.read(ctx, func(db *gorm.DB) error {
		_, r, err = s.readPolicy(db, groupID, "")
		return err
	})
	return r, err
}

func (s *Store) readPolicy(db *gorm.DB, groupID, lock string) (row policyRow, r PolicyRecord, err error) {
	if err = noGroup(one(db.Raw(selectPolicy+lock, groupID), &row)); err != nil {
		return row, r, err
	}
	system, err := s.systemAt(db, row.counters())
	if err != nil {
		return row, r, err
	}
	r, err = row.record(system)
	return row, r, err
}

// UpdatePolicy saves what fn makes of the document, as a new version, and returns the record and whether anything
// changed. A save that changes nothing writes nothing. CodeNotFound, CodeArchived, CodeStale (the record is then the
// current one), and what fn and the system's validation answer.
func (s *Store) UpdatePolicy(ctx context.Context, a Actor, groupID string, m Match, fn Edit) (PolicyRecord, bool, error) {
	return s.editPolicy(ctx, a, groupID, m, policyEdit{kind: "update", action: "policy.update", fn: fn})
}

// DeletePolicy goes back to the defaults: what fn leaves of the document (nil = nothing) is saved as a new version.
// Codes as for UpdatePolicy.
func (s *Store) DeletePolicy(ctx context.Context, a Actor, groupID string, m Match, fn Edit) (PolicyRecord, bool, error) {
	if fn == nil {
		fn = func(*policy.System, policy.Document) (policy.Document, error) { return policy.Document{}, nil }
	}
	return s.editPolicy(ctx, a, groupID, m, policyEdit{kind: "delete", action: "policy.delete", fn: fn})
}

type policyEdit struct {
	kind   string // of the version
	action string // of the audit entry
	fn     Edit
	valid  *policy.Document // was valid once, and its roles stay so; nil = the document that stands
}

// errMoved says that somebody else saved between the read and the write.
var errMoved = errors.New("store: the group moved")

// editPolicy tries once without a lock: two statements, which is what lets Postgres commit many groups' saves together.
// Only who loses a race takes the row's lock. SQLite has one writer, and locks from the start.
func (s *Store) editPolicy(ctx context.Context, a Actor, groupID string, m Match, e policyEdit) (r PolicyRecord, changed bool, err error) {
	if s.dialect.postgres {
		t := &tx{store: s, now: s.now()}
		err = s.read(ctx, func(db *gorm.DB) error {
			t.DB = db
			r, changed, err = t.editPolicy(a, groupID, m, e, "")
			return err
		})
		if err == nil {
			s.announce(t.changes)
		}
		if !errors.Is(err, errMoved) {
			return r, changed, err
		}
	}
	err = s.write(ctx, func(t *tx) error {
		r, changed, err = t.editPolicy(a, groupID, m, e, s.dialect.forUpdate("g"))
		return err
	})
	return r, changed && err == nil, err
}

func (t *tx) editPolicy(a Actor, groupID string, m Match, e policyEdit, lock string) (PolicyRecord, bool, error) {
	row, r, err := t.store.readPolicy(t.DB, groupID, lock)
	if err != nil {
		return r, false, err
	}
	if row.Group.ArchivedAt != nil {
		return r, false, errArchived()
	}
	if !m.fits(row.Group.Version) {
		return r, false, errStale("the policy")
	}
	doc, err := e.fn(r.System, r.Document)
	if err != nil {
		return r, false, err
	}
	text := string(doc.JSON())
	if text == row.Group.Document {
		return r, false, nil
	}
	valid := r.Document
	if e.valid != nil {
		valid = *e.valid
	}
	if err := r.System.ValidateChange(valid, doc); err != nil {
		return r, false, err
	}
	if err := t.writePolicy(a, row, text, e); err != nil {
		return r, false, err
	}
	r.Version, r.Document, r.UpdatedAt, r.Pending = row.Group.Version+1, doc, t.now, true
	r.Group.UpdatedAt = t.now
	return r, true, nil
}

// writePolicy writes row, version, audit entry and outbox row; errMoved if the group is not as it was read.
func (t *tx) writePolicy(a Actor, row policyRow, text string, e policyEdit) error {
	c := t.store.newChange(t.now, Change{Kind: KindPolicy, GroupID: row.Group.ID, Version: row.Group.Version + 1})
	if t.store.dialect.postgres {
		return t.writePolicyAtOnce(a, row, text, e, c)
	}
	t.finally("UPDATE groups SET document = ?, version = ?, updated_at = ? WHERE id = ?",
		text, c.Version, t.now.UnixMicro(), row.Group.ID)
	t.insertVersion(a, row.Group.ID, c.Version, e.kind, text)
	t.audit(a, policyEntry(row, text, e))
	t.enqueue(c)
	return nil
}

func policyEntry(row policyRow, text string, e policyEdit) entry {
	return entry{action: e.action, target: row.Group.ID, groupID: row.Group.ID, before: row.Group.Document, after: text}
}

// writeAtOnce is the whole write in one statement. Each part takes its rows from g, so that nothing is written unless
// the group is still at the version that was read. The casts stand as :: because gorm takes ( ? for a list.
const writeAtOnce = `WITH g AS (
		UPDATE groups SET document = ?, version = version + 1, updated_at = ?
		WHERE id = ? AND version = ? AND archived_at IS NULL RETURNING id, version, updated_at),
	v AS (INSERT INTO policy_versions (group_id, version, kind, document, at, actor, role, channel, reason)
		SELECT id, version, ?, ?, updated_at, ?, ?, ?, ? FROM g),
	a AS (` + insertAudit + `
		SELECT ?, updated_at, ?, ?, ?, ?, id, id AS group_id, ?, ?, ?, ?, ?,
			?::bytea, ?::bytea, ?::bytea, '', '' FROM g),
	o AS (` + insertOutbox + `
		SELECT ?, ?, id, '', '', version, updated_at, CAST(? AS bigint) FROM g)
	SELECT count(*) FROM g`

func (t *tx) writePolicyAtOnce(a Actor, row policyRow, text string, e policyEdit, c Change) error {
	r, err := t.store.record(a, policyEntry(row, text, e), t.now)
	if err != nil {
		return err
	}
	var saved int64
	err = one(t.Raw(writeAtOnce,
		text, t.now.UnixMicro(), row.Group.ID, row.Group.Version,
		e.kind, text, a.Name, a.Role, a.Channel, a.Reason,
		r.ID, r.Actor, r.Role, r.Channel, r.Action, r.Before, r.After, r.Reason, r.RequestID, r.Address,
		r.Who.Salt, r.What.Salt, r.MAC,
		c.OutboxID, string(c.Kind), t.store.claimedUntil(c),
	), &saved)
	if err != nil {
		return err
	}
	if saved == 0 {
		return errMoved
	}
	t.changes = append(t.changes, c)
	return nil
}
