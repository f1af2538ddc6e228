package store_test

import (
	"database/sql"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// BenchmarkUpdatePolicy saves changed documents of 1,000 groups from 32 writers, on a Postgres of its own with fsync on.
// The load generator shares the machine. Reported: saves a second, and
// the share of updates that touched no index.
func BenchmarkUpdatePolicy(b *testing.B) {
	server := pgtest.Start(b, pgtest.Options{Fsync: true})
	url := server.Database(b)
	s := pgtest.Open(b, url, func(c *store.Config) { c.MaxConns = 32 })
	for i := range benchGroups {
		register(b, s, "bench-"+strconv.Itoa(i))
	}
	var next atomic.Int64
	b.Run("writers=32", func(b *testing.B) {
		b.SetParallelism((32 + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0))
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				saveNext(b, s, next.Add(1))
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "saves/s")
		b.ReportMetric(hotShare(b, pgtest.SQL(b, url)), "%HOT")
	})
}

const benchGroups = 1000

func saveNext(b *testing.B, s *store.Store, n int64) {
	b.Helper()
	_, changed, err := s.UpdatePolicy(b.Context(), actor(), "bench-"+strconv.FormatInt(n%benchGroups, 10), store.Anything(),
		func(_ *policy.System, d policy.Document) (policy.Document, error) {
			return withInterval(d, 1000+n), nil
		})
	if err != nil || !changed {
		b.Errorf("changed %v, %v", changed, err)
	}
}

// hotShare is the share of updates that touched no index, in percent; the statistics arrive within a second or so.
func hotShare(b *testing.B, db *sql.DB) (percent float64) {
	b.Helper()
	const query = "SELECT 100.0 * n_tup_hot_upd / greatest(n_tup_upd, 1) FROM pg_stat_user_tables WHERE relname = 'groups'"
	deadline := time.Now().Add(5 * time.Second)
	for percent == 0 && time.Now().Before(deadline) {
		if err := db.QueryRowContext(b.Context(), query).Scan(&percent); err != nil {
			b.Fatal(err)
		}
	}
	return percent
}

func withInterval(d policy.Document, ms int64) policy.Document {
	d.Actions = map[string]policy.ActionDocument{"message": {
		MinIntervalMS: policy.State(ms),
		Window:        policy.State(policy.Window{Algorithm: policy.SlidingWindow, Limit: 8, PeriodMS: 30_000}),
	}}
	return d
}

// BenchmarkExemptionsAtTheCap measures replacing, listing, searching and reading for the publisher in a group of 10,000.
func BenchmarkExemptionsAtTheCap(b *testing.B) {
	for name, url := range map[string]string{"postgres": pgtest.Postgres(b), "sqlite": pgtest.SQLite(b)} {
		b.Run(name, func(b *testing.B) {
			s := pgtest.Open(b, url)
			register(b, s, "g1")
			fill(b, pgtest.SQL(b, url), entriesAtTheCap)
			for b.Loop() {
				workAtTheCap(b, s)
			}
		})
	}
}

// BenchmarkImportTenThousand imports 10,000 new exemptions with their audit entries, on a Postgres of its own with fsync
// on, and lets the audit be sealed in between.
func BenchmarkImportTenThousand(b *testing.B) {
	server := pgtest.Start(b, pgtest.Options{Fsync: true})
	s := pgtest.Open(b, server.Database(b))
	in := items(guests(entriesAtTheCap, "guest"))
	var took time.Duration
	for i := 0; b.Loop(); i++ {
		id := "g" + strconv.Itoa(i)
		register(b, s, id)
		began := time.Now()
		if r := must(s.ImportExemptions(b.Context(), actor(), id, in))(b); r.Added != entriesAtTheCap {
			b.Fatalf("%+v", r)
		}
		took += time.Since(began)
		must(s.SealAudit(b.Context()))(b)
	}
	b.ReportMetric(took.Seconds()/float64(b.N), "s/import")
}
