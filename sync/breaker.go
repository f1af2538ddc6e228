package sync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
)

// breaker remembers which shards of Redis answer, so that nobody waits for a server that is away. A shard opens at the
// first call without an answer and shuts when a look proves that it takes writes. On one server all shards share their
// fate; in a cluster the trouble of one master is that of its shards alone. Safe for concurrent use.
type breaker struct {
	whole bool // one server

	mu      sync.Mutex
	away    [enforce.Shards]bool
	count   int                           // of them
	gone    [enforce.Shards]chan struct{} // closed while away; nil = nobody asked yet
	returns int                           // how often shards came back
}

func newBreaker(whole bool) *breaker { return &breaker{whole: whole} }

// isAway says that nothing of Redis answers.
func (b *breaker) isAway() bool { return b.awayCount() == enforce.Shards }

// awayCount is how many shards do not answer.
func (b *breaker) awayCount() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count
}

// shardAway says that the shard does not answer.
func (b *breaker) shardAway(shard uint8) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.away[shard]
}

// returned grows whenever a shard came back.
func (b *breaker) returned() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.returns
}

// present are the shards that answer.
func (b *breaker) present() []uint8 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(allShards(), func(shard uint8) bool { return b.away[shard] })
}

// whenAway is closed once the shard is away.
func (b *breaker) whenAway(shard uint8) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone[shard] == nil {
		b.gone[shard] = make(chan struct{})
		if b.away[shard] {
			close(b.gone[shard])
		}
	}
	return b.gone[shard]
}

// open notes that shards do not answer, and reports whether one of them did before.
func (b *breaker) open(shards []uint8) (news bool) {
	if b.whole {
		shards = allShards()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, shard := range shards {
		if b.away[shard] {
			continue
		}
		b.away[shard], news = true, true
		b.count++
		if b.gone[shard] != nil {
			close(b.gone[shard])
		}
	}
	return news
}

// shut notes that shards answer, and returns those that did not before.
func (b *breaker) shut(shards []uint8) (back []uint8) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, shard := range shards {
		if b.away[shard] {
			b.away[shard], b.gone[shard] = false, nil
			b.count--
			back = append(back, shard)
		}
	}
	if len(back) > 0 {
		b.returns++
	}
	return back
}

// unanswered reports whether err means that a server is away, or takes no writes at present; not that it answered with an
// error of this call's own.
func unanswered(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) || moving(err) {
		return false
	}
	var reply redis.Error
	return !errors.As(err, &reply) || startsWith(reply.Error(),
		"LOADING", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "OOM", "MISCONF", "NOREPLICAS")
}

// moving reports whether err means that the shard's slot is on its way to another master: the client has followed
// redirections as far as they led, or the keys of the call lie on both. It is over soon.
func moving(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply) && startsWith(reply.Error(), "MOVED", "ASK", "TRYAGAIN")
}

func startsWith(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(text, word+" ") || text == word })
}

// errAway marks errors that mean that Redis, or the part of it that the call is about, is away.
var errAway = errors.New("sync: Redis is away")

// call runs one call about any number of shards. While all are away it fails at once. If it has no answer the shards are
// looked at, to find out which.
func (s *Sync) call(ctx context.Context, fn func(context.Context) error) error {
	if s.breaker.isAway() {
		return errAway
	}
	return s.limited(ctx, nil, fn)
}

// callShard runs one call about one shard under the call timeout, and tells the breaker of its outcome. While the shard is
// away it fails at once.
func (s *Sync) callShard(ctx context.Context, shard uint8, fn func(context.Context) error) error {
	if s.breaker.shardAway(shard) {
		return errAway
	}
	return s.limited(ctx, []uint8{shard}, fn)
}

func (s *Sync) limited(ctx context.Context, shards []uint8, fn func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	err := fn(limited)
	switch {
	case ctx.Err() != nil || err == nil:
		return err
	case moving(err):
		return fmt.Errorf("%w: %w", errAway, err)
	case unanswered(err):
		if s.breaker.open(shards) {
			s.metrics.redisUp.Set(0)
		}
		poke(s.epochsNow) // at all the others of the same master
		return fmt.Errorf("%w: %w", errAway, err)
	}
	return err
}

// take notes which shards answered a look. When shards are back it wakes whoever has something to publish.
func (s *Sync) take(looks *[enforce.Shards]enforce.ShardLook) error {
	var here, away []uint8
	var first error
	for i, look := range looks {
		switch {
		case look.Err == nil || !unanswered(look.Err):
			here = append(here, uint8(i))
		default:
			away = append(away, uint8(i))
			if first == nil {
				first = look.Err
			}
		}
	}
	if len(away) > 0 { // of one server, to open any is to open all
		s.breaker.open(away)
		s.metrics.redisUp.Set(0)
	}
	if !s.breaker.whole || len(away) == 0 {
		if back := s.breaker.shut(here); len(back) > 0 {
			s.pass.need(back) // they may have come back with less, or with older things
			poke(s.pollNow)
		}
	}
	if len(away) == 0 {
		s.metrics.redisUp.Set(1)
		return nil
	}
	return fmt.Errorf("%w for %d of %d shards: %w", errAway, len(away), enforce.Shards, first)
}
