package sync

import (
	"context"
	"fmt"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/store"
)

// generationBits is where the generation stands in an order (design §5).
const generationBits = 40

// sight is what Redis holds of some groups: every key that any document could publish for them.
type sight struct {
	hashes map[string]enforce.Stored
	exempt map[string]enforce.StoredExemptions
}

// glance drops the rows whose every key in Redis is proven to be as it should be, and returns the others with the number
// of keys of the dropped ones. Groups with named exemptions always stay: those are compared one by one.
func (w *walk) glance(ctx context.Context, rows []store.PublishRow) (doubtful []store.PublishRow, keys int, err error) {
	var glances []enforce.Glance
	var asked []store.PublishRow
	for _, row := range rows {
		if row.Err != nil || row.ExemptionsVersion > 0 {
			doubtful = append(doubtful, row)
			continue
		}
		pubs, _, err := w.sync.compile(ctx, row)
		if err != nil {
			return nil, 0, fmt.Errorf("group %q: %w", row.GroupID, err)
		}
		gone := unpublishedKeys(w.sync, w.actions, row.GroupID, pubs)
		g := enforce.Glance{Hashes: pubs, Absent: append(gone, w.sync.keys.Exempt(row.GroupID), w.sync.keys.ExemptV(row.GroupID))}
		glances, asked = append(glances, g), append(asked, row)
	}
	var held []bool
	err = w.sync.call(ctx, func(ctx context.Context) (err error) {
		held, err = w.sync.publisher.Glance(ctx, glances)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	for i, row := range asked {
		if held[i] {
			keys += len(glances[i].Hashes)
		} else {
			doubtful = append(doubtful, row)
		}
	}
	return doubtful, keys, nil
}

// see reads all of the groups from Redis.
func (w *walk) see(ctx context.Context, groups []string) (sight, error) {
	keys := make([]string, 0, len(groups)*(len(w.actions)+1))
	for _, group := range groups {
		keys = append(keys, w.sync.key(notices, group))
		for _, action := range w.actions {
			keys = append(keys, w.sync.key(action, group))
		}
	}
	seen := sight{exempt: make(map[string]enforce.StoredExemptions, len(groups))}
	var err error
	if seen.hashes, err = w.seeHashes(ctx, keys); err != nil {
		return seen, err
	}
	return seen, w.sync.call(ctx, func(ctx context.Context) error {
		sets, err := w.sync.publisher.ReadExemptions(ctx, groups)
		for i := range sets {
			seen.exempt[groups[i]] = sets[i]
		}
		return err
	})
}

func (w *walk) seeHashes(ctx context.Context, keys []string) (map[string]enforce.Stored, error) {
	hashes := make(map[string]enforce.Stored, len(keys))
	err := w.sync.call(ctx, func(ctx context.Context) error {
		stored, err := w.sync.publisher.ReadHashes(ctx, keys)
		for i := range stored {
			hashes[keys[i]] = stored[i]
		}
		return err
	})
	return hashes, err
}

// compare holds rows and their exemptions against what was seen, and returns what differs and how many keys there are.
// A group whose document cannot be read is left as it is.
func (w *walk) compare(ctx context.Context, rows []store.PublishRow, seen sight) (found []drift, keys int, err error) {
	sets, err := w.exemptions(ctx, rows)
	if err != nil {
		return nil, 0, err
	}
	for _, row := range rows {
		if row.Err != nil {
			continue
		}
		pubs, order, err := w.sync.compile(ctx, row)
		if err != nil {
			return nil, 0, fmt.Errorf("group %q: %w", row.GroupID, err)
		}
		keys += len(pubs)
		for _, gone := range unpublished(w.sync, w.actions, row, pubs, order) {
			if len(seen.hashes[gone.pub.Key].Fields) > 0 {
				keys++
			}
			pubs = append(pubs, gone.pub)
		}
		found = appendDrifts(found, row.GroupID, row.Shard, pubs, seen.hashes)
		if set := sets[row.GroupID]; set.Version > 0 || len(seen.exempt[row.GroupID].Scores) > 0 {
			keys++
		}
		if d, ok := driftOf(sets[row.GroupID], seen.exempt[row.GroupID]); ok {
			found = append(found, d)
		}
	}
	return found, keys, nil
}

// appendDrifts compares hashes. A key that was not read (its action is new) waits for the next pass.
func appendDrifts(found []drift, group string, shard uint8, pubs []enforce.Publication, seen map[string]enforce.Stored) []drift {
	for _, pub := range pubs {
		stored, ok := seen[pub.Key]
		if !ok {
			continue
		}
		kind, order := compareHash(pub, stored)
		if kind == "" {
			continue
		}
		pub.Repair, pub.Seen = true, order
		found = append(found, drift{kind: kind, group: group, shard: shard, key: pub.Key, pub: pub, mark: mark{order, pub.Order}})
	}
	return found
}

func driftOf(set store.ExemptionSet, st enforce.StoredExemptions) (drift, bool) {
	kind := compareExemptions(set, st)
	return drift{
		kind: kind, group: set.GroupID, shard: set.Shard, key: "exempt:" + set.GroupID, exempt: &set, mark: mark{st.Order, set.Order},
	}, kind != ""
}

// exemptions reads the collections of the rows; a group that never had one is given an empty one, of no changes.
func (w *walk) exemptions(ctx context.Context, rows []store.PublishRow) (map[string]store.ExemptionSet, error) {
	sets, ids := make(map[string]store.ExemptionSet, len(rows)), []string(nil)
	for _, row := range rows {
		sets[row.GroupID] = store.ExemptionSet{
			GroupID: row.GroupID, Shard: row.Shard, Order: row.Counters.Generation << generationBits,
		}
		if row.ExemptionsVersion > 0 {
			ids = append(ids, row.GroupID)
		}
	}
	read, err := w.sync.store.ExemptionSets(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read exemptions: %w", err)
	}
	for _, set := range read {
		sets[set.GroupID] = set
	}
	return sets, nil
}

// again looks a second time at groups that differ: at Redis first and then at the rows, so that an order above the
// database's is one that no commit explains. What may be on its way is left to the lanes.
func (w *walk) again(ctx context.Context, groups []string) ([]drift, error) {
	seen, err := w.see(ctx, groups)
	if err != nil {
		return nil, err
	}
	rows, err := w.sync.store.PublishRows(ctx, groups)
	if err != nil {
		return nil, fmt.Errorf("read groups: %w", err)
	}
	found, _, err := w.compare(ctx, rows, seen)
	if err != nil {
		return nil, err
	}
	return w.certain(ctx, found)
}

// certain drops what a rebuild is putting back, and what a lane or the fleet job may be about to publish: something waits
// in the outbox or a job runs, and the pass before did not find the very same.
func (w *walk) certain(ctx context.Context, found []drift) ([]drift, error) {
	if len(found) == 0 {
		return nil, nil
	}
	whole, err := w.wholeShards(ctx)
	if err != nil {
		return nil, err
	}
	waiting, err := w.sync.store.SyncStatus(ctx)
	if err != nil {
		return nil, fmt.Errorf("read outbox: %w", err)
	}
	kept := found[:0]
	for _, d := range found {
		late := d.mayBeOnItsWay() && waiting.OutboxDepth+waiting.FleetShards > 0
		if late && len(w.late) < maxLate {
			w.late[d.key] = d.mark
		}
		if before, ok := w.lateBefore[d.key]; whole[d.shard] && (!late || ok && before == d.mark) {
			kept = append(kept, d)
		}
	}
	return kept, nil
}
