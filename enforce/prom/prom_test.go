package prom_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/enforce/prom"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
)

func TestDecisionsByActionAndOutcome(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: s.Socket, DialerRetries: 1, MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() { _ = rdb.Close() })
	client := enforce.New(enforce.Config{Redis: rdb})
	ask := func(action string) {
		if _, err := client.Check(t.Context(), enforce.Request{Action: action, Group: "g1", User: "u1"}); err != nil {
			t.Fatal(err)
		}
	}
	ask("message")
	ask("message") // within the interval
	s.Stop()
	ask("message")
	ask("login")
	same(t, gathered(t, client), map[string]float64{
		"login allowed": 0, "login refused": 0, "login degraded_allowed": 0, "login degraded_refused": 1,
		"message allowed": 1, "message refused": 1, "message degraded_allowed": 1, "message degraded_refused": 0,
	})
}

func same(t *testing.T, got, want map[string]float64) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
}

// gathered answers what Prometheus would read: action and outcome → count.
func gathered(t *testing.T, client *enforce.Client) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(prom.New(client))
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "pacekeeper_enforce_decisions_total" {
		t.Fatalf("%v, %v", families, err)
	}
	counts := map[string]float64{}
	for _, m := range families[0].GetMetric() {
		counts[m.GetLabel()[0].GetValue()+" "+m.GetLabel()[1].GetValue()] = m.GetCounter().GetValue()
	}
	return counts
}
