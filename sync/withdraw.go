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
	kept := make(map[string]bool, len(pubs))
	for _, pub := range pubs {
		kept[pub.Key] = true
	}
	var gone []withdrawal
	for _, name := range append([]string{notices}, actions...) {
		if key := s.key(name, row.GroupID); !kept[key] {
			gone = append(gone, withdrawal{row.Shard, enforce.Publication{Key: key, Order: order, Delete: true}})
		}
	}
	return gone
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
