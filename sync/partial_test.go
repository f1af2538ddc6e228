package sync_test

import (
	"context"
	"io"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	policysync "github.com/pacekeeper/pacekeeper/sync"
)

// cutter loses the last reply of pipelines that read hashes, or glance at them.
type cutter struct {
	on *atomic.Bool
}

func (c cutter) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (c cutter) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (c cutter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		if last := cmds[len(cmds)-1]; c.on.Load() && (last.Name() == "hgetall" || last.Name() == "exists") {
			last.SetErr(io.ErrUnexpectedEOF)
		}
		return err
	}
}

// TestNothingIsMendedFromAPartialRead loses one reply of each look: damage stays until all can be read.
func TestNothingIsMendedFromAPartialRead(t *testing.T) {
	t.Parallel()
	at := real(t)
	options := *at.rdb.(*redis.Client).Options()
	rdb := redis.NewClient(&options)
	t.Cleanup(func() { _ = rdb.Close() })
	var on atomic.Bool
	rdb.AddHook(cutter{on: &on})
	a := prepare(t, at, rdb, steadily).run(t).ready(t)
	a.furnish(t, []string{"g1", "g2"})
	a.reconciled(t)
	on.Store(true)
	failedAt := func() time.Time {
		lanes := a.Status().Lanes
		i := slices.IndexFunc(lanes, func(l policysync.LaneStatus) bool { return l.Name == "reconcile" && l.Error != "" })
		if i < 0 {
			return time.Time{}
		}
		return lanes[i].At
	}
	eventually(t, "passes fail", func() bool { return !failedAt().IsZero() })
	key := at.keys.Policy("message", "g1")
	if err := at.rdb.HSet(t.Context(), key, "min_interval_ms", "0").Err(); err != nil {
		t.Fatal(err)
	}
	damaged := time.Now()
	eventually(t, "further passes failed", func() bool { return failedAt().After(damaged.Add(50 * time.Millisecond)) })
	if got := at.field(t, key, "min_interval_ms"); got != "0" || a.Drift("fields") != 0 {
		t.Errorf("min_interval_ms %s, %v counted", got, a.Drift("fields"))
	}
	on.Store(false)
	eventually(t, "mended", func() bool { return at.field(t, key, "min_interval_ms") == "1000" })
}
