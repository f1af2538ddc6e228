package enforce

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// RunIDs names the life of the server, or of all masters of a cluster: another value than before means that one was
// restarted or replaced, and may hold less, or older things, than was written. "" where the server does not tell.
func (p *Publisher) RunIDs(ctx context.Context) (string, error) {
	var (
		mu  sync.Mutex
		ids []string
	)
	ask := func(ctx context.Context, node *redis.Client) error {
		info, err := node.InfoMap(ctx, "server").Result()
		if reply := redis.Error(nil); errors.As(err, &reply) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("ask for the run id: %w", err)
		}
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, info["Server"]["run_id"])
		return nil
	}
	var err error
	switch rdb := p.rdb.(type) {
	case *redis.ClusterClient:
		err = rdb.ForEachMaster(ctx, ask)
	case *redis.Client:
		err = ask(ctx, rdb)
	}
	slices.Sort(ids)
	return strings.Join(ids, " "), err
}

// ProveWrites finds out whether the servers of the shards take writes, by writes that change nothing: each would
// replace a key that never is. The error is the server's own where it is a replica, out of memory or the like.
func (p *Publisher) ProveWrites(ctx context.Context, shards []uint8) error {
	pipe := p.rdb.Pipeline()
	for _, shard := range shards {
		pipe.SetXX(ctx, p.keys.Never(shard), "", 0)
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("prove that writes work: %w", err)
	}
	return nil
}

// Present says which of the keys are there.
func (p *Publisher) Present(ctx context.Context, keys []string) ([]bool, error) {
	present, replies := make([]bool, len(keys)), make([]*redis.IntCmd, len(keys))
	if len(keys) == 0 {
		return present, nil
	}
	pipe := p.rdb.Pipeline()
	for i, key := range keys {
		replies[i] = pipe.Exists(ctx, key)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("look for keys: %w", err)
	}
	for i, reply := range replies {
		present[i] = reply.Val() > 0
	}
	return present, nil
}
