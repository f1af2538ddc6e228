package sync

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pacekeeper/pacekeeper/enforce"
)

// metrics are what sync tells Prometheus.
type metrics struct {
	lag         prometheus.Histogram
	published   *prometheus.CounterVec
	errors      *prometheus.CounterVec
	outbox      prometheus.Gauge
	redisUp     prometheus.Gauge
	rebuilds    prometheus.Counter
	events      prometheus.Counter
	passes      prometheus.Histogram
	fleetShards *prometheus.GaugeVec
	fleetGroups *prometheus.GaugeVec
	incomplete  prometheus.Gauge
	head        *prometheus.GaugeVec
	headTrusted prometheus.Gauge
	drift       *prometheus.CounterVec
	ahead       prometheus.Gauge
	reconciles  prometheus.Histogram
	lasting     *prometheus.CounterVec
	collections []prometheus.Collector
}

func newMetrics() *metrics {
	m := &metrics{
		lag: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "pacekeeper_sync_lag_seconds", Help: "From the commit of a policy to its hash in Redis, edits of this instance.",
			Buckets: []float64{.0005, .001, .002, .005, .01, .025, .05, .1, .25, 1, 5, 30, 300},
		}),
		published: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pacekeeper_sync_published_total", Help: "Keys offered to Redis, by what the guard made of them.",
		}, []string{"result"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pacekeeper_sync_errors_total", Help: "Rounds of a lane that failed and are tried again.",
		}, []string{"lane"}),
		outbox: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pacekeeper_sync_outbox_depth", Help: "Changes that wait to be published.",
		}),
		redisUp: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pacekeeper_sync_redis_up", Help: "1 while Redis answers, else 0.",
		}),
		rebuilds: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pacekeeper_sync_rebuilt_shards_total", Help: "Shards of Redis rebuilt from the database.",
		}),
		events: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pacekeeper_sync_events_total", Help: "Events of the check script taken over into the database.",
		}),
		passes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "pacekeeper_sync_pass_seconds", Help: "Fleet jobs, by the instance that ended them.",
			Buckets: []float64{.01, .05, .1, .5, 1, 5, 10, 30, 60, 300},
		}),
		incomplete: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pacekeeper_sync_incomplete_shards", Help: "Shards of Redis that are missing or being rebuilt.",
		}),
		head: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pacekeeper_audit_head", Help: "Number of the audit log's last entry, by its hash; told each minute.",
		}, []string{"hash"}),
		headTrusted: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pacekeeper_audit_head_trusted", Help: "1 while the audit log's head is signed and did not go back, else 0.",
		}),
		drift: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pacekeeper_drift_total", Help: "Keys, mutes and bans in Redis that differed from the database and were mended.",
		}, []string{"kind"}),
		ahead: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "pacekeeper_drift_ahead_keys", Help: "Keys whose order was above the database's in the last pass of the reconciler.",
		}),
		reconciles: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "pacekeeper_reconcile_seconds", Help: "Complete passes of the reconciler.",
			Buckets: []float64{.01, .05, .1, .5, 1, 5, 10, 30, 60, 300},
		}),
	}
	m.lasting = lastingMetric()
	m.fleetShards, m.fleetGroups = fleetMetrics()
	m.collections = []prometheus.Collector{
		m.lag, m.published, m.errors, m.outbox, m.redisUp, m.rebuilds, m.events, m.passes, m.incomplete, m.head, m.headTrusted,
		m.drift, m.ahead, m.reconciles, m.fleetShards, m.fleetGroups, m.lasting,
	}
	m.redisUp.Set(1)
	for _, kind := range driftKinds() {
		m.drift.WithLabelValues(kind)
	}
	return m
}

func (m *metrics) register(r prometheus.Registerer) error {
	for _, c := range m.collections {
		if err := r.Register(c); err != nil {
			return err
		}
	}
	return nil
}

func fleetMetrics() (shards, groups *prometheus.GaugeVec) {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pacekeeper_fleet_shards", Help: "Shards of the fleet job that runs, by whether their groups are all in Redis.",
		}, []string{"state"}), prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "pacekeeper_fleet_groups", Help: "Groups that the fleet job has published, and about how many there are.",
		}, []string{"state"})
}

// fleet tells how far the fleet job is.
func (m *metrics) fleet(f FleetStatus) {
	m.fleetShards.WithLabelValues("done").Set(float64(f.Done))
	m.fleetShards.WithLabelValues("left").Set(float64(f.Shards - f.Done))
	m.fleetGroups.WithLabelValues("done").Set(float64(f.Groups))
	m.fleetGroups.WithLabelValues("about").Set(float64(f.About))
}

// count counts results and returns how many keys were written.
func (m *metrics) count(results []enforce.Result) int {
	counts := map[enforce.Result]int{}
	for _, r := range results {
		counts[r]++
	}
	for r, n := range counts {
		m.published.WithLabelValues(resultName(r)).Add(float64(n))
	}
	return counts[enforce.Written]
}

func resultName(r enforce.Result) string {
	switch r {
	case enforce.Written:
		return "written"
	case enforce.Same:
		return "same"
	case enforce.Older:
		return "older"
	case enforce.Behind:
		return "behind"
	}
	return "unknown"
}

// countOutbox takes in how much waits; ok is false if the database does not say: the poll tells that.
func (s *Sync) countOutbox(ctx context.Context) (depth int64, ok bool) {
	status, err := s.store.SyncStatus(ctx)
	if err != nil {
		return 0, false
	}
	s.metrics.outbox.Set(float64(status.OutboxDepth))
	s.report.outbox(status)
	return status.OutboxDepth, true
}
