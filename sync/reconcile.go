package sync

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/pacekeeper/pacekeeper/enforce"
)

// reconciler is what passes know of each other. Only its loop touches it, but for restored.
type reconciler struct {
	late     map[string]mark // what may have been on its way in the last pass
	restored atomic.Bool     // the last whole pass found Redis ahead of the database as a whole
}

// runReconciler is lane 5: it compares all that Redis must hold with the database, over and over, and mends what
// differs. Several instances may do it at once: each write is a compare-and-set.
func (s *Sync) runReconciler(ctx context.Context) {
	for ctx.Err() == nil {
		wait := min(s.cfg.ReconcileEvery, s.cfg.EpochEvery)
		if s.mayReconcile() {
			err := s.reconcile(ctx)
			if err == nil {
				wait = s.cfg.ReconcileEvery
			}
			if errors.Is(err, errRebuilding) {
				err = nil
			}
			s.noteError(ctx, laneReconcile, err)
		}
		pause(ctx, wait)
	}
}

// mayReconcile says that there is something to compare which no first pass is about to write: all that is there.
func (s *Sync) mayReconcile() bool {
	due, _ := s.pass.dueOf(s.breaker.present())
	return len(due) == 0 && !s.breaker.isAway() && (s.passed.Load() || s.breaker.awayCount() > 0)
}

// reconcile runs one pass over the shards that are there; while others are away or being rebuilt it mends what it finds, and
// does not count as complete. errRebuilding: none is there.
func (s *Sync) reconcile(ctx context.Context) error {
	began := s.cfg.Now()
	w := &walk{
		sync: s, rests: true, partly: true, lateBefore: s.reconciler.late, late: map[string]mark{}, done: &atomic.Int64{},
		withhold: s.reconciler.restored.Load(),
	}
	err := w.run(ctx)
	s.tellMended(ctx, w)
	if err != nil {
		return err
	}
	s.reconciler.late = w.late
	if len(w.shards) < enforce.Shards {
		return nil
	}
	s.noteRestored(ctx, w)
	s.report.reconciled(ReconcileStatus{
		At: began, Took: s.cfg.Now().Sub(began), Groups: w.done.Load(), Repaired: int64(w.mended.keys),
		Ahead: int64(w.groups.ahead + w.defaults.ahead),
	})
	s.metrics.reconciles.Observe(s.cfg.Now().Sub(began).Seconds())
	return nil
}

func (s *Sync) tellMended(ctx context.Context, w *walk) {
	if more := w.mended.groups - w.mended.logged; more > 0 {
		s.log.LogAttrs(ctx, slog.LevelWarn, "more groups differed from the database, mended",
			slog.Int("groups", more), slog.Int("keys", w.mended.keys))
	}
}

// noteRestored takes in whether Redis is ahead as a whole: then what it has is worth more than what the database has, and
// nothing is replaced until somebody decides.
func (s *Sync) noteRestored(ctx context.Context, w *walk) {
	now := w.restored()
	s.metrics.ahead.Set(float64(w.groups.ahead + w.defaults.ahead))
	switch before := s.reconciler.restored.Swap(now); {
	case now && !before:
		s.log.LogAttrs(ctx, slog.LevelError, "Redis is ahead of the database, as after a restored backup: nothing is replaced",
			slog.Int("keys_ahead", w.groups.ahead+w.defaults.ahead), slog.Int("keys", w.groups.keys+w.defaults.keys))
	case before && !now:
		s.log.LogAttrs(ctx, slog.LevelInfo, "Redis is no longer ahead of the database")
	}
}

// ReconcileStatus is the last complete pass of the reconciler in this instance.
type ReconcileStatus struct {
	At       time.Time // its start; zero = none yet
	Took     time.Duration
	Groups   int64 // compared
	Repaired int64 // keys, mutes and bans that differed and were mended
	Ahead    int64 // keys that had an order above the database's
}

func (r *report) reconciled(st ReconcileStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state.Reconcile = st
}
