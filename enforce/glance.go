package enforce

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// Glance is what Redis must hold of a group, and no more. All keys lie in one shard.
type Glance struct {
	Hashes []Publication // none is a Delete
	Absent []string      // keys that must not be there
}

// Glance asks of each whether Redis holds exactly that: the same fields with the same values and nothing of what must be
// absent. True is a proof; false asks for a closer look, and is also the answer where fields stand in another order than
// they are written in. It reads in one pipeline, of any shards, at a fifth of what ReadHashes takes for all of the keys.
// Errors as ReadHashes.
func (p *Publisher) Glance(ctx context.Context, glances []Glance) ([]bool, error) {
	var replies []redis.Cmder
	for _, g := range glances {
		for k := range g.Hashes {
			replies = append(replies, redis.NewRawCmd(ctx, "hgetall", g.Hashes[k].Key))
		}
		if len(g.Absent) > 0 {
			replies = append(replies, redis.NewIntCmd(ctx, existsArgs(g.Absent)...))
		}
	}
	err := p.pipelined(ctx, len(replies), func(pipe redis.Pipeliner, i int) redis.Cmder {
		_ = pipe.Process(ctx, replies[i]) // it is queued; what it meets is the reply's
		return replies[i]
	})
	if err != nil {
		return nil, fmt.Errorf("glance at hashes: %w", err)
	}
	held := make([]bool, len(glances))
	for i, g := range glances {
		held[i] = true
		for k := range g.Hashes {
			raw, ok := replies[0].(*redis.RawCmd)
			held[i] = held[i] && ok && raw.Err() == nil && g.Hashes[k].Hash.isReply(raw.Val())
			replies = replies[1:]
		}
		if len(g.Absent) > 0 {
			count, ok := replies[0].(*redis.IntCmd)
			held[i] = held[i] && ok && count.Val() == 0
			replies = replies[1:]
		}
	}
	return held, nil
}

func existsArgs(keys []string) []any {
	args := make([]any, 1, 1+len(keys))
	args[0] = "exists"
	for i := range keys {
		args = append(args, &keys[i])
	}
	return args
}

// isReply says whether the hash is, word by word, the reply of HGETALL: an array in RESP2, a map in RESP3.
func (h Hash) isReply(reply []byte) bool {
	var head [24]byte
	text := append(strconv.AppendInt(append(head[:0], '%'), int64(len(h)/2), 10), "\r\n"...)
	if len(reply) > 0 && reply[0] == '*' {
		text = append(strconv.AppendInt(append(head[:0], '*'), int64(len(h)), 10), "\r\n"...)
	}
	reply, ok := cut(reply, text)
	for i := 0; i < len(h) && ok; i++ {
		text = append(strconv.AppendInt(append(head[:0], '$'), int64(len(h[i])), 10), "\r\n"...)
		if reply, ok = cut(reply, text); !ok || len(reply) < len(h[i])+2 || string(reply[:len(h[i])]) != h[i] {
			return false
		}
		reply = reply[len(h[i])+2:]
	}
	return ok && len(reply) == 0
}

func cut(reply, prefix []byte) ([]byte, bool) {
	if len(reply) < len(prefix) || string(reply[:len(prefix)]) != string(prefix) {
		return reply, false
	}
	return reply[len(prefix):], true
}
