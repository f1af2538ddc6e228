package main

import (
	"time"

	"github.com/pacekeeper/pacekeeper/api"
	policysync "github.com/pacekeeper/pacekeeper/sync"
	"github.com/pacekeeper/pacekeeper/ui"
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
		Fleet: syncFleet(s.Fleet),
		Reconcile: api.SyncReconcile{
			At: moment(s.Reconcile.At), TookMs: milliseconds(s.Reconcile.Took), Groups: s.Reconcile.Groups,
			Repaired: s.Reconcile.Repaired, Ahead: s.Reconcile.Ahead,
		},
		Lag: api.SyncLag{
			Count: int64(s.Lag.Count), P50Ms: milliseconds(s.Lag.P50), P99Ms: milliseconds(s.Lag.P99), MaxMs: milliseconds(s.Lag.Max),
		},
	}
}

func syncFleet(f policysync.FleetStatus) api.SyncFleet {
	takers := f.Takers
	if takers == nil {
		takers = []string{}
	}
	return api.SyncFleet{
		Running: f.Running, Reason: f.Reason, By: f.By, Paced: f.Paced, BeganAt: moment(f.BeganAt), EndedAt: moment(f.EndedAt),
		TookMs: milliseconds(f.Took), Shards: f.Shards, ShardsDone: f.Done, Groups: f.Groups, GroupsAbout: f.About,
		GroupsPerSecond: f.Rate, LeftMs: milliseconds(f.Left), Takers: takers,
	}
}

// pageStatus puts it into the words of the pages.
func pageStatus(s policysync.Status) ui.SyncState {
	lanes := make([]ui.SyncLane, 0, len(s.Lanes))
	for _, lane := range s.Lanes {
		lanes = append(lanes, ui.SyncLane{Name: lane.Name, Error: lane.Error, Since: lane.Since, At: lane.At})
	}
	return ui.SyncState{
		Ready: s.Ready, ShardsAway: s.ShardsAway, Lanes: lanes, Waiting: s.OutboxDepth, Oldest: s.OutboxOldest,
		CompleteShards: s.CompleteShards, RebuildingShards: s.RebuildingShards,
		Fleet: ui.SyncFleet{
			Running: s.Fleet.Running, Reason: s.Fleet.Reason, Began: s.Fleet.BeganAt, Ended: s.Fleet.EndedAt, Took: s.Fleet.Took,
			Groups: s.Fleet.Groups, About: s.Fleet.About, Rate: s.Fleet.Rate, Left: s.Fleet.Left,
		},
		Reconcile: ui.SyncReconcile{
			At: s.Reconcile.At, Took: s.Reconcile.Took, Groups: s.Reconcile.Groups, Repaired: s.Reconcile.Repaired,
			Ahead: s.Reconcile.Ahead,
		},
		Lag: ui.SyncLag{Count: s.Lag.Count, P50: s.Lag.P50, P99: s.Lag.P99, Max: s.Lag.Max},
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
