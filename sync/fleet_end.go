package sync

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/store"
)

// publishClaim publishes the groups of a claim and then what comes when they are all in Redis: the default hashes of their
// shards, so that no group is ever seen under defaults that its own hash does not know yet, and the epochs of rebuilt shards.
// It returns how many were rebuilt.
func (s *Sync) publishClaim(ctx context.Context, w *sweep, claim []store.FleetShard) (rebuilt int, err error) {
	if err := w.run(ctx); err != nil {
		return 0, err
	}
	if err := s.publishDefaults(ctx, claim); err != nil {
		return 0, err
	}
	return s.completeEpochs(ctx, claim)
}

// publishDefaults publishes the default hashes of shards at the counters with which they were asked for: newer ones have an
// asking of their own, which comes after.
func (s *Sync) publishDefaults(ctx context.Context, shards []store.FleetShard) error {
	var calls []*call
	for _, shard := range shards {
		sys, err := s.store.SystemAt(ctx, shard.Counters)
		if err != nil {
			return fmt.Errorf("read system: %w", err)
		}
		calls = append(calls, &call{shard: shard.Shard, pubs: s.compileDefaults(sys, shard.Shard)})
	}
	if err := s.withdrawPresent(ctx, calls); err != nil {
		return err
	}
	return s.publishMerged(ctx, calls)
}

// completeEpochs sets the streams' positions of rebuilt shards back and declares the shards whole, each if nobody has
// wiped it since.
func (s *Sync) completeEpochs(ctx context.Context, shards []store.FleetShard) (rebuilt int, err error) {
	byNonce := map[string][]uint8{}
	var all []uint8
	for _, shard := range shards {
		if shard.Nonce != "" {
			byNonce[shard.Nonce] = append(byNonce[shard.Nonce], shard.Shard)
			all = append(all, shard.Shard)
		}
	}
	if len(all) == 0 {
		return 0, nil
	}
	if err := s.store.ResetEventCursors(ctx, all); err != nil {
		return 0, fmt.Errorf("reset cursors: %w", err)
	}
	s.cursors.forget()
	for nonce, list := range byNonce {
		won, err := s.swap(ctx, list, func(uint8) string { return "~" + nonce }, nonce)
		if err != nil {
			return rebuilt, err
		}
		for _, ok := range won {
			if ok {
				rebuilt++
			}
		}
	}
	return rebuilt, nil
}

// fleetEnded tells that nothing is left of the job.
func (s *Sync) fleetEnded(ctx context.Context) {
	poke(s.epochsNow)
	s.wakeFleet(ctx)
	status, err := s.store.FleetStatus(ctx)
	if err != nil || status.Running() {
		return
	}
	s.metrics.passes.Observe(float64(status.TookMS) / 1000)
	s.log.LogAttrs(ctx, slog.LevelInfo, "fleet job complete", slog.String("reason", status.Reason),
		slog.Int64("groups", status.Groups), slog.Int64("took_ms", status.TookMS))
}

// publishMerged publishes calls; on a single node small ones are joined, whatever their shards: each costs a round trip
// and, in the embedded server, a new Lua state.
func (s *Sync) publishMerged(ctx context.Context, calls []*call) error {
	if s.cfg.SingleNode {
		calls = merge(calls)
	}
	return inParallel(len(calls), func(i int) error { return s.publishBy(ctx, s.fleetPublisher, calls[i]) })
}

func merge(calls []*call) (merged []*call) {
	for _, c := range calls {
		if n := len(merged); n > 0 && len(merged[n-1].pubs)+len(c.pubs) <= pubsACall {
			merged[n-1].pubs = append(merged[n-1].pubs, c.pubs...)
			continue
		}
		merged = append(merged, &call{shard: c.shard, pubs: c.pubs})
	}
	return merged
}

func allShards() []uint8 {
	list := make([]uint8, enforce.Shards)
	for i := range list {
		list[i] = uint8(i)
	}
	return list
}
