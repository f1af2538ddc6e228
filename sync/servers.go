package sync

import (
	"context"
	"log/slog"

	"github.com/pacekeeper/pacekeeper/enforce"
)

// look asks all shards how they are, and tells the breaker. The error says that some did not answer; the looks at the
// others are good all the same.
func (s *Sync) look(ctx context.Context) (*[enforce.Shards]enforce.ShardLook, error) {
	limited, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	looks := s.publisher.Look(limited)
	if ctx.Err() != nil {
		return looks, ctx.Err()
	}
	return looks, s.take(looks)
}

// compareServers finds shards whose master was restarted or replaced since the last look. It may never have been seen
// away, has its epochs, and yet may hold older things: then all of them is published again. Only the watch calls it.
func (s *Sync) compareServers(ctx context.Context, looks *[enforce.Shards]enforce.ShardLook) {
	var changed []uint8
	for i, look := range looks {
		if look.Err != nil || look.Server == "" {
			continue
		}
		if before := s.servers[i]; before != "" && before != look.Server {
			changed = append(changed, uint8(i))
		}
		s.servers[i] = look.Server
	}
	if len(changed) == 0 {
		return
	}
	s.log.LogAttrs(ctx, slog.LevelWarn, "Redis was restarted or replaced, publishing what it serves again",
		slog.Int("shards", len(changed)))
	s.pass.need(changed)
}
