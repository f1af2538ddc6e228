package store

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

// insertVersion keeps a state of a group's document for ever.
func (t *tx) insertVersion(a Actor, groupID string, version int64, kind, document string) {
	t.finally(`INSERT INTO policy_versions (group_id, version, kind, document, at, actor, role, channel, reason)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		groupID, version, kind, document, t.now.UnixMicro(), a.Name, a.Role, a.Channel, a.Reason)
}

type versionRow struct {
	GroupID                      string
	Version                      int64
	Kind, Document               string
	At                           int64
	Actor, Role, Channel, Reason string
}

func (r versionRow) public() (Version, error) {
	doc, err := parseStored(r.GroupID, r.Document)
	return Version{
		GroupID: r.GroupID, Version: r.Version, Kind: r.Kind, Document: doc, At: fromMicros(&r.At),
		Actor: r.Actor, Role: r.Role, Channel: r.Channel, Reason: r.Reason,
	}, err
}

// Versions pages the versions of a group, newest first. CodeNotFound, CodeInvalid for a bad cursor.
func (s *Store) Versions(ctx context.Context, groupID, cursor string, limit int) (Page[Version], error) {
	before, err := numberCursor("versions", cursor)
	if err != nil {
		return Page[Version]{}, err
	}
	limit = pageLimit(limit)
	var rows []versionRow
	err = s.read(ctx, func(db *gorm.DB) error {
		if err := groupExists(db, groupID); err != nil {
			return err
		}
		return db.Raw("SELECT * FROM policy_versions WHERE group_id = ? AND version < ? ORDER BY version DESC LIMIT ?",
			groupID, before, limit+1).Scan(&rows).Error
	})
	p := pageOf(rows, limit, func(r versionRow) Version {
		v, parseErr := r.public()
		err = errors.Join(err, parseErr)
		return v
	}, func(r versionRow) string { return encodeCursor("versions", strconv.FormatInt(r.Version, 10)) })
	return p, err
}

// Version reads one version of a group. CodeNotFound.
func (s *Store) Version(ctx context.Context, groupID string, version int64) (Version, error) {
	var row versionRow
	err := s.read(ctx, func(db *gorm.DB) error {
		err := one(db.Raw("SELECT * FROM policy_versions WHERE group_id = ? AND version = ?", groupID, version), &row)
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return policy.Errorf(policy.CodeNotFound, "the group has no version %d", version)
		}
		return err
	})
	if err != nil {
		return Version{}, err
	}
	return row.public()
}

func groupExists(db *gorm.DB, id string) error {
	var found int
	return noGroup(one(db.Raw("SELECT 1 FROM groups WHERE id = ?", id), &found))
}

// numberCursor decodes a cursor that is one number counting down; the largest number for "".
func numberCursor(list, cursor string) (int64, error) {
	key, err := decodeCursor(list, cursor, 1)
	if err != nil {
		return 0, err
	}
	if key == nil {
		return 1<<63 - 1, nil
	}
	n, err := strconv.ParseInt(key[0], 10, 64)
	if err != nil {
		return 0, errCursor()
	}
	return n, nil
}

// VersionSpan is the versions From to To of a group.
type VersionSpan struct {
	GroupID  string
	From, To int64
}

// VersionsIn reads the documents of the versions in the spans, by group, in one statement: for many groups with few
// versions each. Versions that are not there are left out.
func (s *Store) VersionsIn(ctx context.Context, spans []VersionSpan) (map[string][]policy.Document, error) {
	var args []any
	for _, span := range spans {
		for v := span.From; v <= span.To; v++ {
			args = append(args, span.GroupID, v)
		}
	}
	if len(args) == 0 {
		return map[string][]policy.Document{}, nil
	}
	var rows []versionRow
	err := s.read(ctx, func(db *gorm.DB) error {
		return db.Raw("SELECT group_id, version, document FROM policy_versions WHERE (group_id, version) IN (VALUES "+
			strings.Repeat("(?, CAST(? AS bigint)), ", len(args)/2-1)+"(?, CAST(? AS bigint)))", args...).Scan(&rows).Error
	})
	if err != nil {
		return nil, err
	}
	found := make(map[string][]policy.Document, len(spans))
	for _, r := range rows {
		doc, err := parseStored(r.GroupID, r.Document)
		if err != nil {
			return nil, err
		}
		found[r.GroupID] = append(found[r.GroupID], doc)
	}
	return found, nil
}
