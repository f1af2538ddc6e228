package sync

import (
	"context"
	"log/slog"
	"slices"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/store"
)

// groupsLogged is how many mended groups a pass logs one by one.
const groupsLogged = 10

// mended is what one pass wrote into Redis.
type mended struct {
	keys   int
	groups int
	logged int
}

// mend writes what the database says over what differs, each key only if it still has the order that was compared.
func (w *walk) mend(ctx context.Context, found []drift) error {
	if w.withhold || w.survey || len(found) == 0 {
		return nil
	}
	kinds := map[string][]string{}
	for shard, list := range byShard(found) {
		written, err := w.write(ctx, shard, list)
		for _, d := range written {
			if d.kind == offsetsMoved {
				continue
			}
			w.sync.metrics.drift.WithLabelValues(d.kind).Inc()
			kinds[d.group] = append(kinds[d.group], d.kind+" "+d.key)
		}
		w.mended.keys += len(written)
		if err != nil {
			w.tell(ctx, kinds)
			return err
		}
	}
	w.tell(ctx, kinds)
	return nil
}

// write mends keys of one shard and returns those that Redis took.
func (w *walk) write(ctx context.Context, shard uint8, found []drift) (written []drift, err error) {
	var pubs []enforce.Publication
	var hashes []drift
	for _, d := range found {
		if d.exempt == nil {
			pubs, hashes = append(pubs, d.pub), append(hashes, d)
			continue
		}
		err := w.sync.callShard(ctx, shard, func(ctx context.Context) error {
			result, err := w.sync.publisher.RepairExemptions(ctx, d.group, d.exempt.Order, d.mark.seen, exemptEntries(d.exempt.Entries))
			if err == nil && result == enforce.Written {
				written = append(written, d)
			}
			return err
		})
		if err != nil {
			return written, err
		}
	}
	if len(pubs) == 0 {
		return written, nil
	}
	return written, w.sync.callShard(ctx, shard, func(ctx context.Context) error {
		results, err := w.sync.publisher.Publish(ctx, shard, pubs)
		for i, result := range results {
			if result == enforce.Written {
				written = append(written, hashes[i])
			}
		}
		return err
	})
}

// tell logs the groups that were mended, the first ones of a pass in full.
func (w *walk) tell(ctx context.Context, kinds map[string][]string) {
	for group, list := range kinds {
		w.mended.groups++
		if w.mended.logged == groupsLogged {
			continue
		}
		w.mended.logged++
		slices.Sort(list)
		w.sync.log.LogAttrs(ctx, slog.LevelWarn, "Redis differed from the database, mended",
			slog.String("group_id", group), slog.Any("keys", list[:min(len(list), 16)]), slog.Int("count", len(list)))
	}
}

// mendAhead replaces what is ahead of the database, unless that is so much that the database must be a restored backup.
func (w *walk) mendAhead(ctx context.Context) error {
	if w.survey || w.restored() {
		return nil
	}
	w.withhold = false
	slices.Sort(w.ahead)
	for groups := range slices.Chunk(slices.Compact(w.ahead), groupsALook) {
		found, err := w.again(ctx, groups)
		if err == nil {
			err = w.mend(ctx, found)
		}
		if err == nil {
			err = w.settle(ctx, groups)
		}
		if err != nil {
			return err
		}
	}
	if len(w.aheadShards) == 0 {
		return nil
	}
	slices.Sort(w.aheadShards)
	return w.mendAheadDefaults(ctx, slices.Compact(w.aheadShards))
}

func (w *walk) mendAheadDefaults(ctx context.Context, shards []uint8) error {
	found, _, err := w.lookDefaults(ctx, shards)
	if err == nil {
		found, err = w.certain(ctx, found)
	}
	if err == nil {
		err = w.mend(ctx, found)
	}
	if err == nil {
		found, _, err = w.lookDefaults(ctx, shards)
	}
	if err == nil {
		err = w.offer(ctx, found)
	}
	return err
}

// settle publishes once more what was committed while a key ahead of the database was replaced: until then Redis
// refused it as older.
func (w *walk) settle(ctx context.Context, groups []string) error {
	seen, err := w.see(ctx, groups)
	if err != nil {
		return err
	}
	rows, err := w.sync.store.PublishRows(ctx, groups)
	if err != nil {
		return err
	}
	found, _, err := w.compare(ctx, rows, seen)
	if err != nil {
		return err
	}
	return w.offer(ctx, found)
}

// offer publishes as the lanes do: guarded by order.
func (w *walk) offer(ctx context.Context, found []drift) error {
	var sets []store.ExemptionSet
	for shard, list := range byShard(found) {
		c := &call{shard: shard}
		for _, d := range list {
			if d.exempt != nil {
				sets = append(sets, *d.exempt)
				continue
			}
			d.pub.Repair = false
			c.pubs = append(c.pubs, d.pub)
		}
		if err := w.sync.publishCall(ctx, c); err != nil {
			return err
		}
	}
	return w.sync.publishSets(ctx, sets)
}

func byShard(found []drift) map[uint8][]drift {
	shards := map[uint8][]drift{}
	for _, d := range found {
		shards[d.shard] = append(shards[d.shard], d)
	}
	return shards
}

// groupsOf names the groups of the drifts, each once.
func groupsOf(found []drift) []string {
	var groups []string
	for _, d := range found {
		groups = append(groups, d.group)
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}
