package store

import (
	"context"

	"gorm.io/gorm"
)

type publishRow struct {
	ID                                         string
	Shard                                      uint8
	Locale                                     string
	ArchivedAt                                 *int64
	Version                                    int64
	Document                                   string
	ExemptionsVersion, ExemptionsCount         int64
	Generation, BoundsVersion, DefaultsVersion int64
}

const selectPublish = `SELECT g.id, g.shard, g.locale, g.archived_at, g.version, g.document, g.exemptions_version,
		g.exemptions_count, s.generation, s.bounds_version, s.defaults_version
	FROM groups AS g JOIN system AS s ON s.id = 1 WHERE `

// PublishRows reads groups as the publisher needs them, each with the counters of the same moment. Groups that are not
// registered are left out. A row whose document cannot be read has Err, and must not be published.
func (s *Store) PublishRows(ctx context.Context, groupIDs []string) ([]PublishRow, error) {
	if len(groupIDs) == 0 {
		return nil, nil
	}
	return s.publishRows(ctx, "g.id IN ? ORDER BY g.shard, g.id", groupIDs)
}

// PublishPage pages all groups of the shards (nil = all), archived ones too, by shard and id. after is the last id of
// the page before, "" at the start; the page that has fewer than limit rows is the last.
func (s *Store) PublishPage(ctx context.Context, shards []uint8, after string, limit int) ([]PublishRow, error) {
	return s.publishRows(ctx, "g.shard IN ? AND (g.shard, g.id) > (?, ?) ORDER BY g.shard, g.id LIMIT ?",
		shardList(shards), HoldKey{GroupID: after}.shard(), after, limit)
}

func (s *Store) publishRows(ctx context.Context, where string, args ...any) ([]PublishRow, error) {
	var rows []publishRow
	err := s.read(ctx, func(db *gorm.DB) error { return db.Raw(selectPublish+where, args...).Scan(&rows).Error })
	if err != nil {
		return nil, err
	}
	out := make([]PublishRow, 0, len(rows))
	for _, r := range rows {
		out = append(out, r.public())
	}
	return out, nil
}

func (r publishRow) public() PublishRow {
	doc, err := parseStored(r.ID, r.Document)
	return PublishRow{
		GroupID: r.ID, Shard: r.Shard, Locale: r.Locale, Archived: r.ArchivedAt != nil, Version: r.Version,
		Document: doc, Err: err, ExemptionsVersion: r.ExemptionsVersion, ExemptionsCount: r.ExemptionsCount,
		Counters: Counters{Generation: r.Generation, BoundsVersion: r.BoundsVersion, DefaultsVersion: r.DefaultsVersion},
	}
}

// generationStep is what one generation adds to an order (design §5).
const generationStep = 1 << 40

// ExemptionsForPublish reads a group's whole collection with its order, in one statement. CodeNotFound.
func (s *Store) ExemptionsForPublish(ctx context.Context, groupID string) (ExemptionSet, error) {
	sets, err := s.ExemptionSets(ctx, []string{groupID})
	if err != nil {
		return ExemptionSet{}, err
	}
	if len(sets) == 0 {
		return ExemptionSet{}, noGroup(gorm.ErrRecordNotFound)
	}
	return sets[0], nil
}

// ExemptionSets reads the whole collections of groups, sorted by group, in one statement. Groups that are not registered
// are left out; archived ones are empty.
func (s *Store) ExemptionSets(ctx context.Context, groupIDs []string) ([]ExemptionSet, error) {
	if len(groupIDs) == 0 {
		return nil, nil
	}
	var rows []struct {
		ID                            string
		ExemptionsVersion, Generation int64
		UserID                        *string
		ExpiresAt                     *int64
	}
	err := s.read(ctx, func(db *gorm.DB) error {
		return db.Raw(`SELECT g.id, g.exemptions_version, s.generation, e.user_id, e.expires_at
			FROM groups AS g JOIN system AS s ON s.id = 1
			LEFT JOIN exemptions AS e ON e.group_id = g.id AND g.archived_at IS NULL
			WHERE g.id IN ? ORDER BY g.id, e.user_id`, groupIDs).Scan(&rows).Error
	})
	var out []ExemptionSet
	for _, r := range rows {
		if len(out) == 0 || out[len(out)-1].GroupID != r.ID {
			out = append(out, ExemptionSet{
				GroupID: r.ID, Shard: shardOf(r.ID), Version: r.ExemptionsVersion,
				Order: r.Generation*generationStep + r.ExemptionsVersion,
			})
		}
		if r.UserID != nil {
			set := &out[len(out)-1]
			set.Entries = append(set.Entries, ExemptionEntry{UserID: *r.UserID, ExpiresMS: millis(r.ExpiresAt)})
		}
	}
	return out, err
}

// millis is a column's moment in ms, rounded up so that nothing ends early; 0 for NULL.
func millis(us *int64) int64 {
	if us == nil {
		return 0
	}
	return (*us + 999) / 1000
}
