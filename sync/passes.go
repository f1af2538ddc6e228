package sync

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/store"
)

// Why a fleet job runs, as status and log say it.
const (
	reasonChange  = "change"  // bounds, defaults or registry
	reasonStart   = "start"   // an instance began, perhaps of a newer program
	reasonRedis   = "redis"   // Redis came back, perhaps with older things
	reasonRebuild = "rebuild" // shards of Redis were lost
)

// fleetRows are the claimed outbox rows that ask for the whole fleet to be published. Safe for concurrent use.
type fleetRows struct {
	mu      sync.Mutex
	waiting []string
	stale   bool // one of them changed the registry: what documents publish may be less
	ready   chan struct{}
}

func newFleetRows() *fleetRows { return &fleetRows{ready: make(chan struct{}, 1)} }

func (f *fleetRows) add(ids []string, stale bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting, f.stale = append(f.waiting, ids...), f.stale || stale
	poke(f.ready)
}

func (f *fleetRows) take() (ids []string, stale bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ids, stale = f.waiting, f.stale
	f.waiting, f.stale = nil, false
	return ids, stale
}

// runPasses asks for fleet jobs when bounds, defaults or the registry changed (rows of the outbox, claimed by one instance),
// and tells how jobs come along.
func (s *Sync) runPasses(ctx context.Context) {
	every(ctx, s.cfg.FleetEvery, s.fleetLook, func(ctx context.Context) {
		err := s.askForRows(ctx)
		if err == nil {
			err = s.followFleet(ctx)
		}
		s.noteError(ctx, lanePasses, err)
	})
}

// askForRows makes a job of the rows that wait; they go with the asking. If it fails they are given back.
func (s *Sync) askForRows(ctx context.Context) error {
	ids, stale := s.fleet.take()
	if len(ids) == 0 {
		return nil
	}
	_, err := s.ask(ctx, store.FleetAsk{Reason: reasonChange, Stale: stale, OutboxIDs: ids})
	if err != nil {
		s.giveBack(ctx, ids)
	}
	return err
}

func (s *Sync) ask(ctx context.Context, ask store.FleetAsk) (number int64, err error) {
	ask.By, ask.Format = s.instance, enforce.HashFormat
	number, err = s.store.AskFleet(ctx, ask)
	if err != nil {
		return 0, fmt.Errorf("ask for a fleet job: %w", err)
	}
	s.wakeFleet(ctx)
	return number, nil
}

// wakeFleet wakes the workers here and elsewhere; those who do not hear it look each second.
func (s *Sync) wakeFleet(ctx context.Context) {
	poke(s.fleetWork)
	poke(s.fleetLook)
	s.noteError(ctx, laneNotify, s.store.Notify(ctx, s.instance+fleetWord))
}

// followFleet takes in how far the job is, and whether all that this instance waited for is done.
func (s *Sync) followFleet(ctx context.Context) error {
	status, err := s.store.FleetStatus(ctx)
	if err != nil {
		return fmt.Errorf("read the fleet job: %w", err)
	}
	s.noteFleet(status)
	if s.pass.settled(status.Ended) && !s.passed.Swap(true) {
		s.log.LogAttrs(ctx, slog.LevelInfo, "first pass complete", slog.Int64("groups", status.Groups), slog.Int64("took_ms", status.TookMS))
	}
	return nil
}
