package sync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pacekeeper/pacekeeper/enforce"
)

// epochs is what the watch saw last. Only the watch touches it.
type epochs struct {
	seen  [enforce.Shards]string
	since [enforce.Shards]time.Time // when the value was first seen
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

// watch looks once, and rebuilds what is missing or was left half built; again asks for another look at once. When
// nothing is missing it asks for the pass that is due.
func (s *Sync) watch(ctx context.Context) (again bool, err error) {
	looks, err := s.look(ctx)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	s.compareServers(ctx, looks)
	if lost := s.compare(looks); len(lost) > 0 {
		if err := s.rebuild(ctx, lost); err != nil {
			return false, err
		}
		return true, nil
	}
	if err == nil && s.passDue.Swap(false) {
		poke(s.passNow)
	}
	return false, err
}

// compare takes in a look and returns the shards to rebuild. What did not answer stays as it was seen last.
func (s *Sync) compare(looks *[enforce.Shards]enforce.ShardLook) (lost []uint8) {
	at := s.cfg.Now()
	complete, building := 0, 0
	for i, look := range looks {
		if look.Err != nil {
			continue
		}
		value := look.Epoch
		if value != s.epochs.seen[i] {
			if s.epochs.seen[i] != "" {
				s.cursors.forget() // another life of this shard: its stream begins anew
			}
			s.epochs.seen[i], s.epochs.since[i] = value, at
		}
		half := strings.HasPrefix(value, "~")
		switch {
		case value == "", half && at.Sub(s.epochs.since[i]) >= s.cfg.OrphanAfter:
			lost = append(lost, uint8(i))
		case half:
			building++
		default:
			complete++
		}
	}
	s.report.shards(complete, building)
	s.metrics.incomplete.Set(float64(enforce.Shards - complete))
	if complete == enforce.Shards {
		s.epochs.whole.Store(true)
	}
	return lost
}

// errTakenOver ends a rebuild whose epochs somebody else changed: another flush, or an instance that thought it dead.
var errTakenOver = errors.New("sync: the rebuild was taken over")

// rebuilding is a rebuild under way: its shards stand at ~nonce.
type rebuilding struct {
	shards []uint8
	nonce  string
}

// rebuild publishes all that the database knows of the shards: groups, exemptions, mutes, bans, then defaults. Shards
// that another instance begins first are left to it. One that fails is tried again at once by the next look.
func (s *Sync) rebuild(ctx context.Context, lost []uint8) error {
	began := s.cfg.Now()
	r, err := s.beginRebuild(ctx, lost)
	if err != nil || len(r.shards) == 0 {
		return err
	}
	done := s.report.passBegan()
	w := &sweep{sync: s, shards: r.shards, full: true, done: done}
	if len(r.shards) == enforce.Shards {
		w.shards = nil
	}
	err = s.whileRebuilding(ctx, r, w.run)
	if err == nil {
		err = s.completeRebuild(ctx, r)
	}
	if err != nil {
		s.report.passEnded(began, 0)
		s.forsake(r)
		return err
	}
	took := s.cfg.Now().Sub(began)
	s.report.passEnded(began, took)
	s.metrics.rebuilds.Add(float64(len(r.shards)))
	s.metrics.passes.Observe(took.Seconds())
	if len(r.shards) == enforce.Shards {
		s.passed.Store(true)
		s.passDue.Store(false)
	}
	s.log.LogAttrs(ctx, slog.LevelInfo, "rebuilt Redis from the database", slog.Int("shards", len(r.shards)),
		slog.Int64("groups", done.Load()), slog.Int64("took_ms", took.Milliseconds()))
	return nil
}

// beginRebuild claims the shards by compare-and-set.
func (s *Sync) beginRebuild(ctx context.Context, lost []uint8) (*rebuilding, error) {
	r := &rebuilding{nonce: s.cfg.NewID()}
	won, err := s.swap(ctx, lost, func(shard uint8) string { return s.epochs.seen[shard] }, "~"+r.nonce)
	for i, shard := range lost {
		if won[i] {
			r.shards = append(r.shards, shard)
		}
	}
	s.stamp(r)
	if err != nil {
		s.forsake(r)
		return nil, err
	}
	return r, nil
}

// stamp notes the shards' epochs as ours.
func (s *Sync) stamp(r *rebuilding) {
	for _, shard := range r.shards {
		s.epochs.seen[shard], s.epochs.since[shard] = "~"+r.nonce, s.cfg.Now()
	}
}

// forsake makes the next look take the shards as orphaned.
func (s *Sync) forsake(r *rebuilding) {
	for _, shard := range r.shards {
		s.epochs.since[shard] = time.Time{}
	}
}

// whileRebuilding runs fn, and renews the nonce meanwhile so that no instance takes a long rebuild for a dead one.
func (s *Sync) whileRebuilding(ctx context.Context, r *rebuilding, fn func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		for pause(ctx, s.cfg.OrphanAfter/4) {
			if err := s.renew(context.WithoutCancel(ctx), r); err != nil { // all shards or none, if it can be helped
				cancel(err)
			}
		}
	}()
	err := fn(ctx)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	cancel(nil)
	<-renewed
	return err
}

func (s *Sync) renew(ctx context.Context, r *rebuilding) error {
	next := s.cfg.NewID()
	err := s.swapAll(ctx, r, "~"+next)
	if err == nil {
		r.nonce = next
		s.stamp(r)
	}
	return err
}

// completeRebuild sets the streams' positions back and declares the shards whole.
func (s *Sync) completeRebuild(ctx context.Context, r *rebuilding) error {
	if err := s.store.ResetEventCursors(ctx, r.shards); err != nil {
		return fmt.Errorf("reset cursors: %w", err)
	}
	s.cursors.forget()
	err := s.swapAll(ctx, r, r.nonce)
	if err != nil {
		return err
	}
	for _, shard := range r.shards {
		s.epochs.seen[shard] = r.nonce
	}
	return nil
}

// swapAll changes the epoch of every shard of the rebuild; errTakenOver if one was not as the rebuild left it.
func (s *Sync) swapAll(ctx context.Context, r *rebuilding, next string) error {
	won, err := s.swap(ctx, r.shards, func(uint8) string { return "~" + r.nonce }, next)
	if err == nil && slices.Contains(won, false) {
		err = errTakenOver
	}
	return err
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
