package api

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
)

// systems remembers what operators have set, so that checks read no database: a system older than a second is refreshed
// beside the request that noticed, and the last known one serves while the database is away. The zero value with read
// set is ready.
type systems struct {
	read       func(context.Context) (*policy.System, error)
	known      atomic.Pointer[knownSystem]
	refreshing atomic.Bool
	first      sync.Mutex
}

type knownSystem struct {
	*policy.System
	at time.Time
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

// fresh reads now, but not for long; nil if the database is away and was never there.
func (s *systems) fresh(ctx context.Context, now time.Time) *policy.System {
	s.first.Lock()
	defer s.first.Unlock()
	ctx, cancel := context.WithTimeout(ctx, systemWait)
	defer cancel()
	if sys, err := s.read(ctx); err == nil {
		s.keep(sys, now)
	}
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
