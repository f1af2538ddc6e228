package sync

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pacekeeper/pacekeeper/store"
)

// Payloads is payloads, for tests.
func Payloads(instance string, changes []store.Change) []string { return payloads(instance, changes) }

// ParsePayload is parsePayload, for tests.
func ParsePayload(payload string) (string, []store.Change, bool) { return parsePayload(payload) }

// Drift is how many keys the reconciler mended as of a kind; -1 if that cannot be read.
func (s *Sync) Drift(kind string) float64 {
	registry := prometheus.NewRegistry()
	if registry.Register(s.metrics.drift) != nil {
		return -1
	}
	families, err := registry.Gather()
	if err != nil {
		return -1
	}
	for _, m := range families[0].GetMetric() {
		if m.GetLabel()[0].GetValue() == kind {
			return m.GetCounter().GetValue()
		}
	}
	return -1
}
