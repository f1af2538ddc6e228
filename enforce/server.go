package enforce

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"
)

// ShardLook is what the master of a shard answered of itself and of the shard.
type ShardLook struct {
	Epoch string // "" = absent, ~nonce = a rebuild is under way
	// Server names the life of the master: another one than before means that it was restarted or replaced, and may hold
	// less, or older things, than was written. "" where it does not tell.
	Server string
	Err    error // why it does not answer or takes no writes; the rest is then not set
}

// Look asks the masters of all shards for the epochs and for their own names, and has them prove that they take writes, by
// writes that change nothing: each would replace a key that never is. Each master is asked in one round trip, side by
// side with the others, so that one without an answer costs the shards that it serves and no others.
func (p *Publisher) Look(ctx context.Context) *[Shards]ShardLook {
	looks := &[Shards]ShardLook{}
	cluster, many := p.rdb.(*redis.ClusterClient)
	if !many {
		p.lookAtOne(ctx, looks)
		return looks
	}
	var asking sync.WaitGroup
	for node, shards := range p.masters(ctx, cluster, looks) {
		asking.Go(func() { p.lookAt(ctx, node, shards, true, looks) })
	}
	asking.Wait()
	p.lookAgain(ctx, cluster, looks)
	return looks
}

// masters groups the shards by the server to ask for them.
func (p *Publisher) masters(ctx context.Context, cluster *redis.ClusterClient, looks *[Shards]ShardLook) map[redis.Cmdable][]uint8 {
	nodes := map[redis.Cmdable][]uint8{}
	for i := range looks {
		shard := uint8(i)
		master, err := cluster.MasterForKey(ctx, p.keys.Never(shard))
		if err != nil {
			looks[i].Err = fmt.Errorf("find the master: %v", err) //nolint:errorlint // no answer of the shard's own
			continue
		}
		nodes[master] = append(nodes[master], shard)
	}
	return nodes
}

// lookAgain asks once more for shards that have moved, through the client that follows redirections, and has the client
// learn where the masters are now.
func (p *Publisher) lookAgain(ctx context.Context, cluster *redis.ClusterClient, looks *[Shards]ShardLook) {
	var moved []uint8
	trouble := false
	for i, look := range looks {
		trouble = trouble || look.Err != nil
		if redis.HasErrorPrefix(look.Err, "MOVED") || redis.HasErrorPrefix(look.Err, "ASK") {
			moved = append(moved, uint8(i))
		}
	}
	if trouble {
		cluster.ReloadState(ctx)
	}
	if len(moved) > 0 {
		p.lookAt(ctx, cluster, moved, false, looks)
	}
}

// lookAtOne asks the one server of all shards: what it answers once holds for each.
func (p *Publisher) lookAtOne(ctx context.Context, looks *[Shards]ShardLook) {
	keys := make([]string, len(looks))
	for i := range looks {
		keys[i] = p.keys.Epoch(uint8(i))
	}
	pipe := p.rdb.Pipeline()
	info, epochs, proof := pipe.InfoMap(ctx, "server"), pipe.MGet(ctx, keys...), pipe.SetXX(ctx, p.keys.Never(0), "", 0)
	_, _ = pipe.Exec(ctx)
	name, err := p.nameOf(info)
	for _, failed := range []error{epochs.Err(), proof.Err()} {
		if err == nil && failed != nil && !isMissing(failed) {
			err = failed
		}
	}
	for i := range looks {
		looks[i] = ShardLook{Err: err}
		if err == nil {
			epoch, _ := epochs.Val()[i].(string)
			looks[i] = ShardLook{Epoch: epoch, Server: name}
		}
	}
}

// lookAt asks one server; its name only if it is one.
func (p *Publisher) lookAt(ctx context.Context, node redis.Cmdable, shards []uint8, one bool, looks *[Shards]ShardLook) {
	pipe := node.Pipeline()
	var info *redis.InfoCmd
	if one {
		info = pipe.InfoMap(ctx, "server")
	}
	epochs, proofs := make([]*redis.StringCmd, len(shards)), make([]*redis.BoolCmd, len(shards))
	for i, shard := range shards {
		epochs[i] = pipe.Get(ctx, p.keys.Epoch(shard))
		proofs[i] = pipe.SetXX(ctx, p.keys.Never(shard), "", 0)
	}
	_, _ = pipe.Exec(ctx) // each reply carries its own error
	name, wrong := p.nameOf(info)
	for i, shard := range shards {
		look := ShardLook{Epoch: epochs[i].Val(), Server: name}
		for _, err := range []error{epochs[i].Err(), proofs[i].Err()} {
			if err != nil && !isMissing(err) {
				look = ShardLook{Err: err}
			}
		}
		if wrong != nil {
			look = ShardLook{Err: wrong}
		}
		looks[shard] = look
	}
}

var errClusterNode = errors.New("the server is a node of a cluster, and the client is for one server: " +
	"name several nodes, or add ?cluster=true")

// nameOf is the server's name, and an error where a client for one server has met a cluster: it would answer for some
// shards only, and take no call about several.
func (p *Publisher) nameOf(info *redis.InfoCmd) (string, error) {
	if info == nil {
		return "", nil
	}
	server := info.Val()["Server"] // empty where it does not tell
	if _, many := p.rdb.(*redis.ClusterClient); !many && server["redis_mode"] == "cluster" {
		return "", errClusterNode
	}
	return server["run_id"], nil
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
