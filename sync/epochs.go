package sync

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/store"
)

// epochs is what the watch saw last. Only the watch touches it.
type epochs struct {
	seen  [enforce.Shards]string
	since [enforce.Shards]time.Time // when the value was first seen
	fresh [enforce.Shards]bool      // the last look saw the value first
	begun string                    // the nonce of a rebuild of ours for which the asking may have failed
	whole atomic.Bool               // all shards were complete once
}

// runEpochs watches over what Redis says of itself: a shard without an epoch was lost (first start, FLUSHALL, a new
// node) and is rebuilt. While Redis is away the watch is the one that asks for it, more often.
func (s *Sync) runEpochs(ctx context.Context) {
	for ctx.Err() == nil {
		again, err := s.watch(ctx)
		s.noteError(ctx, laneEpochs, err)
		if again {
			continue
		}
		wait := s.cfg.EpochEvery
		if err != nil {
			wait = min(wait, s.cfg.ProbeEvery)
		}
		pauseOr(ctx, wait, s.epochsNow)
	}
}

// watch looks once, and has what is missing or was left half built rebuilt; again asks for another look at once. Then it
// asks for what else is due.
func (s *Sync) watch(ctx context.Context) (again bool, err error) {
	looks, err := s.look(ctx)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	s.compareServers(ctx, looks)
	lost, half := s.compare(looks)
	orphans, asking := s.orphaned(ctx, half)
	if lost = append(lost, orphans...); len(lost) > 0 && asking == nil {
		asking = s.begin(ctx, lost)
		again = asking == nil
	}
	if asking == nil && !again {
		asking = s.askDue(ctx, looks)
	}
	return again, cmp.Or(asking, err)
}

// compare takes in a look. It returns the shards that are lost, and those that have stood half built for so long, or for so
// certain a reason, that nobody may be at them. What did not answer stays as it was seen last.
func (s *Sync) compare(looks *[enforce.Shards]enforce.ShardLook) (lost, old []uint8) {
	at := s.cfg.Now()
	complete, building := 0, 0
	for i, look := range looks {
		if look.Err != nil {
			continue
		}
		value := look.Epoch
		s.epochs.fresh[i] = value != s.epochs.seen[i]
		if s.epochs.fresh[i] {
			if s.epochs.seen[i] != "" {
				s.cursors.forget() // another life of this shard: its stream begins anew
			}
			s.epochs.seen[i], s.epochs.since[i] = value, at
		}
		half := strings.HasPrefix(value, "~")
		switch {
		case value == "":
			lost = append(lost, uint8(i))
		case half:
			building++
			if at.Sub(s.epochs.since[i]) >= s.cfg.OrphanAfter || value == "~"+s.epochs.begun {
				old = append(old, uint8(i))
			}
		default:
			complete++
		}
	}
	s.report.shards(complete, building)
	s.metrics.incomplete.Set(float64(enforce.Shards - complete))
	if complete == enforce.Shards {
		s.epochs.whole.Store(true)
	}
	return lost, old
}

// begin asks the fleet job for all that the database knows of the lost shards: groups, exemptions, mutes, bans, each shard's
// default hashes after them. Shards that another instance begins first are left to it. An asking that fails leaves the
// shards half built and nobody at it: the next look here begins anew, and those of others after a while.
func (s *Sync) begin(ctx context.Context, lost []uint8) error {
	nonce := s.cfg.NewID()
	s.epochs.begun = nonce
	won, swapping := s.swap(ctx, lost, func(shard uint8) string { return s.epochs.seen[shard] }, "~"+nonce)
	var shards []uint8
	for i, shard := range lost {
		if won[i] {
			shards = append(shards, shard)
			s.epochs.seen[shard], s.epochs.since[shard] = "~"+nonce, s.cfg.Now()
		}
	}
	if len(shards) == 0 {
		return swapping
	}
	number, err := s.ask(ctx, store.FleetAsk{Shards: shards, Reason: reasonRebuild, Whole: true, Unpaced: true, Nonce: nonce})
	if err != nil {
		return err
	}
	s.pass.asked(shards, number) // all that a pass would do
	if swapping == nil {
		s.epochs.begun = ""
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "Redis has lost shards, rebuilding them from the database", slog.Int("shards", len(shards)))
	return swapping
}

// orphaned keeps those of the half built shards that the fleet job knows nothing of.
func (s *Sync) orphaned(ctx context.Context, half []uint8) ([]uint8, error) {
	if len(half) == 0 {
		return nil, nil
	}
	nonces, err := s.store.FleetNonces(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the fleet job: %w", err)
	}
	return slices.DeleteFunc(half, func(shard uint8) bool { return s.epochs.seen[shard] == "~"+nonces[shard] }), nil
}

// swap changes the epochs of shards that are as seen, and says which; a single node takes all in one call.
func (s *Sync) swap(ctx context.Context, shards []uint8, seen func(uint8) string, next string) ([]bool, error) {
	size := 1
	if s.cfg.SingleNode {
		size = len(shards)
	}
	calls := slices.Collect(slices.Chunk(shards, size))
	won := make([]bool, len(shards))
	err := inParallel(len(calls), func(i int) error {
		expected := make([]string, len(calls[i]))
		for k, shard := range calls[i] {
			expected[k] = seen(shard)
		}
		return s.callShard(ctx, calls[i][0], func(ctx context.Context) error {
			replaced, err := s.publisher.SwapEpochs(ctx, calls[i], expected, next)
			copy(won[i*size:], replaced)
			return err
		})
	})
	return won, err
}
