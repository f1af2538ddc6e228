package sync

import (
	"context"
	"log/slog"
	"sync"
)

// fleetRows are the claimed outbox rows that ask for the whole fleet to be published. Safe for concurrent use.
type fleetRows struct {
	mu      sync.Mutex
	waiting []string
	ready   chan struct{}
}

func newFleetRows() *fleetRows { return &fleetRows{ready: make(chan struct{}, 1)} }

func (f *fleetRows) add(ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting = append(f.waiting, ids...)
	poke(f.ready)
}

func (f *fleetRows) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids := f.waiting
	f.waiting = nil
	return ids
}

func (f *fleetRows) list() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.waiting...)
}

// runPasses publishes the fleet: when bounds, defaults or the registry changed (rows of the outbox, claimed by one
// instance), and wholly, with exemptions and holds, at the start and when Redis comes back. One pass runs at a time;
// what was asked for meanwhile is one further pass.
func (s *Sync) runPasses(ctx context.Context) {
	for {
		full := false
		select {
		case <-ctx.Done():
			return
		case <-s.passNow:
			full = true
		case <-s.fleet.ready:
		}
		ids := s.fleet.take()
		if !full && len(ids) == 0 {
			continue
		}
		s.pass(ctx, ids, full)
	}
}

// pass runs one sweep over all groups and completes its rows. If it fails because a server is away the rows are given
// back and a full pass is asked for again; else they come again when their lease ends.
func (s *Sync) pass(ctx context.Context, ids []string, full bool) {
	began := s.cfg.Now()
	done := s.report.passBegan()
	err := s.whileLeased(ctx, ids, (&sweep{sync: s, full: full, stale: full, done: done}).run)
	s.noteError(ctx, laneFleet, err)
	if err == nil {
		took := s.cfg.Now().Sub(began)
		s.report.passEnded(began, took)
		s.metrics.passes.Observe(took.Seconds())
		s.completer.addRows(ids)
		if full && !s.passed.Swap(true) {
			s.log.LogAttrs(ctx, slog.LevelInfo, "first pass complete",
				slog.Int64("groups", done.Load()), slog.Int64("took_ms", took.Milliseconds()))
		}
		return
	}
	s.report.passEnded(began, 0)
	if passing(err) {
		s.giveBack(ctx, ids)
	}
	if full {
		s.passDue.Store(true) // the next look at the epochs asks again
	}
}

// whileLeased runs fn and renews the leases of the rows meanwhile, and of those that wait for the next pass.
func (s *Sync) whileLeased(ctx context.Context, ids []string, fn func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for more := true; more; more = pause(ctx, s.cfg.Lease/3) {
			if held := append(s.fleet.list(), ids...); len(held) > 0 {
				_, err := s.store.ExtendOutbox(ctx, held, s.cfg.Lease)
				s.noteError(ctx, laneFleet, err)
			}
		}
	})
	err := fn(ctx)
	cancel()
	renewing.Wait()
	return err
}
