// Package prom hands the decisions of an enforce.Client to Prometheus.
package prom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pacekeeper/pacekeeper/enforce"
)

type collector struct {
	client    *enforce.Client
	decisions *prometheus.Desc
}

// New makes a collector of pacekeeper_enforce_decisions_total{action, outcome}; outcome is allowed, refused, or where Redis
// did not answer degraded_allowed, degraded_refused. Register it once for each client. Actions beyond the first 64 are
// counted as one.
func New(client *enforce.Client) prometheus.Collector {
	return &collector{client: client, decisions: prometheus.NewDesc("pacekeeper_enforce_decisions_total",
		"Decisions of this client, by action and outcome; degraded ones were made by on_failure.", []string{"action", "outcome"}, nil)}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(descs chan<- *prometheus.Desc) { descs <- c.decisions }

// Collect implements prometheus.Collector.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	for action, s := range c.client.StatsByAction() {
		for outcome, n := range map[string]int64{
			"allowed": s.Allowed, "refused": s.Refused, "degraded_allowed": s.DegradedAllowed, "degraded_refused": s.DegradedRefused,
		} {
			metrics <- prometheus.MustNewConstMetric(c.decisions, prometheus.CounterValue, float64(n), action, outcome)
		}
	}
}
