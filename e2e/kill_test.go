package e2e_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
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
