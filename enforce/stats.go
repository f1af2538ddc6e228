package enforce

import (
	"sync"
	"sync/atomic"

	"github.com/pacekeeper/pacekeeper/policy"
)

// Stats counts decisions since a client was made.
type Stats struct {
	Allowed         int64 // codes 0 to 3
	Refused         int64 // codes 10 to 15
	DegradedAllowed int64
	DegradedRefused int64
}

// OtherActions is the name under which actions beyond the first statsMost are counted.
const OtherActions = "other actions"

const statsMost = 64

// Stats answers the counts so far.
func (c *Client) Stats() (all Stats) {
	for _, s := range c.StatsByAction() {
		all.Allowed, all.Refused = all.Allowed+s.Allowed, all.Refused+s.Refused
		all.DegradedAllowed, all.DegradedRefused = all.DegradedAllowed+s.DegradedAllowed, all.DegradedRefused+s.DegradedRefused
	}
	return all
}

// StatsByAction answers the counts so far of each action; package prom hands them to Prometheus.
func (c *Client) StatsByAction() map[string]Stats {
	c.stats.mu.RLock()
	defer c.stats.mu.RUnlock()
	all := make(map[string]Stats, len(c.stats.actions))
	for action, n := range c.stats.actions {
		all[action] = Stats{
			Allowed: n.allowed.Load(), Refused: n.refused.Load(),
			DegradedAllowed: n.degradedAllowed.Load(), DegradedRefused: n.degradedRefused.Load(),
		}
	}
	return all
}

// counters count by action. The zero value is ready; safe for concurrent use.
type counters struct {
	mu      sync.RWMutex
	actions map[string]*counter
}

type counter struct {
	allowed, refused, degradedAllowed, degradedRefused atomic.Int64
}

func (s *counters) of(action string) *counter {
	s.mu.RLock()
	n, ok := s.actions[action]
	s.mu.RUnlock()
	if ok {
		return n
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.actions) >= statsMost {
		action = OtherActions
	}
	if s.actions == nil {
		s.actions = map[string]*counter{}
	}
	if s.actions[action] == nil {
		s.actions[action] = &counter{}
	}
	return s.actions[action]
}

func (s *counters) count(action string, d policy.Decision) {
	n := s.of(action)
	switch {
	case d.Code == policy.AllowedDegraded:
		n.degradedAllowed.Add(1)
	case d.Code == policy.RefusedDegraded:
		n.degradedRefused.Add(1)
	case d.Allowed():
		n.allowed.Add(1)
	default:
		n.refused.Add(1)
	}
}
