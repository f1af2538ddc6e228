package api

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
)

// systems remembers what operators have set, so that checks read no database: a system older than a second is refreshed
// beside the request that noticed, and the last known one serves while the database is away. However many requests ask,
// one reading is under way, and one that failed is not repeated for a second. The zero value with read set is ready.
type systems struct {
	read       func(context.Context) (*policy.System, error)
	known      atomic.Pointer[knownSystem]
	refreshing atomic.Bool

	mu      sync.Mutex
	running *reading
	failed  time.Time // of the last reading, zero = it did not fail
}

type knownSystem struct {
	*policy.System
	at time.Time
}

// reading is one question to the database that all who wait for it share. done is closed after failed is set.
type reading struct {
	done   chan struct{}
	failed bool
}

const (
	systemAge  = time.Second
	systemWait = 200 * time.Millisecond // no answer in that time counts as away
)

// get returns the last known system; nil if none was ever read and the database is away.
func (s *systems) get(ctx context.Context, now time.Time) *policy.System {
	known := s.known.Load()
	if known == nil {
		return s.fresh(ctx, now)
	}
	if now.Sub(known.at) > systemAge && s.refreshing.CompareAndSwap(false, true) {
		go func() {
			defer s.refreshing.Store(false)
			s.fresh(context.WithoutCancel(ctx), now)
		}()
	}
	return known.System
}

// fresh returns the system as it is now, but does not wait long; nil if the database is away and was never there. A
// reading that was under way before may miss what the caller is after, so it is followed by another.
func (s *systems) fresh(ctx context.Context, now time.Time) *policy.System {
	for range 2 {
		r, began := s.join(ctx, now)
		if r == nil {
			break
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return s.last()
		}
		if began || r.failed {
			break
		}
	}
	return s.last()
}

// join begins a reading, or returns the one under way; nil if the last one failed a moment ago.
func (s *systems) join(ctx context.Context, now time.Time) (r *reading, began bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		return s.running, false
	}
	if since := now.Sub(s.failed); since >= 0 && since < systemAge {
		return nil, false
	}
	s.running = &reading{done: make(chan struct{})}
	go s.ask(context.WithoutCancel(ctx), now, s.running)
	return s.running, true
}

func (s *systems) ask(ctx context.Context, now time.Time, r *reading) {
	ctx, cancel := context.WithTimeout(ctx, systemWait)
	defer cancel()
	sys, err := s.read(ctx)
	r.failed = err != nil
	s.mu.Lock()
	s.running, s.failed = nil, time.Time{}
	if r.failed {
		s.failed = now
	} else {
		s.keep(sys, now)
	}
	s.mu.Unlock()
	close(r.done)
}

func (s *systems) last() *policy.System {
	if known := s.known.Load(); known != nil {
		return known.System
	}
	return nil
}

// keep remembers a system that was just read or written.
func (s *systems) keep(sys *policy.System, now time.Time) {
	if sys != nil {
		s.known.Store(&knownSystem{System: sys, at: now})
	}
}
