package store

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

type groupRow struct {
	ID                string
	Shard             uint8
	Name, Locale      string
	Revision          int64
	ArchivedAt        *int64
	Version           int64
	Document          string
	ExemptionsVersion int64
	ExemptionsCount   int64
	CreatedAt         int64
	UpdatedAt         int64
}

func (r groupRow) public() Group {
	return Group{
		ID: r.ID, Shard: r.Shard, Name: r.Name, Locale: r.Locale, Revision: r.Revision,
		ArchivedAt: fromMicros(r.ArchivedAt), CreatedAt: fromMicros(&r.CreatedAt), UpdatedAt: fromMicros(&r.UpdatedAt),
	}
}

// json is the group as audit entries show it.
func (r groupRow) json() string {
	return asJSON(struct {
		GroupID    string `json:"group_id"`
		Name       string `json:"name"`
		Locale     string `json:"locale"`
		ArchivedAt string `json:"archived_at,omitempty"`
	}{r.ID, r.Name, r.Locale, jsonTime(fromMicros(r.ArchivedAt))})
}

// lockGroup reads a group and keeps others from writing it until the transaction ends. CodeNotFound.
func (t *tx) lockGroup(id string) (row groupRow, err error) {
	err = one(t.Raw("SELECT * FROM groups WHERE id = ?"+t.store.dialect.forUpdate("groups"), id), &row)
	return row, noGroup(err)
}

// lockLiveGroup is lockGroup for writes that an archived group refuses: CodeArchived.
func (t *tx) lockLiveGroup(id string) (groupRow, error) {
	row, err := t.lockGroup(id)
	if err == nil && row.ArchivedAt != nil {
		err = errArchived()
	}
	return row, err
}

func noGroup(err error) error {
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return policy.Errorf(policy.CodeNotFound, "no such group")
	}
	return err
}

func errArchived() error {
	return policy.Errorf(policy.CodeArchived, "the group is archived; register it again to change it")
}

func errStale(what string) error {
	return policy.Errorf(policy.CodeStale, "%s changed since the version that If-Match names", what)
}

// PutGroup registers a group, renames it or brings an archived one back; the same values again change nothing. m names
// Group.Revision, 0 for a group that is not registered. CodeInvalid for a bad id, CodeStale.
func (s *Store) PutGroup(ctx context.Context, a Actor, m Match, id, name, locale string) (g Group, created bool, err error) {
	if err := policy.CheckID("", id); err != nil {
		return g, false, err
	}
	err = s.write(ctx, func(t *tx) error {
		var row groupRow
		row, created, err = t.putGroup(a, m, id, name, locale)
		g = row.public()
		return err
	})
	return g, created && err == nil, err
}

func (t *tx) putGroup(a Actor, m Match, id, name, locale string) (row groupRow, created bool, err error) {
	row, err = t.lockGroup(id)
	if isNotFound(err) {
		row, created, err = t.insertGroup(a, m, id, name, locale)
		if created || err != nil {
			return row, created, err
		}
		row, err = t.lockGroup(id) // somebody else was faster
	}
	if err != nil {
		return row, false, err
	}
	if !m.fits(row.Revision) {
		return row, false, errStale("the group")
	}
	if row.Name == name && row.Locale == locale && row.ArchivedAt == nil {
		return row, false, nil
	}
	return t.changeGroup(a, row, name, locale), false, nil
}

func (t *tx) insertGroup(a Actor, m Match, id, name, locale string) (row groupRow, created bool, err error) {
	if !m.fits(0) {
		return row, false, errStale("the group")
	}
	row = groupRow{
		ID: id, Shard: shardOf(id), Name: name, Locale: locale, Revision: 1, Document: emptyDocument,
		CreatedAt: t.now.UnixMicro(), UpdatedAt: t.now.UnixMicro(),
	}
	done := t.Exec(`INSERT INTO groups (id, shard, name, locale, revision, version, document, exemptions_version,
			exemptions_count, created_at, updated_at) VALUES (?, ?, ?, ?, 1, 0, ?, 0, 0, ?, ?) ON CONFLICT (id) DO NOTHING`,
		id, row.Shard, name, locale, row.Document, row.CreatedAt, row.UpdatedAt)
	if done.Error != nil || done.RowsAffected == 0 {
		return row, false, done.Error
	}
	t.audit(a, entry{action: "group.create", target: id, groupID: id, after: row.json()})
	return row, true, nil
}

