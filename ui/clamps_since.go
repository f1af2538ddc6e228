package ui

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// newerHold is what bounds hold back of a document that they did not when it was saved.
type newerHold struct {
	requested any
	since     time.Time // of the bounds that began it
	earlier   bool      // it may have begun earlier
}

// newerHolds finds what of a group's saved document is held back by bounds that came after it, by pointer. Where nothing
// is held back it asks the database for nothing.
func (u *UI) newerHolds(ctx context.Context, record store.PolicyRecord) (map[string]newerHold, error) {
	_, clamps := record.System.Resolve(record.Document)
	if len(clamps) == 0 || record.Version == 0 || record.System.BoundsVersion == 0 {
		return nil, nil
	}
	saved, err := u.cfg.Store.Version(ctx, record.Group.ID, record.Version)
	if err != nil {
		return nil, err
	}
	past, err := u.cfg.Store.BoundsSince(ctx, saved.At)
	if err != nil || len(past) < 2 {
		return nil, err
	}
	holds := make(map[string]newerHold, len(clamps))
	for _, clamp := range clamps {
		holds[clamp.Path] = newerHold{requested: clamp.Requested, earlier: true}
	}
	for _, then := range slices.Backward(past) {
		cfg := record.System.SystemConfig
		cfg.Bounds = then.Bounds
		system, err := policy.NewSystem(cfg)
		if err != nil {
			return nil, err
		}
		_, held := system.Resolve(record.Document)
		followBack(holds, held, then.At)
	}
	for path, h := range holds {
		if h.earlier { // it was held back already when it was saved
			delete(holds, path)
		}
	}
	return holds, nil
}

// followBack takes in what bounds of an earlier time held back.
func followBack(holds map[string]newerHold, then []policy.Clamp, at time.Time) {
	held := make(map[string]bool, len(then))
	for _, clamp := range then {
		held[clamp.Path] = true
	}
	for path, h := range holds {
		h.earlier = h.earlier && held[path]
		if h.earlier {
			h.since = at
		}
		holds[path] = h
	}
}

// sinceNotes says of what was saved and is still asked for since when newer bounds hold it back.
func (b base) sinceNotes(notes map[string]string, clamps []policy.Clamp, holds map[string]newerHold, zone *time.Location) {
	for _, c := range clamps {
		h, newer := holds[c.Path]
		if newer && c.Bound != policy.BoundForbidden && reflect.DeepEqual(h.requested, c.Requested) && fieldOf(c.Path) != "" {
			asked, inForce := b.clampValue(c.Path, c.Requested), b.clampValue(c.Path, c.Effective)
			notes[c.Path] = b.Say("clamped_since", asked, inForce, b.day(h.since.In(zone)))
		}
	}
}
