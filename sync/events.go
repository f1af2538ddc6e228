package sync

import (
	"context"
	"fmt"
	"sync"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// eventsABite is how many events of one shard are read at once.
const eventsABite = 500

// cursors are how far each shard's stream was read. The database keeps them; this is a copy, loaded again when a shard
// was rebuilt or a write failed. Whoever reads or changes them holds Sync.consuming.
type cursors struct {
	loaded bool
	at     map[uint8]string

	mu    sync.Mutex
	stale bool // set from outside: load again
}

func (c *cursors) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = true
}

func (c *cursors) isStale() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	stale := c.stale
	c.stale = false
	return stale
}

// runEvents moves the strikes' mutes and bans from Redis into the database. All instances do it: the database takes each
// event once, whoever brings it.
func (s *Sync) runEvents(ctx context.Context) {
	every(ctx, s.cfg.EventsEvery, nil, func(ctx context.Context) {
		if s.breaker.isAway() {
			return
		}
		s.noteError(ctx, laneEvents, s.consume(ctx, s.breaker.present()))
	})
}

// Drain takes over the events that wait in the stream of the group's shard now, so that a mute can be seen and lifted
// from the moment that a check answered it. CodeUnavailable when Redis or the database is away.
func (s *Sync) Drain(ctx context.Context, groupID string) error {
	shard := enforce.Shard(groupID)
	err := errAway
	if !s.breaker.shardAway(shard) {
		err = s.consume(ctx, []uint8{shard})
	}
	if passing(err) {
		return policy.Errorf(policy.CodeUnavailable, "Redis or the database does not answer")
	}
	return err
}

// consume reads the shards' streams until they are empty, each bite applied in one transaction with its cursors.
func (s *Sync) consume(ctx context.Context, shards []uint8) error {
	select {
	case s.consuming <- struct{}{}:
		defer func() { <-s.consuming }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := s.loadCursors(ctx); err != nil {
		return err
	}
	for {
		from := make(map[uint8]string, len(shards))
		for _, shard := range shards {
			from[shard] = s.cursors.at[shard]
		}
		events, err := s.readEvents(ctx, from)
		if err != nil || len(events) == 0 {
			return err
		}
		if shards, err = s.applyEvents(ctx, events); err != nil {
			s.cursors.loaded = false
			return err
		}
		if len(shards) == 0 {
			return nil
		}
	}
}

// applyEvents hands events to the database and moves on behind them. It returns the shards that may have more.
func (s *Sync) applyEvents(ctx context.Context, events []enforce.Event) (more []uint8, err error) {
	var batches []store.EventBatch
	for _, e := range events { // sorted by shard
		if n := len(batches); n == 0 || batches[n-1].Shard != e.Shard {
			batches = append(batches, store.EventBatch{Shard: e.Shard})
		}
		b := &batches[len(batches)-1]
		b.Cursor = e.ID
		if e.Group != "" {
			b.Events = append(b.Events, holdEvent(e))
		}
	}
	if err := s.store.ApplyEvents(ctx, batches); err != nil {
		return nil, fmt.Errorf("apply events: %w", err)
	}
	s.metrics.events.Add(float64(len(events)))
	counts := map[uint8]int{}
	for _, e := range events {
		counts[e.Shard]++
	}
	for _, b := range batches {
		s.cursors.at[b.Shard] = b.Cursor
		if counts[b.Shard] == eventsABite {
			more = append(more, b.Shard)
		}
	}
	return more, nil
}

func holdEvent(e enforce.Event) store.HoldEvent {
	return store.HoldEvent{
		GroupID: e.Group, Action: e.Action, UserID: e.User, Cause: string(e.Cause), Step: e.Step,
		MuteStartMS: e.MuteStartMS, MuteEndMS: e.MuteEndMS, BanStartMS: e.BanStartMS, BanEndMS: e.BanEndMS,
	}
}

func (s *Sync) loadCursors(ctx context.Context) error {
	if s.cursors.loaded && !s.cursors.isStale() {
		return nil
	}
	at, err := s.store.EventCursors(ctx)
	if err != nil {
		return fmt.Errorf("read cursors: %w", err)
	}
	s.cursors.at, s.cursors.loaded = at, true
	if at == nil {
		s.cursors.at = map[uint8]string{}
	}
	return nil
}

func (s *Sync) readEvents(ctx context.Context, from map[uint8]string) ([]enforce.Event, error) {
	var events []enforce.Event
	err := s.call(ctx, func(ctx context.Context) error {
		var err error
		events, err = s.publisher.ReadEvents(ctx, from, eventsABite)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return events, nil
}
