package sync

import (
	"context"
	"log/slog"
	"time"
)

// cleanupEvery is how often expired rows are deleted.
const cleanupEvery = 10 * time.Minute

// headEvery is how often the head of the audit log is told.
const headEvery = time.Minute

// runHousekeeping seals the audit five times a second, so that it is verifiable soon after each change, tells its head each
// minute, and deletes what has expired now and then.
func (s *Sync) runHousekeeping(ctx context.Context) {
	var cleaned, told time.Time
	every(ctx, s.cfg.SealEvery, nil, func(ctx context.Context) {
		_, err := s.store.SealAudit(ctx)
		s.noteError(ctx, laneAudit, err)
		if err == nil {
			s.noteError(ctx, laneAudit, s.store.FlushRefusals(ctx))
		}
		if now := s.cfg.Now(); err == nil && now.Sub(told) >= headEvery && s.tellHead(ctx) {
			told = now
		}
		if now := s.cfg.Now(); err == nil && now.Sub(cleaned) >= cleanupEvery {
			cleaned = now
			s.noteError(ctx, laneCleanup, s.store.Cleanup(ctx))
		}
	})
}

// tellHead puts the head where somebody who only writes the database cannot change it: the log and the metrics.
func (s *Sync) tellHead(ctx context.Context) bool {
	head, trusted, err := s.store.AuditHead(ctx)
	if s.noteError(ctx, laneAudit, err); err != nil {
		return false
	}
	s.metrics.head.Reset()
	s.metrics.head.WithLabelValues(head.Hash).Set(float64(head.Seq))
	s.metrics.headTrusted.Set(map[bool]float64{true: 1}[trusted])
	if trusted {
		s.log.InfoContext(ctx, "audit head", slog.String("head", head.String()))
	} else {
		s.log.ErrorContext(ctx, "audit head is not what this key signed last: verify the audit log", slog.String("head", head.String()))
	}
	return true
}
