package sync

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// every calls fn at once, then at each tick and whenever kick delivers, until ctx ends. A nil kick never delivers.
func every(ctx context.Context, d time.Duration, kick <-chan struct{}, fn func(context.Context)) {
	ticker := time.NewTicker(d)
	defer ticker.Stop()
	for ctx.Err() == nil {
		fn(ctx)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		case <-kick:
		}
	}
}

// pause waits d; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// pauseOr waits d, or for kick.
func pauseOr(ctx context.Context, d time.Duration, kick <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-kick:
	}
}

// poke fills a channel of capacity one; never blocks.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// inFlight is how many calls one round has under way: two connections are enough to keep Redis busy, and few bytes in
// flight keep bystanders' waits short.
const inFlight = 2

// inParallel calls fn(0) … fn(n−1), a few at a time, and returns the first error. After an error no further call starts.
func inParallel(n int, fn func(int) error) error {
	if n == 1 {
		return fn(0)
	}
	var (
		mu    sync.Mutex
		next  int
		first error
		group sync.WaitGroup
	)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if first != nil || next == n {
			return 0, false
		}
		next++
		return next - 1, true
	}
	for range min(inFlight, n) {
		group.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				if err := fn(i); err != nil {
					mu.Lock()
					if first == nil {
						first = err
					}
					mu.Unlock()
				}
			}
		})
	}
	group.Wait()
	return first
}

// noteError counts and reports the outcome of one round of a lane. The log says when trouble begins and when it ends,
// not each round in between.
func (s *Sync) noteError(ctx context.Context, lane string, err error) {
	if err != nil && ctx.Err() != nil {
		return // stopping
	}
	began, ended := s.report.outcome(lane, err, s.cfg.Now())
	switch {
	case err == nil && ended:
		s.log.LogAttrs(ctx, slog.LevelInfo, "lane works again", slog.String("lane", lane))
	case err != nil:
		s.metrics.errors.WithLabelValues(lane).Inc()
		if began {
			s.log.LogAttrs(ctx, slog.LevelWarn, "lane in trouble, keeps trying", slog.String("lane", lane), slog.Any("error", err))
		}
	}
}
