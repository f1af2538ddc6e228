package sync

import (
	"context"

	"github.com/pacekeeper/pacekeeper/store"
)

// claimLimit is how many outbox rows one claim leases.
const claimLimit = 256

// runPoll is lane 3, the net under the others: each second, and when woken, it publishes what still waits in the outbox.
func (s *Sync) runPoll(ctx context.Context) {
	every(ctx, s.cfg.PollEvery, s.pollNow, func(ctx context.Context) {
		err := s.poll(ctx)
		s.noteError(ctx, lanePoll, err)
		if err == nil || !passing(err) {
			s.polled.Store(true) // one group's own trouble does not count
		}
		s.countOutbox(ctx)
	})
}

// poll claims and publishes until nothing waits. Rows that it could not publish because a server is away are given back
// at once; those of a group with trouble of its own come again when their lease ends.
func (s *Sync) poll(ctx context.Context) error {
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
		if len(rows) < claimLimit || ctx.Err() != nil || trouble != nil && passing(trouble) {
			return trouble
		}
	}
}

func (s *Sync) publishClaimed(ctx context.Context, rows []store.OutboxRow) error {
	jobs, fleet := gather(rows)
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
		if err != nil && (passing(err) || ctx.Err() != nil) {
			s.giveBack(context.WithoutCancel(ctx), idsOf(rows))
			return err
		}
		if firstErr == nil {
			firstErr = err
		}
	}
	if len(fleet) > 0 {
		s.fleet.add(fleet)
	}
	return firstErr
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

// gather makes one job of all rows of a group, in the order of the rows, and sets the fleet's rows apart.
func gather(rows []store.OutboxRow) (jobs []*job, fleet []string) {
	byGroup := map[string]*job{}
	for _, row := range rows {
		if row.Kind == store.KindFleet {
			fleet = append(fleet, row.ID)
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
	return jobs, fleet
}
