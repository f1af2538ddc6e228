package store_test

import (
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// BenchmarkUpdatePolicy saves changed documents of 1,000 groups from 32 writers, on a Postgres of its own with fsync on.
// The load generator shares the machine. Reported: saves a second.
func BenchmarkUpdatePolicy(b *testing.B) {
	server := pgtest.Start(b, pgtest.Options{Fsync: true})
	s := pgtest.Open(b, server.Database(b), func(c *store.Config) { c.MaxConns = 32 })
	const groups = 1000
	for i := range groups {
		register(b, s, "bench-"+strconv.Itoa(i))
	}
	var next atomic.Int64
	b.SetParallelism(16) // × 2 cores = 32 writers
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n := next.Add(1)
			_, changed, err := s.UpdatePolicy(b.Context(), actor(), "bench-"+strconv.FormatInt(n%groups, 10), store.Anything(),
				func(_ *policy.System, d policy.Document) (policy.Document, error) {
					return withInterval(d, 1000+n), nil
				})
			if err != nil || !changed {
				b.Errorf("changed %v, %v", changed, err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "saves/s")
}

func withInterval(d policy.Document, ms int64) policy.Document {
	d.Actions = map[string]policy.ActionDocument{"message": {
		MinIntervalMS: policy.State(ms),
		Window:        policy.State(policy.Window{Algorithm: policy.SlidingWindow, Limit: 8, PeriodMS: 30_000}),
	}}
	return d
}
