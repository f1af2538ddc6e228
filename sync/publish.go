package sync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// publishPolicies publishes the policies, notices and withdrawals of the jobs that have a change of them, from one
// reading of their rows.
func (s *Sync) publishPolicies(ctx context.Context, jobs []*job) error {
	picked := withKind(jobs, store.KindPolicy)
	if len(picked) == 0 {
		return nil
	}
	rows, err := s.store.PublishRows(ctx, slices.Collect(maps.Keys(picked)))
	if err != nil {
		return fmt.Errorf("read groups: %w", err)
	}
	if err := s.learn(ctx, rows); err != nil {
		return err
	}
	calls := map[uint8]*call{}
	lives := map[string]store.Publication{}
	for _, row := range rows {
		pubs, order, err := s.compileWithWithdrawals(ctx, row)
		if err != nil {
			return err
		}
		if calls[row.Shard] == nil {
			calls[row.Shard] = &call{shard: row.Shard}
		}
		calls[row.Shard].pubs = append(calls[row.Shard].pubs, pubs...)
		lives[row.GroupID] = store.Publication{GroupID: row.GroupID, Version: row.Version, Order: order}
	}
	if err := s.publishCalls(ctx, slices.Collect(maps.Values(calls))); err != nil {
		return err
	}
	for group, j := range picked {
		if live, ok := lives[group]; ok { // else it is not registered: nothing to publish, its row is done with
			j.written = calls[enforce.Shard(group)].written > 0
			s.noteLive(j, live)
		}
	}
	return nil
}

// call is one guarded call: publications of one shard.
type call struct {
	shard   uint8
	pubs    []enforce.Publication
	written int // keys that Redis changed
}

// publishCalls makes the calls, a few at a time.
func (s *Sync) publishCalls(ctx context.Context, calls []*call) error {
	return inParallel(len(calls), func(i int) error { return s.publishCall(ctx, calls[i]) })
}

func (s *Sync) publishCall(ctx context.Context, c *call) error {
	return s.publishBy(ctx, s.publisher, c)
}

func (s *Sync) publishBy(ctx context.Context, p *enforce.Publisher, c *call) error {
	if len(c.pubs) == 0 {
		return nil
	}
	return s.callShard(ctx, c.shard, func(ctx context.Context) error {
		results, err := p.Publish(ctx, c.shard, c.pubs)
		if err != nil {
			return fmt.Errorf("publish shard %d: %w", c.shard, err)
		}
		c.written = s.metrics.count(results)
		return nil
	})
}

// noteLive notes what is live now, and how long it took from the commit.
func (s *Sync) noteLive(j *job, live store.Publication) {
	live.At = s.cfg.Now()
	lag := j.lag(live.At)
	live.LagMS = lag.Milliseconds()
	j.live = &live
	if j.local {
		s.metrics.lag.Observe(lag.Seconds())
		s.report.lag(lag)
	}
}

// lag is the time since the newest document change of the job was committed; never negative.
func (j *job) lag(now time.Time) time.Duration {
	var newest time.Time
	for _, c := range j.changes {
		if c.Kind == store.KindPolicy && c.At.After(newest) {
			newest = c.At
		}
	}
	return max(0, now.Sub(newest))
}

func isNotFound(err error) bool {
	var e *policy.Error
	return errors.As(err, &e) && e.Code == policy.CodeNotFound
}
