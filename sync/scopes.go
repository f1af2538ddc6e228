package sync

import (
	"context"
	"maps"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
)

// appendScopes appends, for one shard, a hash of each action that a scope of the system limits, and a tombstone for the
// others: what was limited once must not be any longer. Tombstones are for where there is something to withdraw.
func (s *Sync) appendScopes(pubs []enforce.Publication, sys *policy.System, shard uint8) []enforce.Publication {
	order, now := sys.Order(0), s.cfg.Now().UnixMilli()
	for _, scope := range policy.SystemScopes() {
		for i := range sys.Actions {
			action := sys.Actions[i].Name
			pub := enforce.Publication{Key: s.keys.ScopePolicy(shard, action, scope), Order: order, Delete: true}
			if c, limited := sys.CompileScope(scope, action); limited {
				pub.Hash, pub.Delete = enforce.PolicyHash(sys.At(c, now)), false
			}
			pubs = append(pubs, pub)
		}
	}
	return pubs
}

// scopeKeys are the hashes that a shard may have of the scopes of the system.
func (s *Sync) scopeKeys(shard uint8, actions []string) []string {
	keys := make([]string, 0, len(actions)*len(policy.SystemScopes()))
	for _, scope := range policy.SystemScopes() {
		for _, action := range actions {
			keys = append(keys, s.keys.ScopePolicy(shard, action, scope))
		}
	}
	return keys
}

// seeScopes reads what shards have of scopes. Most systems limit none, and one question a shard is enough.
func (w *walk) seeScopes(ctx context.Context, shards []uint8, seen map[string]enforce.Stored) error {
	glances := make([]enforce.Glance, len(shards))
	for i, shard := range shards {
		glances[i].Absent = w.sync.scopeKeys(shard, w.actions)
	}
	var without []bool
	err := w.sync.call(ctx, func(ctx context.Context) (err error) {
		without, err = w.sync.publisher.Glance(ctx, glances)
		return err
	})
	if err != nil {
		return err
	}
	var names []string
	for i, g := range glances {
		if !without[i] {
			names = append(names, g.Absent...)
			continue
		}
		for _, key := range g.Absent {
			seen[key] = enforce.Stored{}
		}
	}
	found, err := w.seeHashes(ctx, names)
	maps.Copy(seen, found)
	return err
}

// withdrawPresent leaves in calls the tombstones of those keys alone that are there.
func (s *Sync) withdrawPresent(ctx context.Context, calls []*call) error {
	var keys []string
	for _, c := range calls {
		for i := range c.pubs {
			if c.pubs[i].Delete {
				keys = append(keys, c.pubs[i].Key)
			}
		}
	}
	var present []bool
	err := s.call(ctx, func(ctx context.Context) (err error) {
		present, err = s.fleetPublisher.Present(ctx, keys)
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range calls {
		kept := c.pubs[:0]
		for _, pub := range c.pubs {
			if pub.Delete {
				there := present[0]
				if present = present[1:]; !there {
					continue
				}
			}
			kept = append(kept, pub)
		}
		c.pubs = kept
	}
	return nil
}

// known counts the keys that are to be there, or are.
func known(pubs []enforce.Publication, seen map[string]enforce.Stored) (keys int) {
	for i := range pubs {
		if !pubs[i].Delete || len(seen[pubs[i].Key].Fields) > 0 {
			keys++
		}
	}
	return keys
}
