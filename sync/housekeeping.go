package sync

import (
	"context"
	"time"
)

// cleanupEvery is how often expired rows are deleted.
const cleanupEvery = 10 * time.Minute

// runHousekeeping seals the audit each second, so that it is verifiable soon after each change, and deletes what has
// expired now and then.
func (s *Sync) runHousekeeping(ctx context.Context) {
	var cleaned time.Time
	every(ctx, s.cfg.SealEvery, nil, func(ctx context.Context) {
		_, err := s.store.SealAudit(ctx)
		s.noteError(ctx, laneAudit, err)
		if now := s.cfg.Now(); err == nil && now.Sub(cleaned) >= cleanupEvery {
			cleaned = now
			s.noteError(ctx, laneCleanup, s.store.Cleanup(ctx))
		}
	})
}
