package sync

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pacekeeper/pacekeeper/store"
)

// The lanes and loops, as status, metrics and log name them.
const (
	laneWake      = "wake"     // lane 1, and changes heard from others
	laneNotify    = "notify"   // lane 2, telling
	laneListen    = "listen"   // lane 2, hearing
	lanePoll      = "poll"     // lane 3
	laneComplete  = "complete" // deleting published rows
	lanePasses    = "passes"   // asking for fleet jobs
	laneFleet     = "fleet"    // lane 4, working on them
	laneEpochs    = "epochs"
	laneEvents    = "events"
	laneAudit     = "audit"
	laneCleanup   = "cleanup"
	laneReconcile = "reconcile"
	laneKeys      = "keys" // looking for keys without a time to live
)

// Status tells how publishing is doing, as this instance sees it.
type Status struct {
	Ready   bool
	RedisOK bool
	// ShardsAway is how many of the 256 shards are not answered for: their Redis is away.
	ShardsAway int
	// Lanes are sorted by name; one that never ran is absent.
	Lanes []LaneStatus
	// Queued is how many groups wait for a worker in this process.
	Queued int
	// OutboxDepth counts changes that wait in the database, as of the last poll. OutboxOldest is zero when there are none.
	OutboxDepth  int64
	OutboxOldest time.Time
	// Of the 256 shards, CompleteShards are whole, RebuildingShards under way (here or elsewhere), the rest missing.
	CompleteShards   int
	RebuildingShards int
	Fleet            FleetStatus
	Reconcile        ReconcileStatus
	// Lag is from commit to visible, of the last 1,024 policies that this instance published.
	Lag LagStatus
}

// LaneStatus is one lane. Error is "" while it works; Since is when the present state began; At is its last round.
type LaneStatus struct {
	Name  string
	Error string
	Since time.Time
	At    time.Time
}

// LagStatus are quantiles; zero when Count is.
type LagStatus struct {
	Count         int
	P50, P99, Max time.Duration
}

// Status reads the present state; it asks no server.
func (s *Sync) Status() Status {
	status := s.report.status()
	status.Ready = s.Ready() == nil
	status.ShardsAway = s.breaker.awayCount()
	status.RedisOK = status.ShardsAway == 0
	status.Queued = s.queue.depth()
	return status
}

const lagsKept = 1024

// report gathers what Status tells. Safe for concurrent use.
type report struct {
	mu         sync.Mutex
	lanes      map[string]*LaneStatus
	state      Status
	fleetMoved time.Time // when the fleet job was seen to get on
	lags       []time.Duration
	lagAt      int
}

func newReport() *report { return &report{lanes: map[string]*LaneStatus{}} }

// outcome notes one round of a lane, and tells whether trouble began or ended with it.
func (r *report) outcome(lane string, err error, now time.Time) (began, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.lanes[lane]
	if l == nil {
		l = &LaneStatus{Name: lane, Since: now}
		r.lanes[lane] = l
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	began, ended = l.Error == "" && text != "", l.Error != "" && text == ""
	if began || ended {
		l.Since = now
	}
	l.Error, l.At = text, now
	return began, ended
}

// troubled says that the lane is in trouble since a round before that moment.
func (r *report) troubled(lane string, before time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.lanes[lane]
	return l != nil && l.Error != "" && l.At.Before(before)
}

func (r *report) lag(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lags) < lagsKept {
		r.lags = append(r.lags, d)
		return
	}
	r.lags[r.lagAt] = d
	r.lagAt = (r.lagAt + 1) % lagsKept
}

func (r *report) outbox(st store.SyncStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.OutboxDepth, r.state.OutboxOldest = st.OutboxDepth, st.Oldest
}

func (r *report) shards(complete, rebuilding int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.CompleteShards, r.state.RebuildingShards = complete, rebuilding
}

func (r *report) status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	status := r.state
	status.Lag = quantiles(r.lags)
	for _, name := range slices.Sorted(maps.Keys(r.lanes)) {
		status.Lanes = append(status.Lanes, *r.lanes[name])
	}
	return status
}

func quantiles(lags []time.Duration) LagStatus {
	if len(lags) == 0 {
		return LagStatus{}
	}
	sorted := slices.Sorted(slices.Values(lags))
	at := func(percent int) time.Duration { return sorted[min(len(sorted)*percent/100, len(sorted)-1)] }
	return LagStatus{Count: len(sorted), P50: at(50), P99: at(99), Max: sorted[len(sorted)-1]}
}
