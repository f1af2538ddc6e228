package store

import (
	"context"
	"maps"
	"slices"
	"strings"

	"gorm.io/gorm"
)

// changesKept is how many versions of a group's exemptions can be told apart, and how many entries one of them may
// change to be told at all. What cannot be told is published whole.
const changesKept = 256

// noteChanges writes down which users a version of the collection changed, and forgets what is too old.
func (t *tx) noteChanges(groupID string, version int64, users []string) error {
	t.finally("DELETE FROM exemption_changes WHERE group_id = ? AND version <= ?", groupID, version-changesKept)
	if len(users) > changesKept {
		return nil
	}
	if len(users) == 1 {
		t.finally("INSERT INTO exemption_changes (group_id, version, user_id) VALUES (?, ?, ?)", groupID, version, users[0])
		return nil
	}
	return t.insertAll("exemption_changes", len(users), "",
		columnOf(users, "group_id", "text", func(*string) string { return groupID }),
		columnOf(users, "version", "bigint", func(*string) int64 { return version }),
		columnOf(users, "user_id", "text", func(user *string) string { return *user }))
}

type changeRow struct {
	ID                                 string
	Base                               int64
	ExemptionsVersion, ExemptionsCount int64
	Archived                           bool
	Generation                         int64
	Version                            *int64
	UserID                             *string
	There                              bool
	ExpiresAt                          *int64
}

// selectChanges joins what is stored now of the users that changed after base; groups without such a change have one row.
const selectChanges = `SELECT g.id, b.base, g.exemptions_version, g.exemptions_count, g.archived_at IS NOT NULL AS archived,
		s.generation, c.version, c.user_id, e.user_id IS NOT NULL AS there, e.expires_at
	FROM b JOIN groups AS g ON g.id = b.id JOIN system AS s ON s.id = 1
	LEFT JOIN exemption_changes AS c ON c.group_id = g.id AND c.version > b.base
	LEFT JOIN exemptions AS e ON e.group_id = c.group_id AND e.user_id = c.user_id
	ORDER BY g.id, c.version`

// ExemptionDeltas reads what became of the exemptions that changed after a version, for each group by its id, in one
// statement. Groups that are not registered are left out.
func (s *Store) ExemptionDeltas(ctx context.Context, since map[string]int64) ([]ExemptionDelta, error) {
	if len(since) == 0 {
		return nil, nil
	}
	var args []any
	for _, id := range slices.Sorted(maps.Keys(since)) {
		args = append(args, id, since[id])
	}
	bases := "WITH b (id, base) AS (VALUES " + strings.Repeat("(?, CAST(? AS bigint)), ", len(since)-1) + "(?, CAST(? AS bigint))) "
	var rows []changeRow
	err := s.read(ctx, func(db *gorm.DB) error { return db.Raw(bases+selectChanges, args...).Scan(&rows).Error })
	var out []ExemptionDelta
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].ID == rows[0].ID {
			n++
		}
		out = append(out, deltaOf(rows[:n]))
		rows = rows[n:]
	}
	return out, err
}

// deltaOf reads the rows of one group, sorted by version.
func deltaOf(rows []changeRow) ExemptionDelta {
	g := rows[0]
	d := ExemptionDelta{
		GroupID: g.ID, Base: g.Generation*generationStep + g.Base, Order: g.Generation*generationStep + g.ExemptionsVersion,
		Count: g.ExemptionsCount,
	}
	known, at := int64(0), int64(-1) // versions
	seen := map[string]bool{}
	for _, r := range rows {
		if r.Version == nil {
			continue
		}
		if *r.Version != at {
			known, at = known+1, *r.Version
		}
		if seen[*r.UserID] {
			continue
		}
		seen[*r.UserID] = true
		if r.There {
			d.Put = append(d.Put, ExemptionEntry{UserID: *r.UserID, ExpiresMS: millis(r.ExpiresAt)})
		} else {
			d.Removed = append(d.Removed, *r.UserID)
		}
	}
	d.Known = g.Base > 0 && !g.Archived && g.Base+known == g.ExemptionsVersion
	return d
}
