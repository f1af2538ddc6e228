package sync_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/store"
	policysync "github.com/pacekeeper/pacekeeper/sync"
)

// BenchmarkCommitToVisible measures from the commit of an edit to the moment at which a reader of Redis sees it, with
// edits one after the other. The reader asks in a tight loop on a connection of its own, which takes a good part of a
// core; run it on a quiet machine with -benchtime=1000x.
func BenchmarkCommitToVisible(b *testing.B) {
	b.Run("same_instance", func(b *testing.B) {
		at := real(b)
		measure(b, at, prepare(b, at, nil).run(b).ready(b))
	})
	b.Run("other_instance", func(b *testing.B) { // the editing one cannot reach Redis
		at := real(b)
		prepare(b, at, nil).run(b).ready(b)
		measure(b, at, prepare(b, at, nowhere(b), func(c *policysync.Config) { c.ProbeEvery = time.Minute }).run(b))
	})
	b.Run("beside_the_reconciler", func(b *testing.B) { // 2,000 other groups, compared without a stop
		at := real(b)
		fill(b, at, 2000)
		steadily := func(c *policysync.Config) { c.ReconcileEvery = time.Millisecond }
		measure(b, at, prepare(b, at, nil, steadily).run(b).ready(b))
	})
}

// BenchmarkColdStart measures from Run to ready on an empty Redis, with 1,000 groups that have policies and without any.
func BenchmarkColdStart(b *testing.B) {
	for _, groups := range []int{0, 1000} {
		for name, make := range map[string]func(testing.TB) site{"embedded": embedded, "postgres+redis": real} {
			b.Run(fmt.Sprintf("%s/groups=%d", name, groups), func(b *testing.B) {
				at := make(b)
				filler := &instance{store: pgtest.Open(b, at.url)}
				for i := range groups {
					id := fmt.Sprintf("g%d", i)
					filler.group(b, id)
					filler.save(b, id, `{"actions": {"message": {"min_interval_ms": 3000}}}`)
				}
				for b.Loop() {
					b.StopTimer()
					at.flush(b)
					inst := prepare(b, at, nil)
					b.StartTimer()
					inst.run(b).ready(b)
					b.StopTimer()
					inst.stop()
					b.StartTimer()
				}
			})
		}
	}
}

func measure(b *testing.B, at site, editor *instance) {
	b.Helper()
	const group = "g1"
	var committed atomic.Pointer[time.Time]
	commits := pgtest.Open(b, at.url, func(cfg *store.Config) {
		cfg.OnCommit = func(c store.Change) {
			now := time.Now()
			committed.Store(&now)
			editor.Wake(c)
		}
	})
	e := &instance{store: commits}
	e.group(b, group)
	seen := watchVersion(b, at, at.keys.Policy("message", group))
	lags := make([]time.Duration, 0, b.N)
	for i := 0; b.Loop(); i++ {
		version := e.save(b, group, fmt.Sprintf(`{"actions": {"message": {"min_interval_ms": %d}}}`, 1000+i%9000))
		sighting := seen(version)
		lags = append(lags, sighting.Sub(*committed.Load()))
	}
	slices.Sort(lags)
	b.ReportMetric(ms(lags[len(lags)*50/100]), "p50_ms")
	b.ReportMetric(ms(lags[len(lags)*99/100]), "p99_ms")
	b.ReportMetric(ms(lags[len(lags)-1]), "max_ms")
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// watchVersion returns a function that waits until the reader has seen a version, and says when.
func watchVersion(b *testing.B, at site, key string) func(int64) time.Time {
	b.Helper()
	type sighting struct {
		version int64
		at      time.Time
	}
	options := *at.rdb.(*redis.Client).Options()
	reader := redis.NewClient(&options)
	b.Cleanup(func() { _ = reader.Close() })
	sightings := make(chan sighting, 1024)
	ctx := b.Context()
	go func() {
		var last int64
		for ctx.Err() == nil {
			if version, err := reader.HGet(ctx, key, "version").Int64(); err == nil && version != last {
				last = version
				sightings <- sighting{version, time.Now()}
			}
		}
	}()
	return func(version int64) time.Time {
		for {
			select {
			case s := <-sightings:
				if s.version >= version {
					return s.at
				}
			case <-time.After(soon):
				b.Fatalf("version %d is not visible within %v", version, soon)
			}
		}
	}
}

// BenchmarkReconcile measures whole passes over 10,000 healthy groups, each with a document, at the pace of production.
func BenchmarkReconcile(b *testing.B) {
	const groups = 10_000
	at := real(b)
	fill(b, at, groups)
	inst := start(b, at, func(c *policysync.Config) { c.ReconcileEvery = time.Millisecond })
	inst.reconciled(b)
	var took time.Duration
	for b.Loop() {
		st := inst.reconciled(b)
		if st.Groups != groups || st.Repaired != 0 {
			b.Fatalf("pass %+v", st)
		}
		took += st.Took
	}
	b.ReportMetric(took.Seconds()/float64(b.N), "s/pass")
	b.ReportMetric(groups*float64(b.N)/took.Seconds(), "groups/s")
}

// fill registers groups with a document of two actions, and leaves it to the first pass to publish them.
func fill(b *testing.B, at site, groups int) {
	b.Helper()
	editor := &instance{store: pgtest.Open(b, at.url)}
	for i := range groups {
		id := fmt.Sprintf("g%d", i)
		editor.group(b, id)
		editor.save(b, id, `{"actions": {"message": {"min_interval_ms": 3000}, "like": {"min_interval_ms": 500}}}`)
	}
	for more := true; more; {
		rows, err := editor.store.ClaimOutbox(b.Context(), 1000, time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		var ids []string
		for _, row := range rows {
			ids = append(ids, row.ID)
		}
		if err := editor.store.CompleteOutbox(b.Context(), ids, nil); err != nil {
			b.Fatal(err)
		}
		more = len(rows) > 0
	}
}
