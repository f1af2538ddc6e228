package sync

import (
	"context"
	"sync"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/store"
)

// maxRecent is how many groups the board remembers as published.
const maxRecent = 4096

// board knows which groups are on their way to Redis, which versions arrived of late, and who waits for one. Safe for
// concurrent use.
type board struct {
	mu      sync.Mutex
	closed  bool
	active  map[string]int // jobs queued or under way
	recent  map[string]store.Publication
	waiters map[string][]*waiter
}

type waiter struct {
	version int64
	done    chan struct{}
	pub     store.Publication
	ok      bool
}

func newBoard() *board {
	return &board{active: map[string]int{}, recent: map[string]store.Publication{}, waiters: map[string][]*waiter{}}
}

func (b *board) begin(group string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active[group]++
}

// merged takes back a begin: the change joined a job that is counted already.
func (b *board) merged(group string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.active[group]--; b.active[group] <= 0 {
		delete(b.active, group)
	}
}

// settle ends one job of the group. A nil pub means that it failed, or had no policy in it.
func (b *board) settle(group string, pub *store.Publication, failed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.active[group]--; b.active[group] <= 0 {
		delete(b.active, group)
	}
	if pub != nil {
		b.remember(*pub)
	}
	kept := b.waiters[group][:0]
	for _, w := range b.waiters[group] {
		switch {
		case pub != nil && pub.Version >= w.version:
			w.pub, w.ok = *pub, true
			close(w.done)
		case failed || b.active[group] == 0:
			close(w.done)
		default:
			kept = append(kept, w)
		}
	}
	if len(kept) == 0 {
		delete(b.waiters, group)
		return
	}
	b.waiters[group] = kept
}

func (b *board) remember(pub store.Publication) {
	if len(b.recent) >= maxRecent {
		clear(b.recent)
	}
	if old, ok := b.recent[pub.GroupID]; !ok || old.Order <= pub.Order {
		b.recent[pub.GroupID] = pub
	}
}

// join returns a waiter, settled already if the version arrived; nil if nothing of the group is on its way.
func (b *board) join(group string, version int64) *waiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := &waiter{version: version, done: make(chan struct{})}
	if pub, ok := b.recent[group]; ok && pub.Version >= version {
		w.pub, w.ok = pub, true
		close(w.done)
		return w
	}
	if b.closed || b.active[group] == 0 {
		return nil
	}
	b.waiters[group] = append(b.waiters[group], w)
	return w
}

// leave forgets a waiter that gave up.
func (b *board) leave(group string, w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := b.waiters[group]
	for i := range list {
		if list[i] == w {
			b.waiters[group] = append(list[:i], list[i+1:]...)
			break
		}
	}
	if len(b.waiters[group]) == 0 {
		delete(b.waiters, group)
	}
}

// close answers everybody who still waits.
func (b *board) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, list := range b.waiters {
		for _, w := range list {
			close(w.done)
		}
	}
	clear(b.waiters)
}

// Wait returns when the group's version, or a later one, is in Redis; false when it is not: ctx ended first, Redis is
// away, or publishing failed and waits for its next try. It answers at once when there is nothing to wait for.
func (s *Sync) Wait(ctx context.Context, groupID string, version int64) (store.Publication, bool) {
	w := s.board.join(groupID, version)
	if w == nil {
		return s.published(ctx, groupID, version)
	}
	select {
	case <-w.done:
		return w.pub, w.ok
	case <-ctx.Done():
	case <-s.breaker.whenAway(enforce.Shard(groupID)):
	}
	s.board.leave(groupID, w)
	return w.pub, w.ok // settled just now, perhaps
}

// published asks the database, where every instance notes what it published.
func (s *Sync) published(ctx context.Context, groupID string, version int64) (store.Publication, bool) {
	if s.breaker.shardAway(enforce.Shard(groupID)) {
		return store.Publication{}, false
	}
	record, err := s.store.Policy(ctx, groupID)
	if err != nil || record.Live == nil || record.Live.Version < version {
		return store.Publication{}, false
	}
	return *record.Live, true
}
