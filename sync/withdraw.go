package sync

import (
	"context"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/store"
)

// withdrawal is a key that a group's document does not publish.
type withdrawal struct {
	shard uint8
	pub   enforce.Publication
}

// unpublished lists the keys that Redis may hold of a group though its document publishes no such thing.
func unpublished(
	s *Sync, actions []string, row store.PublishRow, pubs []enforce.Publication, order int64,
) []withdrawal {
	keys := unpublishedKeys(s, actions, row.GroupID, pubs)
	gone := make([]withdrawal, 0, len(keys))
	for _, key := range keys {
		gone = append(gone, withdrawal{row.Shard, enforce.Publication{Key: key, Order: order, Delete: true}})
	}
	return gone
}

// unpublishedKeys has room for two more.
func unpublishedKeys(s *Sync, actions []string, group string, pubs []enforce.Publication) []string {
	keys := make([]string, 0, len(actions)+3)
	add := func(key string) {
		for i := range pubs {
			if pubs[i].Key == key {
				return
			}
		}
		keys = append(keys, key)
	}
	add(s.key(notices, group))
	for _, name := range actions {
		add(s.key(name, group))
	}
	return keys
}

// withdraw leaves a tombstone for each that is there.
func (w *sweep) withdraw(ctx context.Context, gone []withdrawal) error {
	if len(gone) == 0 {
		return nil
	}
	keys := make([]string, len(gone))
	for i, g := range gone {
		keys[i] = g.pub.Key
	}
	var present []bool
	err := w.sync.call(ctx, func(ctx context.Context) (err error) {
		present, err = w.sync.fleetPublisher.Present(ctx, keys)
		return err
	})
	if err != nil {
		return err
	}
	for i, g := range gone {
		if present[i] {
			w.add(g.shard, []enforce.Publication{g.pub})
		}
	}
	return nil
}
