package api

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are this face's own.
type metrics struct {
	requests     *prometheus.CounterVec
	seconds      *prometheus.HistogramVec
	checks       *prometheus.CounterVec
	unknownRoles prometheus.Counter
}

func newMetrics(registry prometheus.Registerer) metrics {
	m := metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pacekeeper_http_requests_total", Help: "HTTP requests by method, route pattern and status.",
		}, []string{"method", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "pacekeeper_http_request_duration_seconds", Help: "Time to answer HTTP requests, by method and route pattern.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
		}, []string{"method", "route"}),
		checks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "pacekeeper_http_checks_total", Help: "Decisions given over HTTP, by action and code.",
		}, []string{"action", "code"}),
		unknownRoles: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "pacekeeper_http_check_unknown_roles_total", Help: "Roles that checks named and nobody knows; they are ignored.",
		}),
	}
	registry.MustRegister(m.requests, m.seconds, m.checks, m.unknownRoles)
	return m
}

func (m metrics) observe(method, route string, status int, took time.Duration) {
	m.requests.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(method, route).Observe(took.Seconds())
}
