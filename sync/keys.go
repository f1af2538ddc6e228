package sync

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pacekeeper/pacekeeper/enforce"
)

// keysRest is between two calls of a thousand names: about 2 % of what a Redis can do, 70 million keys in an hour.
const keysRest = 50 * time.Millisecond

// runKeys looks for keys without a time to live now and then. Nothing of ours makes such keys; a script of somebody else's, or
// a PERSIST, may.
func (s *Sync) runKeys(ctx context.Context) {
	for pause(ctx, s.cfg.KeysEvery) {
		if s.breaker.awayCount() == 0 {
			_, err := s.SweepKeys(ctx, enforce.LastingSweep{Mend: true, Rest: rest})
			s.noteError(ctx, laneKeys, err)
		}
	}
}

func rest(ctx context.Context) error {
	if !pause(ctx, keysRest) {
		return ctx.Err()
	}
	return nil
}

// SweepKeys looks for limiter states, members' records and lists of muted members without a time to live, counts by kind
// what it saw, and mends them if asked to. It needs no Run.
func (s *Sync) SweepKeys(ctx context.Context, sweep enforce.LastingSweep) (map[string]enforce.Lasting, error) {
	found, err := s.publisher.SweepLasting(ctx, sweep)
	for kind, n := range found {
		s.metrics.lasting.WithLabelValues(kind).Add(float64(n.Mended))
		if n.Lasting > 0 {
			s.log.LogAttrs(ctx, slog.LevelWarn, "keys had no time to live", slog.String("kind", kind),
				slog.Int64("keys", n.Lasting), slog.Int64("mended", n.Mended), slog.Int64("of", n.Seen))
		}
	}
	return found, err
}

func lastingMetric() *prometheus.CounterVec {
	m := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "pacekeeper_keys_without_ttl_total", Help: "Keys found without a time to live, and given one.",
	}, []string{"kind"})
	for _, kind := range []string{enforce.KindState, enforce.KindMember, enforce.KindMuted} {
		m.WithLabelValues(kind)
	}
	return m
}
