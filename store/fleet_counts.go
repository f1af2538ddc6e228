package store

import (
	"context"
	"time"

	"gorm.io/gorm"
)

// FleetCounts are figures of all groups.
type FleetCounts struct {
	Groups   int64 // that are not archived
	Archived int64
	Stated   int64 // of Groups, those that ever saved settings of their own
	Muted    int64 // members who may not speak now
}

// FleetCounts counts the groups and the muted. It looks at each group's row once; ctx may end it.
func (s *Store) FleetCounts(ctx context.Context) (n FleetCounts, err error) {
	err = s.read(ctx, func(db *gorm.DB) error {
		row := db.Raw(`SELECT COALESCE(sum(CASE WHEN archived_at IS NULL THEN 1 ELSE 0 END), 0),
			COALESCE(sum(CASE WHEN archived_at IS NOT NULL THEN 1 ELSE 0 END), 0),
			COALESCE(sum(CASE WHEN archived_at IS NULL AND version > 0 THEN 1 ELSE 0 END), 0) FROM groups`).Row()
		if err := row.Scan(&n.Groups, &n.Archived, &n.Stated); err != nil {
			return err
		}
		return db.Raw("SELECT count(*) FROM mutes WHERE end_ms > ? AND lifted_at IS NULL", s.now().UnixMilli()).Row().Scan(&n.Muted)
	})
	return n, err
}

// SystemSave tells who saved a version of the bounds or the defaults, when and why. All is zero of what was shipped.
type SystemSave struct {
	At     time.Time
	Actor  string
	Reason string
}

// BoundsSave reads who saved a version of the bounds.
func (s *Store) BoundsSave(ctx context.Context, version int64) (SystemSave, error) {
	return s.systemSave(ctx, "SELECT at, actor, reason FROM bounds_versions WHERE version = ?", version)
}

// DefaultsSave reads who saved a version of the defaults.
func (s *Store) DefaultsSave(ctx context.Context, version int64) (SystemSave, error) {
	return s.systemSave(ctx, "SELECT at, actor, reason FROM defaults_versions WHERE version = ?", version)
}

func (s *Store) systemSave(ctx context.Context, sql string, version int64) (SystemSave, error) {
	if version == 0 {
		return SystemSave{}, nil
	}
	var row struct {
		At            int64
		Actor, Reason string
	}
	err := s.read(ctx, func(db *gorm.DB) error { return one(db.Raw(sql, version), &row) })
	return SystemSave{At: fromMicros(&row.At), Actor: row.Actor, Reason: row.Reason}, err
}
