package sync

import (
	"context"
	"time"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/store"
)

// claimLimit is how many outbox rows one claim leases.
const claimLimit = 256

// maxHeld bounds the rows that are given back before their lease ends.
const maxHeld = 100_000

// runPoll is lane 3, the net under the others: each second, and when woken, it publishes what still waits in the outbox.
func (s *Sync) runPoll(ctx context.Context) {
	every(ctx, s.cfg.PollEvery, s.pollNow, func(ctx context.Context) {
		began := s.cfg.Now()
		err := s.poll(ctx)
		s.noteError(ctx, lanePoll, err)
		if err == nil || !passing(err) {
			s.polled.Store(true) // one group's own trouble does not count
		}
		if depth, counted := s.countOutbox(ctx); counted && err == nil && depth == 0 {
			s.acquit(ctx, began)
		}
	})
}

// acquit ends the trouble of the lanes that work only when there is something to do: what they left undone before that
// moment has been done by polls, here or elsewhere, for nothing waits any longer.
func (s *Sync) acquit(ctx context.Context, before time.Time) {
	for _, lane := range []string{laneWake, laneNotify, laneComplete} {
		if s.report.troubled(lane, before) {
			s.noteError(ctx, lane, nil)
		}
	}
}

// held are leased rows of shards that are away. They stay leased, so that the poll gets at the rows behind them, until
// a shard comes back or their lease ends. Only the poll touches it.
type held struct {
	ids     []string
	returns int      // of the breaker, when the first was kept
	soon    []string // of shards that are moving: the next poll tries again
}

// poll claims and publishes until nothing waits. Rows that it could not publish because a server is away are given back
// as soon as it makes sense to try again; those of a group with trouble of its own come again when their lease ends.
func (s *Sync) poll(ctx context.Context) error {
	s.release(ctx)
	var trouble error
	for {
		if s.breaker.isAway() {
			return errAway
		}
		rows, err := s.store.ClaimOutbox(ctx, claimLimit, s.cfg.Lease)
		if err != nil {
			return err
		}
		if err := s.publishClaimed(ctx, rows); err != nil {
			trouble = err
		}
		if len(rows) < claimLimit || ctx.Err() != nil || trouble != nil && everybodys(trouble, s.breaker) {
			return trouble
		}
	}
}

func (s *Sync) publishClaimed(ctx context.Context, rows []store.OutboxRow) error {
	jobs, fleet, stale := gather(rows)
	var firstErr error
	for start := 0; start < len(jobs); start += groupsABite {
		bite := jobs[start:min(start+groupsABite, len(jobs))]
		for _, j := range bite {
			s.board.begin(j.group)
		}
		err := s.publishJobs(ctx, bite)
		for _, j := range bite {
			s.board.settle(j.group, j.live, j.failed)
		}
		if err != nil && (everybodys(err, s.breaker) || ctx.Err() != nil) {
			s.giveBack(context.WithoutCancel(ctx), idsOf(rows))
			return err
		}
		s.keep(bite)
		if firstErr == nil {
			firstErr = err
		}
	}
	if len(fleet) > 0 {
		s.fleet.add(fleet, stale)
		poke(s.fleetLook)
	}
	return firstErr
}

// release gives back held rows that may be worth another try.
func (s *Sync) release(ctx context.Context) {
	s.giveBack(ctx, s.held.soon)
	s.held.soon = nil
	if now := s.breaker.returned(); now != s.held.returns {
		s.giveBack(ctx, s.held.ids)
		s.held = held{returns: now}
	}
}

// keep remembers the rows of jobs that failed because their shard is away or moving.
func (s *Sync) keep(jobs []*job) {
	for _, j := range jobs {
		list := &s.held.soon
		if s.breaker.shardAway(enforce.Shard(j.group)) {
			list = &s.held.ids
		}
		if !j.again || len(*list) >= maxHeld {
			continue
		}
		for _, c := range j.changes {
			*list = append(*list, c.OutboxID)
		}
	}
}

// giveBack ends the leases. Rows that were published meanwhile are gone already, or are published once more in vain.
func (s *Sync) giveBack(ctx context.Context, ids []string) {
	if len(ids) == 0 {
		return
	}
	_, err := s.store.ExtendOutbox(ctx, ids, 0)
	s.noteError(ctx, lanePoll, err)
}

func idsOf(rows []store.OutboxRow) []string {
	ids := make([]string, 0, len(rows))
	for _, row := range rows {
		ids = append(ids, row.ID)
	}
	return ids
}

// gather makes one job of all rows of a group, in the order of the rows, and sets the fleet's rows apart; stale says that
// one of those names an action, whose registration changed.
func gather(rows []store.OutboxRow) (jobs []*job, fleet []string, stale bool) {
	byGroup := map[string]*job{}
	for _, row := range rows {
		if row.Kind == store.KindFleet {
			fleet, stale = append(fleet, row.ID), stale || row.Action != ""
			continue
		}
		j := byGroup[row.GroupID]
		if j == nil {
			j = &job{group: row.GroupID, local: true}
			byGroup[row.GroupID] = j
			jobs = append(jobs, j)
		}
		j.changes = append(j.changes, store.Change{
			OutboxID: row.ID, Kind: row.Kind, GroupID: row.GroupID, Action: row.Action, UserID: row.UserID,
			Version: row.Version, At: row.CreatedAt,
		})
	}
	return jobs, fleet, stale
}
