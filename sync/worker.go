package sync

import (
	"context"
	"errors"
	"fmt"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// Wake takes a change that was just committed in this process: it publishes it (lane 1) and tells the other instances
// (lane 2). It never blocks. Hand it to store.Config.OnCommit.
func (s *Sync) Wake(c store.Change) {
	s.outgoing.add(c)
	s.enqueue(c, true)
}

// enqueue hands a change to the workers. What cannot be queued is found by the outbox poll.
func (s *Sync) enqueue(c store.Change, local bool) {
	if c.Kind == store.KindFleet {
		if local {
			s.fleet.add([]string{c.OutboxID}, c.Action != "") // the store leased the row to this process
			poke(s.fleetLook)
		}
		return
	}
	s.board.begin(c.GroupID)
	fresh, ok := s.queue.add(c, local)
	switch {
	case !ok:
		s.board.settle(c.GroupID, nil, true)
	case !fresh:
		s.board.merged(c.GroupID)
	}
}

// runWorker publishes what is queued, as many groups at once as have gathered.
func (s *Sync) runWorker(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.queue.ready:
		}
		jobs := s.queue.take(groupsABite)
		if len(jobs) == 0 {
			continue
		}
		s.noteError(ctx, laneWake, s.publishJobs(ctx, jobs))
		for _, j := range jobs {
			s.board.settle(j.group, j.live, j.failed)
		}
		s.announce(ctx, jobs)
	}
}

// announce tells the clients that follow which groups' policies are new in Redis. Nobody waits for it, and a word that is lost
// is not said again: clients read what they know again by themselves.
func (s *Sync) announce(ctx context.Context, jobs []*job) {
	var groups []string
	for _, j := range jobs {
		if j.written && !j.failed {
			groups = append(groups, j.group)
		}
	}
	if len(groups) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	_ = s.publisher.Announce(ctx, groups...)
}

// publishJobs publishes each kind of change once for each group, and marks jobs whose changes are not all in Redis as
// failed. The rows of the others are completed off this path. The error is one of those met. A group that cannot be
// published on its own account, or because its shard is away, does not hold up the others.
func (s *Sync) publishJobs(ctx context.Context, jobs []*job) error {
	here, err := s.within(jobs)
	if len(here) == 0 {
		return s.untold(err)
	}
	if err = s.tryJobs(ctx, here); err == nil || len(here) == 1 || everybodys(err, s.breaker) || ctx.Err() != nil {
		return s.untold(err)
	}
	err = nil
	for _, j := range here {
		if oneErr := s.untold(s.tryJobs(ctx, []*job{j})); oneErr != nil {
			err = fmt.Errorf("group %q: %w", j.group, oneErr)
		}
	}
	return err
}

// untold leaves out that some shards are away: the watch over the epochs tells it.
func (s *Sync) untold(err error) error {
	if errors.Is(err, errAway) && !moving(err) && !s.breaker.isAway() {
		return nil
	}
	return err
}

// within leaves out the jobs of shards that are away, as failed.
func (s *Sync) within(jobs []*job) (here []*job, err error) {
	for _, j := range jobs {
		if s.breaker.shardAway(enforce.Shard(j.group)) {
			j.failed, j.again = true, true
			err = errAway
			continue
		}
		here = append(here, j)
	}
	return here, err
}

// everybodys reports whether err is trouble that no group escapes.
func everybodys(err error, b *breaker) bool {
	return passing(err) && (!errors.Is(err, errAway) || b.isAway())
}

func (s *Sync) tryJobs(ctx context.Context, jobs []*job) error {
	steps := []func(context.Context, []*job) error{s.publishPolicies, s.publishExemptions, s.publishHolds}
	_, err := s.within(jobs)
	for i := 0; err == nil && i < len(steps); i++ {
		err = steps[i](ctx, jobs)
	}
	for _, j := range jobs {
		j.failed, j.again = err != nil, err != nil && passing(err)
		if !j.failed {
			s.completer.add(j)
		}
	}
	return err
}

// passing reports whether err is that a server is away: the same for all groups, and over when it is back.
func passing(err error) bool {
	var e *policy.Error
	return errors.Is(err, errAway) || errors.As(err, &e) && e.Code == policy.CodeUnavailable
}

func (j *job) has(kind store.Kind) bool {
	for _, c := range j.changes {
		if c.Kind == kind {
			return true
		}
	}
	return false
}

func withKind(jobs []*job, kind store.Kind) map[string]*job {
	picked := map[string]*job{}
	for _, j := range jobs {
		if j.has(kind) {
			picked[j.group] = j
		}
	}
	return picked
}
