package sync

import (
	"context"
	"fmt"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/store"
)

// walkHolds compares the mutes and bans that are not over. What Redis knows of a later start is newer, and stays.
func (w *walk) walkHolds(ctx context.Context) error {
	if err := w.walkMutes(ctx); err != nil {
		return err
	}
	return w.walkBans(ctx)
}

func (w *walk) walkMutes(ctx context.Context) error {
	var after store.HoldKey
	for {
		page, err := w.sync.store.MutesForPublish(ctx, w.shards, after, groupsAPage)
		if err != nil {
			return fmt.Errorf("read mutes: %w", err)
		}
		if err := w.rested(ctx, func() error { return w.lookMutes(ctx, page) }); err != nil {
			return err
		}
		if len(page) < groupsAPage {
			return nil
		}
		last := page[len(page)-1]
		after = store.HoldKey{GroupID: last.GroupID, UserID: last.UserID}
	}
}

// lookMutes compares mutes; those that differ are read once more on both sides before they are mended.
func (w *walk) lookMutes(ctx context.Context, page []store.Mute) error {
	missing, err := w.missingMutes(ctx, page)
	if err != nil {
		return err
	}
	for i, m := range missing {
		if missing[i], err = w.sync.store.MuteForPublish(ctx, m.GroupID, m.UserID); err != nil && !isNotFound(err) {
			return fmt.Errorf("read mute: %w", err)
		}
	}
	if missing, err = w.missingMutes(ctx, missing); err != nil {
		return err
	}
	return w.mendHolds(ctx, driftMute, len(missing), func(i int) (string, error) {
		return missing[i].GroupID, w.sync.bringMute(ctx, missing[i])
	})
}

func (w *walk) missingMutes(ctx context.Context, page []store.Mute) (missing []store.Mute, err error) {
	refs := make([]enforce.HoldRef, len(page))
	for i, m := range page {
		refs[i] = enforce.HoldRef{Group: m.GroupID, User: m.UserID}
	}
	nowMS := w.sync.cfg.Now().UnixMilli()
	return missing, w.sync.call(ctx, func(ctx context.Context) error {
		records, err := w.sync.publisher.ReadMembers(ctx, refs)
		if err != nil {
			return err
		}
		for i, m := range page {
			if !holdsMute(m, records[i], nowMS) {
				missing = append(missing, m)
			}
		}
		return nil
	})
}

func (w *walk) walkBans(ctx context.Context) error {
	var after store.HoldKey
	for {
		page, err := w.sync.store.BansForPublish(ctx, w.shards, after, groupsAPage)
		if err != nil {
			return fmt.Errorf("read bans: %w", err)
		}
		if err := w.rested(ctx, func() error { return w.lookBans(ctx, page) }); err != nil {
			return err
		}
		if len(page) < groupsAPage {
			return nil
		}
		last := page[len(page)-1]
		after = store.HoldKey{GroupID: last.GroupID, Action: last.Action, UserID: last.UserID}
	}
}

// lookBans is lookMutes for bans.
func (w *walk) lookBans(ctx context.Context, page []store.Ban) error {
	missing, err := w.missingBans(ctx, page)
	if err != nil {
		return err
	}
	for i, b := range missing {
		if missing[i], err = w.sync.store.BanForPublish(ctx, b.GroupID, b.Action, b.UserID); err != nil && !isNotFound(err) {
			return fmt.Errorf("read ban: %w", err)
		}
	}
	if missing, err = w.missingBans(ctx, missing); err != nil {
		return err
	}
	return w.mendHolds(ctx, driftBan, len(missing), func(i int) (string, error) {
		return missing[i].GroupID, w.sync.bringBan(ctx, missing[i])
	})
}

func (w *walk) missingBans(ctx context.Context, page []store.Ban) (missing []store.Ban, err error) {
	refs := make([]enforce.HoldRef, len(page))
	for i, b := range page {
		refs[i] = enforce.HoldRef{Action: b.Action, Group: b.GroupID, User: b.UserID}
	}
	nowMS := w.sync.cfg.Now().UnixMilli()
	return missing, w.sync.call(ctx, func(ctx context.Context) error {
		states, err := w.sync.publisher.ReadStates(ctx, refs)
		if err != nil {
			return err
		}
		for i, b := range page {
			if !holdsBan(b, states[i], nowMS) {
				missing = append(missing, b)
			}
		}
		return nil
	})
}

// mendHolds brings holds to Redis, which takes each only if it knows of no later one.
func (w *walk) mendHolds(ctx context.Context, kind string, n int, bring func(int) (string, error)) error {
	if w.survey && n > 0 {
		w.differs[kind] += n
	}
	if w.withhold || w.survey || n == 0 {
		return nil
	}
	kinds := map[string][]string{}
	defer func() { w.tell(ctx, kinds) }()
	for i := range n {
		group, err := bring(i)
		if err != nil {
			return err
		}
		w.sync.metrics.drift.WithLabelValues(kind).Inc()
		w.mended.keys++
		kinds[group] = append(kinds[group], kind)
	}
	return nil
}
