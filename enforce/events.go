package enforce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/policy"
)

// Event is a strike or ban that the check script took, as it stands in a shard's stream.
type Event struct {
	ID     string // of the stream's entry, the cursor behind it
	Shard  uint8
	Action string
	Group  string // "" = the entry is of no group (a scope's ban), or cannot be read; it only moves the cursor
	User   string
	policy.Event
}

// ReadEvents reads the events behind each shard's cursor ("" = from the start), at most count a shard, in one pipeline
// and without blocking. Events come in the order of shards, and of the stream within a shard.
func (p *Publisher) ReadEvents(ctx context.Context, cursors map[uint8]string, count int64) ([]Event, error) {
	shards := make([]uint8, 0, len(cursors))
	for shard := range cursors {
		shards = append(shards, shard)
	}
	slices.Sort(shards)
	if _, many := p.rdb.(*redis.ClusterClient); !many && len(shards) > 0 {
		events, err := p.readStreams(ctx, shards, cursors, count)
		if err == nil || !isMissing(err) {
			return events, err
		} // a stream of another type hides the others
	}
	pipe := p.rdb.Pipeline()
	replies := make([]*redis.XMessageSliceCmd, len(shards))
	for i, shard := range shards {
		from := "-"
		if cursor := cursors[shard]; cursor != "" {
			from = "(" + cursor
		}
		replies[i] = pipe.XRangeN(ctx, p.keys.Events(shard), from, "+", count)
	}
	if _, err := pipe.Exec(ctx); err != nil && !isMissing(err) {
		return nil, fmt.Errorf("read events: %w", err)
	}
	var events []Event
	for i, shard := range shards {
		for _, msg := range replies[i].Val() {
			events = append(events, p.parseEvent(shard, msg))
		}
	}
	return events, nil
}

// readStreams is ReadEvents on one server, in one command: it is asked several times a second, nearly always in vain.
func (p *Publisher) readStreams(ctx context.Context, shards []uint8, cursors map[uint8]string, count int64) ([]Event, error) {
	keys, from, of := make([]string, len(shards)), make([]string, len(shards)), make(map[string]uint8, len(shards))
	for i, shard := range shards {
		keys[i], from[i] = p.keys.Events(shard), cmp.Or(cursors[shard], "0")
		of[keys[i]] = shard
	}
	streams, err := p.rdb.XRead(ctx, &redis.XReadArgs{Streams: append(keys, from...), Count: count, Block: -1}).Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	var events []Event
	for _, stream := range streams {
		for _, msg := range stream.Messages {
			events = append(events, p.parseEvent(of[stream.Stream], msg))
		}
	}
	return events, nil
}

// parseEvent reads `<at> <code> <strikes> <step> <cause> <mute_start> <mute_end> <ban_start> <ban_end>`.
func (p *Publisher) parseEvent(shard uint8, msg redis.XMessage) Event {
	passed := Event{ID: msg.ID, Shard: shard}
	key, _ := msg.Values["k"].(string)
	text, _ := msg.Values["v"].(string)
	action, group, user, ok := p.keys.parseState(key)
	words := strings.Split(text, " ")
	if !ok || len(words) != 9 || len(words[4]) != 1 || strings.HasPrefix(group, "~") { // a scope's ban is limiter state
		return passed
	}
	var n [9]int64
	for i, word := range words {
		if n[i], ok = parseInt(word); !ok && i != 4 {
			return passed
		}
	}
	return Event{ID: msg.ID, Shard: shard, Action: action, Group: group, User: user, Event: policy.Event{
		AtMS: n[0], Code: policy.DecisionCode(n[1]), Strikes: n[2], Step: n[3], Cause: causeOf(words[4][0]),
		MuteStartMS: n[5], MuteEndMS: n[6], BanStartMS: n[7], BanEndMS: n[8],
	}}
}

// SwapEpochs replaces the epoch of each shard by next iff it is still the one seen ("" = absent), in one call, and says
// which it replaced; the others had another writer. A rebuild goes from what was seen to ~nonce, and from ~nonce to
// nonce when it is complete. On a cluster a call takes one shard. It panics unless there is a seen for each shard.
func (p *Publisher) SwapEpochs(ctx context.Context, shards []uint8, seen []string, next string) ([]bool, error) {
	keys, args, won := make([]string, len(shards)), []any{next}, make([]bool, len(shards))
	for i, shard := range shards {
		keys[i] = p.keys.Epoch(shard)
		args = append(args, seen[i])
	}
	replaced, err := p.scripts.epoch.Run(ctx, p.rdb, keys, args...).Int64Slice()
	if err != nil {
		return won, fmt.Errorf("set epochs: %w", err)
	}
	for i, n := range replaced {
		won[i] = n == 1
	}
	return won, nil
}

// isMissing says whether a reply means that nothing readable is stored: no key, or one of another type.
func isMissing(err error) bool {
	return errors.Is(err, redis.Nil) || redis.HasErrorPrefix(err, "WRONGTYPE")
}
