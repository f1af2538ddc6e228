package sync

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/store"
)

// pass is what this instance wants published wholly, with exemptions and holds: every shard at its start; later those whose
// master came back or is another one, for it may have less, or older things. Safe for concurrent use.
type pass struct {
	mu      sync.Mutex
	due     [enforce.Shards]bool // not asked for yet
	count   int                  // of them
	began   bool                 // some was asked for
	awaited int64                // the highest number that was
}

// need makes shards due.
func (p *pass) need(shards []uint8) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, shard := range shards {
		if !p.due[shard] {
			p.due[shard] = true
			p.count++
		}
	}
}

// asked notes that shards are asked for under a number.
func (p *pass) asked(shards []uint8, number int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, shard := range shards {
		if p.due[shard] {
			p.due[shard] = false
			p.count--
		}
	}
	p.began, p.awaited = true, max(p.awaited, number)
}

// dueOf are those of the shards that are due; first says that none was ever asked for.
func (p *pass) dueOf(shards []uint8) (due []uint8, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, shard := range shards {
		if p.due[shard] {
			due = append(due, shard)
		}
	}
	return due, !p.began
}

// settled says that nothing is due, and that what was asked for is done: all askings up to ended.
func (p *pass) settled(ended int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.began && p.count == 0 && ended >= p.awaited
}

// askDue asks for the shards that are due, have answered and are not lost. Later than at the start, one that has been seen
// to become half built just now is left to that rebuild, which began in the master's present life.
func (s *Sync) askDue(ctx context.Context, looks *[enforce.Shards]enforce.ShardLook) error {
	var here, fresh []uint8
	for i, look := range looks {
		switch {
		case look.Err != nil || look.Epoch == "":
		case s.epochs.fresh[i] && strings.HasPrefix(look.Epoch, "~"):
			fresh = append(fresh, uint8(i))
		default:
			here = append(here, uint8(i))
		}
	}
	if built, first := s.pass.dueOf(fresh); first {
		here = append(here, built...)
	} else {
		s.pass.asked(built, 0)
	}
	due, first := s.pass.dueOf(here)
	if len(due) == 0 {
		return nil
	}
	ask := store.FleetAsk{Shards: due, Reason: reasonStart, Whole: true, Stale: true, Join: true, JoinAfter: -1}
	if !first {
		status, err := s.store.FleetStatus(ctx)
		if err != nil {
			return fmt.Errorf("read the fleet job: %w", err)
		}
		ask.Reason, ask.JoinAfter = reasonRedis, status.Number
	}
	number, err := s.ask(ctx, ask)
	if err == nil {
		s.pass.asked(due, number)
	}
	return err
}
