package main

import (
	"time"

	"github.com/pacekeeper/pacekeeper/api"
	policysync "github.com/pacekeeper/pacekeeper/sync"
)

// syncStatus puts what sync reports into the words of the API, which does not know sync.
func syncStatus(s policysync.Status) api.SyncStatus {
	lanes := make([]api.SyncLane, 0, len(s.Lanes))
	for _, lane := range s.Lanes {
		lanes = append(lanes, api.SyncLane{Name: lane.Name, Error: lane.Error, Since: lane.Since, At: lane.At})
	}
	return api.SyncStatus{
		Ready: s.Ready, RedisOk: s.RedisOK, Lanes: lanes, Queued: int64(s.Queued),
		OutboxDepth: s.OutboxDepth, OutboxOldestAt: moment(s.OutboxOldest),
		CompleteShards: int64(s.CompleteShards), RebuildingShards: int64(s.RebuildingShards),
		LastPass: api.SyncPass{
			Running: s.LastPass.Running, At: moment(s.LastPass.At), TookMs: milliseconds(s.LastPass.Took), Groups: s.LastPass.Groups,
		},
		Reconcile: api.SyncReconcile{
			At: moment(s.Reconcile.At), TookMs: milliseconds(s.Reconcile.Took), Groups: s.Reconcile.Groups,
			Repaired: s.Reconcile.Repaired, Ahead: s.Reconcile.Ahead,
		},
		Lag: api.SyncLag{
			Count: int64(s.Lag.Count), P50Ms: milliseconds(s.Lag.P50), P99Ms: milliseconds(s.Lag.P99), MaxMs: milliseconds(s.Lag.Max),
		},
	}
}

// moment is nil for the zero time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
