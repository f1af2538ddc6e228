package sync

import (
	"sync"

	"github.com/pacekeeper/pacekeeper/store"
)

const (
	maxQueued   = 20_000 // groups; beyond it changes are left to the outbox poll
	groupsABite = 32     // groups that a worker takes at once
)

// job is what is to be published of one group: any number of changes, published as one.
type job struct {
	group   string
	changes []store.Change
	local   bool // made in this process: its outbox row is ours to complete
	failed  bool
	again   bool // failed because a server is away, or its shard is moving
	written bool // Redis changed by it
	live    *store.Publication
}

// queue holds the groups that wait for a worker, oldest first. A change of a group that waits already joins it. Safe for
// concurrent use.
type queue struct {
	mu      sync.Mutex
	waiting map[string]*job
	order   []*job
	ready   chan struct{}
}

func newQueue() *queue {
	return &queue{waiting: map[string]*job{}, ready: make(chan struct{}, 1)}
}

// add reports whether the change began a new job, and whether there was room for it.
func (q *queue) add(c store.Change, local bool) (fresh, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	j := q.waiting[c.GroupID]
	if j == nil {
		if len(q.order) >= maxQueued {
			return false, false
		}
		j = &job{group: c.GroupID}
		q.waiting[c.GroupID] = j
		q.order = append(q.order, j)
		fresh = true
	}
	j.changes = append(j.changes, c)
	j.local = j.local || local
	poke(q.ready)
	return fresh, true
}

// take removes up to limit jobs. It wakes a further worker if some are left.
func (q *queue) take(limit int) []*job {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(limit, len(q.order))
	jobs := make([]*job, n)
	copy(jobs, q.order)
	q.order = q.order[n:]
	for _, j := range jobs {
		delete(q.waiting, j.group)
	}
	if len(q.order) == 0 {
		q.order = nil
	} else {
		poke(q.ready)
	}
	return jobs
}

func (q *queue) depth() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.order)
}
