package sync

import (
	"context"
	"sync"
	"time"

	"github.com/pacekeeper/pacekeeper/store"
)

const (
	completeEvery = 20 * time.Millisecond // how long completions gather
	completeBatch = 500                   // rows in one transaction
)

// completer deletes outbox rows whose changes are in Redis, and notes what is live. It works in batches, off the path
// from commit to Redis; rows that it loses are published once more by the poll, which changes nothing. Safe for
// concurrent use.
type completer struct {
	mu    sync.Mutex
	ids   []string
	pubs  map[string]store.Publication
	ready chan struct{}
}

func newCompleter() *completer {
	return &completer{pubs: map[string]store.Publication{}, ready: make(chan struct{}, 1)}
}

// add notes a job that is done. A job of another instance that wrote nothing is completed there.
func (c *completer) add(j *job) {
	if !j.local && !j.written && j.live != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, change := range j.changes {
		c.ids = append(c.ids, change.OutboxID)
	}
	if j.live != nil {
		c.note(*j.live)
	}
	poke(c.ready)
}

func (c *completer) note(pub store.Publication) {
	if old, ok := c.pubs[pub.GroupID]; !ok || old.Order <= pub.Order {
		c.pubs[pub.GroupID] = pub
	}
}

// take removes a batch; the publications go with the first.
func (c *completer) take() (ids []string, pubs []store.Publication) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(c.ids), completeBatch)
	ids, c.ids = c.ids[:n:n], c.ids[n:]
	for _, pub := range c.pubs {
		pubs = append(pubs, pub)
	}
	clear(c.pubs)
	return ids, pubs
}

// runCompleter writes what gathered. At the end it writes once more, so that a drained instance leaves nothing behind.
func (s *Sync) runCompleter(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.CallTimeout)
			defer cancel()
			s.complete(last)
			return
		case <-s.completer.ready:
		}
		s.complete(ctx)
		pause(ctx, completeEvery)
	}
}

func (s *Sync) complete(ctx context.Context) {
	for {
		ids, pubs := s.completer.take()
		if len(ids) == 0 && len(pubs) == 0 {
			return
		}
		err := s.store.CompleteOutbox(ctx, ids, pubs)
		s.noteError(ctx, laneComplete, err)
		if err != nil {
			return // the rows stay, and the poll finds them
		}
	}
}