// changeGroup renames, and brings back what was archived: a new version then, for Redis must learn of it.
func (t *tx) changeGroup(a Actor, before groupRow, name, locale string) groupRow {
	after, action := before, "group.update"
	after.Name, after.Locale, after.ArchivedAt, after.Revision = name, locale, nil, before.Revision+1
	if before.ArchivedAt != nil {
		action = "group.unarchive"
		t.turn(a, &after, "unarchive")
	}
	return t.saveGroup(a, before, after, action)
}

// turn makes archiving and its undoing versions of their own: the document's and the exemptions' counters both move, so
// that Redis takes the withdrawal, and the return, as newer.
func (t *tx) turn(a Actor, g *groupRow, kind string) {
	g.Version++
	g.ExemptionsVersion++
	t.insertVersion(a, g.ID, g.Version, kind, g.Document)
	t.enqueue(Change{Kind: KindPolicy, GroupID: g.ID, Version: g.Version})
	t.enqueue(Change{Kind: KindExemptions, GroupID: g.ID, Version: g.ExemptionsVersion})
}

func (t *tx) saveGroup(a Actor, before, after groupRow, action string) groupRow {
	after.UpdatedAt = t.now.UnixMicro()
	t.finally(`UPDATE groups SET name = ?, locale = ?, archived_at = ?, revision = ?, version = ?,
			exemptions_version = ?, updated_at = ? WHERE id = ?`,
		after.Name, after.Locale, after.ArchivedAt, after.Revision, after.Version, after.ExemptionsVersion,
		after.UpdatedAt, after.ID)
	t.audit(a, entry{
		action: action, target: after.ID, groupID: after.ID, before: before.json(), after: after.json(),
	})
	return after
}

// ArchiveGroup archives a group: reads go on, writes answer CodeArchived, Redis falls back to the defaults. An archived
// group stays as it is. m names Group.Revision. CodeNotFound, CodeStale.
func (s *Store) ArchiveGroup(ctx context.Context, a Actor, m Match, id string) (g Group, err error) {
	err = s.write(ctx, func(t *tx) error {
		before, err := t.lockGroup(id)
		g = before.public()
		if err != nil || before.ArchivedAt != nil {
			return err
		}
		if !m.fits(before.Revision) {
			return errStale("the group")
		}
		after := before
		after.Revision, after.ArchivedAt = before.Revision+1, micros(t.now)
		t.turn(a, &after, "archive")
		g = t.saveGroup(a, before, after, "group.archive").public()
		return nil
	})
	return g, err
}

// Group reads a group, archived or not. CodeNotFound.
func (s *Store) Group(ctx context.Context, id string) (Group, error) {
	var row groupRow
	err := s.read(ctx, func(db *gorm.DB) error {
		return noGroup(one(db.Raw("SELECT * FROM groups WHERE id = ?", id), &row))
	})
	return row.public(), err
}

// ListGroups pages groups, archived ones too, by id. CodeInvalid for a bad cursor.
func (s *Store) ListGroups(ctx context.Context, q GroupQuery) (Page[Group], error) {
	key, err := decodeCursor("groups", q.Cursor, 1)
	if err != nil || (q.Allowed != nil && len(q.Allowed) == 0) {
		return Page[Group]{Items: []Group{}}, err
	}
	sql, args := "SELECT * FROM groups WHERE id > ?", []any{""}
	if key != nil {
		args[0] = key[0]
	}
	if q.Allowed != nil {
		sql, args = sql+" AND id IN ?", append(args, q.Allowed)
	}
	if q.Search != "" {
		sql += " AND (" + s.dialect.contains("id") + " OR " + s.dialect.contains("name") + ")"
		args = append(args, q.Search, q.Search)
	}
	limit := pageLimit(q.Limit)
	var rows []groupRow
	err = s.read(ctx, func(db *gorm.DB) error {
		return db.Raw(sql+" ORDER BY id LIMIT ?", append(args, limit+1)...).Scan(&rows).Error
	})
	return pageOf(rows, limit, groupRow.public, func(r groupRow) string { return encodeCursor("groups", r.ID) }), err
}

func isNotFound(err error) bool { return hasCode(err, policy.CodeNotFound) }

// isConflict reports that a row is there already.
func isConflict(err error) bool { return hasCode(translate(err), policy.CodeConflict) }

func hasCode(err error, code policy.Code) bool {
	var known *policy.Error
	return errors.As(err, &known) && known.Code == code
}
