package sync

import (
	"context"
	"log/slog"
)

// runServers looks each second whether Redis takes writes, so that an instance is not ready while checks cannot record
// anything, and whether it is still the server that it was. One that was restarted or failed over quickly may never have
// been seen away, has its epochs, and yet holds older things: then a pass over the whole fleet is due at once.
func (s *Sync) runServers(ctx context.Context) {
	known := ""
	every(ctx, s.cfg.EpochEvery, nil, func(ctx context.Context) {
		if s.breaker.isAway() {
			return // the watch over the epochs asks for it
		}
		var ids string
		err := s.call(ctx, func(ctx context.Context) (err error) {
			if err = s.publisher.ProveWrites(ctx, s.nodes()); err == nil {
				ids, err = s.publisher.RunIDs(ctx)
			}
			return err
		})
		s.noteError(ctx, laneServers, err)
		if err != nil {
			return
		}
		if known != "" && ids != known {
			s.log.LogAttrs(ctx, slog.LevelWarn, "Redis was restarted or replaced, publishing everything")
			poke(s.passNow)
		}
		known = ids
	})
}
