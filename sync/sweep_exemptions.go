package sync

import (
	"context"
	"fmt"

	"github.com/pacekeeper/pacekeeper/store"
)

// exemptions publishes the collections of a page, so many at once as memory should hold.
func (w *sweep) exemptions(ctx context.Context, rows []store.PublishRow) error {
	for len(rows) > 0 {
		n := lookLength(rows)
		groups, err := w.exempting(ctx, rows[:n])
		if err != nil {
			return err
		}
		rows = rows[n:]
		if len(groups) == 0 {
			continue
		}
		sets, err := w.sync.store.ExemptionSets(ctx, groups)
		if err != nil {
			return fmt.Errorf("read exemptions: %w", err)
		}
		if err := w.sync.publishSets(ctx, sets); err != nil {
			return err
		}
		if err := w.rest(ctx); err != nil {
			return err
		}
	}
	return nil
}

// exempting are the groups whose exemptions are to be published: those that ever had any, and those of which Redis alone
// knows some.
func (w *sweep) exempting(ctx context.Context, rows []store.PublishRow) (groups []string, err error) {
	var never, keys []string
	for _, row := range rows {
		switch {
		case row.Err != nil:
		case row.ExemptionsVersion > 0:
			groups = append(groups, row.GroupID)
		case w.stale:
			never, keys = append(never, row.GroupID), append(keys, w.sync.keys.Exempt(row.GroupID))
		}
	}
	if len(keys) == 0 {
		return groups, nil
	}
	err = w.sync.call(ctx, func(ctx context.Context) error {
		present, err := w.sync.fleetPublisher.Present(ctx, keys)
		for i, there := range present {
			if there {
				groups = append(groups, never[i])
			}
		}
		return err
	})
	return groups, err
}
