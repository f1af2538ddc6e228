package store_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/store"
)

// BenchmarkApplyConfig plans and applies 10,000 changed policies, on a Postgres of its own with fsync on, while eight others
// save single policies of other groups. Reported: seconds of a plan and of an apply, and p99 of the saves meanwhile.
func BenchmarkApplyConfig(b *testing.B) {
	server := pgtest.Start(b, pgtest.Options{Fsync: true})
	s := pgtest.Open(b, server.Database(b))
	for n := range benchSavers {
		register(b, s, "bench-"+strconv.Itoa(n))
	}
	applyMany(b, s, 1000)
	var plans, applies, saves []time.Duration
	b.ResetTimer()
	for n := range b.N {
		stop := saveMeanwhile(b, s, &saves)
		plan, apply := applyMany(b, s, 1001+n)
		stop()
		plans, applies = append(plans, plan), append(applies, apply)
	}
	slices.Sort(saves)
	b.ReportMetric(slices.Max(plans).Seconds(), "plan-s")
	b.ReportMetric(slices.Max(applies).Seconds(), "apply-s")
	b.ReportMetric(float64(saves[len(saves)*99/100].Microseconds())/1000, "save-p99-ms")
	b.ReportMetric(float64(len(saves))/float64(b.N), "saves")
}

const benchSavers = 8

func applyMany(b *testing.B, s *store.Store, intervalMS int) (plan, apply time.Duration) {
	b.Helper()
	groups := make([]string, 10_000)
	for g := range groups {
		groups[g] = fmt.Sprintf(`"many-%05d":{"name":"G","policy":{"actions":{"message":{"min_interval_ms":%d}}}}`, g, intervalMS)
	}
	in := store.ConfigInput{Config: configOf(b, `{"groups":{`+strings.Join(groups, ",")+`}}`)}
	begun := time.Now()
	p := must(s.PlanConfig(b.Context(), in))(b)
	plan = time.Since(begun)
	begun = time.Now()
	if _, err := s.ApplyConfig(b.Context(), applier(), store.Once{}, in, p.Token, noAnswer); err != nil {
		b.Fatal(err)
	}
	return plan, time.Since(begun)
}

// saveMeanwhile saves one after the other on each of eight connections, as people do, until it is stopped.
func saveMeanwhile(b *testing.B, s *store.Store, saves *[]time.Duration) (stop func()) {
	b.Helper()
	var mu sync.Mutex
	var running sync.WaitGroup
	done := make(chan struct{})
	for n := range benchSavers {
		running.Go(func() {
			for k := 0; ; k++ {
				select {
				case <-done:
					return
				case <-time.After(20 * time.Millisecond):
				}
				begun := time.Now()
				save(b, s, "bench-"+strconv.Itoa(n), interval(strconv.Itoa(1000+(k*benchSavers+n+begun.Nanosecond())%9000)))
				mu.Lock()
				*saves = append(*saves, time.Since(begun))
				mu.Unlock()
			}
		})
	}
	return func() { close(done); running.Wait() }
}
