package sync

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/store"
)

const (
	fleetWorkers  = 2    // an instance, each with a connection to the database and one or two calls to Redis
	groupsAClaim  = 4000 // about; a claim of a small fleet has many shards
	shardsAClaim  = 64
	leasesRenewed = 3 // times while a lease lasts
	// fleetHelpEvery is how often further workers look without being woken.
	fleetHelpEvery = 10 * time.Second
)

// errClaimLost ends work on shards that are somebody else's by now: this instance stood still for longer than its lease.
var errClaimLost = errors.New("sync: the claim was lost")

// runFleet is one worker of lane 4: it claims shards of the fleet job and publishes their groups, until none are left.
// While a job is paced only the first worker is at it; the others are woken by one that has a claim of a job that is not.
func (s *Sync) runFleet(ctx context.Context, worker int) {
	by := store.FleetClaimer{
		Taker: s.instance + "/" + strconv.Itoa(worker), Format: enforce.HashFormat, Lease: s.cfg.FleetLease,
	}
	look, wake := s.cfg.FleetEvery, s.fleetWork
	if worker > 0 {
		look, wake = fleetHelpEvery, s.fleetHelp
	}
	every(ctx, look, wake, func(ctx context.Context) {
		reader := s.store.FleetReader()
		defer reader.Close(ctx)
		for more := true; more && ctx.Err() == nil && !s.breaker.isAway(); {
			var err error
			more, err = s.workFleet(ctx, by, reader, worker)
			if err != nil || more {
				s.noteError(ctx, laneFleet, err)
			}
		}
	})
}

// workFleet does one claim; more = there may be another.
func (s *Sync) workFleet(ctx context.Context, by store.FleetClaimer, reader *store.FleetReader, worker int) (more bool, err error) {
	status, err := s.store.FleetStatus(ctx)
	switch {
	case err != nil:
		return false, fmt.Errorf("read the fleet job: %w", err)
	case !status.Running():
		s.noteError(ctx, laneFleet, nil) // what was in the way is over
		return false, nil
	case worker > 0 && !status.Unpaced:
		return false, nil
	}
	by.Shards = s.breaker.present()
	claim, err := s.store.ClaimFleet(ctx, by, claimSize(status.About))
	if err != nil {
		return false, fmt.Errorf("claim shards: %w", err)
	}
	if len(claim) == 0 {
		return false, nil // others have the rest
	}
	if status.Unpaced {
		poke(s.fleetHelp) // there may be enough for the other worker
	}
	return s.workClaim(ctx, by, reader, claim)
}

// claimSize is how many shards have about as many groups as a claim should.
func claimSize(about int64) int {
	return int(min(max(groupsAClaim*enforce.Shards/max(about, 1), 1), shardsAClaim))
}

// workClaim publishes a claim. If it cannot, others may take the claim at once.
func (s *Sync) workClaim(ctx context.Context, by store.FleetClaimer, reader *store.FleetReader, claim []store.FleetShard) (bool, error) {
	w, rebuilt := newSweep(s, reader, claim), 0
	err := s.whileClaimed(ctx, by, claim, &w.done, func(ctx context.Context) (err error) {
		rebuilt, err = s.publishClaim(ctx, w, claim)
		return err
	})
	s.metrics.rebuilds.Add(float64(rebuilt))
	if errors.Is(err, errClaimLost) {
		return true, nil
	}
	if err != nil {
		s.noteError(ctx, laneFleet, s.store.GiveFleetBack(context.WithoutCancel(ctx), by, claim))
		return false, err
	}
	end, err := s.store.EndFleetShards(ctx, by, claim, w.done.Load())
	if err != nil {
		return false, fmt.Errorf("end shards: %w", err)
	}
	if end.Over {
		s.fleetEnded(ctx)
	}
	return true, nil
}

// whileClaimed runs fn and renews the lease of the claim meanwhile, with the groups done so far. It ends fn when the
// claim is lost.
func (s *Sync) whileClaimed(
	ctx context.Context, by store.FleetClaimer, claim []store.FleetShard, done *atomic.Int64, fn func(context.Context) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		for pause(ctx, by.Lease/leasesRenewed) {
			held, err := s.store.RenewFleet(ctx, by, claim, done.Load())
			if err == nil && !held {
				cancel(errClaimLost)
			}
		}
	}()
	err := fn(ctx)
	if errors.Is(context.Cause(ctx), errClaimLost) {
		err = errClaimLost
	}
	cancel(nil)
	<-renewed
	return err
}

// FleetStatus is the present fleet job, which publishes every group anew, or the last one.
type FleetStatus struct {
	Running bool
	Reason  string // change, start, redis or rebuild; "" = there was none yet
	By      string // the instance that asked for it
	Paced   bool
	BeganAt time.Time // zero = there was none yet
	EndedAt time.Time // of the last that ended; zero = none
	Took    time.Duration
	Shards  int64 // of this job
	Done    int64 // of them, that are all in Redis
	Groups  int64 // published so far, or by the last job
	About   int64 // groups that there are to publish, roughly
	// Rate is in groups a second since the beginning, or of the last job; 0 = unknown.
	Rate float64
	// Left is how long the rest takes at that rate; 0 = unknown, or nothing runs.
	Left   time.Duration
	Takers []string // who is at work: instances and their workers
}

// noteFleet takes in how far the job is.
func (s *Sync) noteFleet(f store.FleetStatus) {
	status := FleetStatus{
		Running: f.Running(), Reason: f.Reason, By: f.AskedBy, Paced: !f.Unpaced, BeganAt: f.BeganAt, EndedAt: f.EndedAt,
		Took: time.Duration(f.TookMS) * time.Millisecond, Shards: f.Shards, Done: f.Shards - f.Left,
		Groups: f.Groups, About: max(f.About, f.Groups), Takers: f.Takers,
	}
	spent := status.Took
	if status.Running {
		spent = s.cfg.Now().Sub(f.BeganAt)
	}
	if spent > 0 {
		status.Rate = float64(status.Groups) / spent.Seconds()
	}
	if status.Running && status.Rate > 0 {
		status.Left = time.Duration(float64(status.About-status.Groups) / status.Rate * float64(time.Second))
	}
	s.report.fleet(status, s.cfg.Now())
	s.metrics.fleet(status)
}

func (r *report) fleet(f FleetStatus, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if before := r.state.Fleet; f.Groups != before.Groups || f.Done != before.Done {
		r.fleetMoved = now
	}
	r.state.Fleet = f
}

// fleetStands is how long a job may be without progress before others stop making room for it.
const fleetStands = 3 * time.Second

// fleetMoves says that a fleet job runs and gets on.
func (r *report) fleetMoves(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Fleet.Running && now.Sub(r.fleetMoved) < fleetStands
}
