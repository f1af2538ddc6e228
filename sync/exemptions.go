package sync

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/store"
)

// deltaTries is how often what changed is read and offered before the whole set goes out: once from where the job
// begins, once more from where Redis stands.
const deltaTries = 2

// publishExemptions publishes what changed of the collections of the jobs that have a change of them; the whole of one
// where Redis has nothing that the changes build on. That of an archived group counts as empty.
func (s *Sync) publishExemptions(ctx context.Context, jobs []*job) error {
	since := map[string]int64{}
	for group, j := range withKind(jobs, store.KindExemptions) {
		since[group] = j.exemptionsBefore()
	}
	var whole []string
	for try := 0; try < deltaTries && len(since) > 0; try++ {
		deltas, err := s.store.ExemptionDeltas(ctx, since)
		if err != nil {
			return fmt.Errorf("read changed exemptions: %w", err)
		}
		var left []string
		if since, left, err = s.publishDeltas(ctx, deltas); err != nil {
			return err
		}
		whole = append(whole, left...)
	}
	whole = slices.AppendSeq(whole, maps.Keys(since))
	if len(whole) == 0 {
		return nil
	}
	sets, err := s.store.ExemptionSets(ctx, whole)
	if err != nil {
		return fmt.Errorf("read exemptions: %w", err)
	}
	return s.publishSets(ctx, sets)
}

// exemptionsBefore is the version of the collection before the job's first change of it.
func (j *job) exemptionsBefore() int64 {
	first := int64(math.MaxInt64)
	for _, c := range j.changes {
		if c.Kind == store.KindExemptions {
			first = min(first, c.Version)
		}
	}
	return first - 1
}

// publishDeltas offers what changed. behind are the groups to try once more, with the version that Redis has; whole are
// those whose changes cannot be told.
func (s *Sync) publishDeltas(ctx context.Context, deltas []store.ExemptionDelta) (behind map[string]int64, whole []string, err error) {
	var mu sync.Mutex
	behind = map[string]int64{}
	err = inParallel(len(deltas), func(i int) error {
		d := deltas[i]
		stored, done, err := int64(0), false, error(nil)
		if d.Known {
			stored, done, err = s.publishDelta(ctx, d)
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
			return err
		case done:
		case stored>>generationBits == d.Order>>generationBits:
			behind[d.GroupID] = stored & (1<<generationBits - 1)
		default:
			whole = append(whole, d.GroupID)
		}
		return nil
	})
	return behind, whole, err
}

// publishDelta offers what changed of one group. done = Redis has it, or something newer; else stored is the order that
// it has, 0 if nothing can be built on it.
func (s *Sync) publishDelta(ctx context.Context, d store.ExemptionDelta) (stored int64, done bool, err error) {
	delta := enforce.ExemptDelta{
		Base: d.Base, Order: d.Order, Count: d.Count, Put: exemptEntries(d.Put), Removed: d.Removed,
	}
	err = s.callShard(ctx, enforce.Shard(d.GroupID), func(ctx context.Context) error {
		result, at, err := s.publisher.ChangeExemptions(ctx, d.GroupID, delta)
		stored, done = at, err == nil && result != enforce.Behind
		return err
	})
	return stored, done, err
}

// publishSets publishes whole collections.
func (s *Sync) publishSets(ctx context.Context, sets []store.ExemptionSet) error {
	return inParallel(len(sets), func(i int) error {
		set := sets[i]
		return s.callShard(ctx, set.Shard, func(ctx context.Context) error {
			_, err := s.publisher.PublishExemptions(ctx, set.GroupID, set.Order, exemptEntries(set.Entries))
			return err
		})
	})
}

func exemptEntries(entries []store.ExemptionEntry) []enforce.ExemptEntry {
	out := make([]enforce.ExemptEntry, 0, len(entries))
	for _, e := range entries {
		out = append(out, enforce.ExemptEntry{User: e.UserID, ExpiresMS: e.ExpiresMS})
	}
	return out
}
