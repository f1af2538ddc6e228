package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
)

// saveUntilKilled saves policies of four groups as fast as the instance answers, kills it in the middle, and
// returns the highest version and the interval that were answered for each group.
func saveUntilKilled(tb testing.TB, victim *instance) map[string]saved {
	tb.Helper()
	answered := map[string]saved{}
	var mu sync.Mutex
	var writers sync.WaitGroup
	for g := range 4 {
		id := fmt.Sprintf("kill-%d", g)
		victim.group(tb, id, `{"actions":{"message":{"min_interval_ms":1000}}}`)
		writers.Go(func() {
			for n := 1001; ; n++ {
				got, err := victim.try(http.MethodPut, "/v1/groups/"+id+"/policy",
					fmt.Sprintf(`{"actions":{"message":{"min_interval_ms":%d}}}`, n), "If-Match", "*")
				if err != nil || got.status != http.StatusOK {
					return
				}
				mu.Lock()
				answered[id] = saved{version: got.at("version").(float64), interval: float64(n)}
				mu.Unlock()
			}
		})
	}
	eventually(tb, 20*time.Second, "60 saves", func() bool {
		mu.Lock()
		defer mu.Unlock()
		total := 0.0
		for _, s := range answered {
			total += s.version
		}
		return total > 60
	})
	victim.kill(tb)
	writers.Wait()
	return answered
}

type saved struct{ version, interval float64 }

// checkNothingLost holds what another instance says against what was answered. One more save may have been committed
// whose answer was cut off; Redis must hold what the database holds.
func checkNothingLost(tb testing.TB, i *instance, answered map[string]saved) {
	tb.Helper()
	if len(answered) != 4 {
		tb.Fatalf("answered for %d groups", len(answered))
	}
	for id, s := range answered {
		got := i.call(tb, http.MethodGet, "/v1/groups/"+id+"/policy", "").want(tb, http.StatusOK)
		more := got.at("version").(float64) - s.version
		interval := got.at("requested", "actions", "message", "min_interval_ms").(float64)
		if more < 0 || more > 1 || interval != s.interval+more {
			tb.Errorf("%s: answered %+v, found version %v with %v", id, s, got.at("version"), interval)
		}
		eventually(tb, 10*time.Second, id+" is live", func() bool {
			return i.check(tb, id, "u1").at("version") == got.at("version")
		})
	}
}

// TestC60_KilledAtRandomVersionsAndEntriesMatch kills an instance again and again in the middle of saves, until 1,000 were
// answered, and holds versions and audit entries against each other both ways.
func TestC60_KilledAtRandomVersionsAndEntriesMatch(t *testing.T) {
	t.Parallel()
	s := newStage(t, pgtest.Options{Fsync: true})
	total, random := 0.0, rand.New(rand.NewPCG(60, 60))
	for round := 0; total < 1000; round++ {
		victim := serve(t, s.env)
		total += saveFor(t, victim, fmt.Sprint("c60-", round), 200+random.IntN(200))
	}
	survivor := serve(t, s.env)
	versions := s.count(t, "SELECT count(*) FROM policy_versions")
	entries := s.count(t, "SELECT count(*) FROM audit_entries WHERE action = 'policy.update'")
	unmatched := s.count(t, `SELECT (SELECT count(*) FROM policy_versions v WHERE NOT EXISTS (SELECT 1 FROM audit_entries e
			WHERE e.group_id = v.group_id AND e.action = 'policy.update' AND e.after = v.document AND e.at = v.at))
		+ (SELECT count(*) FROM audit_entries e WHERE e.action = 'policy.update' AND NOT EXISTS (SELECT 1 FROM policy_versions v
			WHERE v.group_id = e.group_id AND v.document = e.after AND v.at = e.at))`)
	if versions != entries || unmatched != 0 || float64(versions) < total {
		t.Errorf("%d versions, %d entries, %d without the other, %v answered", versions, entries, unmatched, total)
	}
	if v := survivor.call(t, http.MethodGet, "/v1/audit-events/verify", "").want(t, http.StatusOK); v.at("ok") != true {
		t.Errorf("verdict %v", v.body)
	}
}

// saveFor saves from four writers until so many saves were answered, kills the instance in the middle of the next, and
// returns how many were answered.
func saveFor(tb testing.TB, victim *instance, prefix string, enough int) float64 {
	tb.Helper()
	var answered atomic.Int64
	var writers sync.WaitGroup
	for g := range 4 {
		id := fmt.Sprint(prefix, "-", g)
		victim.call(tb, http.MethodPut, "/v1/groups/"+id, `{"name":"x","locale":"en"}`).want(tb, http.StatusCreated)
		writers.Go(func() {
			for n := 1000; ; n++ {
				got, err := victim.try(http.MethodPut, "/v1/groups/"+id+"/policy",
					fmt.Sprintf(`{"actions":{"message":{"min_interval_ms":%d}}}`, n), "If-Match", "*")
				if err != nil || got.status != http.StatusOK {
					return
				}
				answered.Add(1)
			}
		})
	}
	eventually(tb, time.Minute, "saves", func() bool { return answered.Load() >= int64(enough) })
	victim.kill(tb)
	writers.Wait()
	return float64(answered.Load())
}

// count asks the database of a stage for one number.
func (s *stage) count(tb testing.TB, query string) (n int64) {
	tb.Helper()
	if err := pgtest.SQL(tb, s.env["PACEKEEPER_DATABASE_URL"]).QueryRowContext(tb.Context(), query).Scan(&n); err != nil {
		tb.Fatal(err)
	}
	return n
}
