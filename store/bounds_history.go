package store

import (
	"context"
	"time"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

// PastBounds are bounds that were in force from At until the next.
type PastBounds struct {
	At     time.Time // zero = from the beginning
	Bounds policy.Bounds
}

// boundsLooked is how many of the latest versions BoundsSince reads at most.
const boundsLooked = 50

// BoundsSince are the bounds that were in force at a moment and all that were saved after it, oldest first; of a long
// history the latest alone.
func (s *Store) BoundsSince(ctx context.Context, at time.Time) ([]PastBounds, error) {
	var rows []struct {
		At     int64
		Bounds string
	}
	err := s.read(ctx, func(db *gorm.DB) error {
		return db.Raw("SELECT at, bounds FROM bounds_versions ORDER BY version DESC LIMIT ?", boundsLooked).Scan(&rows).Error
	})
	if err != nil {
		return nil, err
	}
	var past []PastBounds
	for _, row := range rows {
		bounds, err := policy.ParseBounds([]byte(row.Bounds))
		if err != nil {
			return nil, damaged("bounds", err)
		}
		past = append([]PastBounds{{fromMicros(&row.At), bounds}}, past...)
		if row.At <= at.UnixMicro() {
			return past, nil
		}
	}
	if len(rows) < boundsLooked {
		past = append([]PastBounds{{Bounds: policy.ShippedBounds()}}, past...)
	}
	return past, nil
}
