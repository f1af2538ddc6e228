package sync

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// breaker remembers whether Redis answers, so that nobody waits for a server that is away. It opens at the first call
// without an answer and closes at the first call with one. Safe for concurrent use.
type breaker struct {
	mu   sync.Mutex
	away bool
	gone chan struct{} // closed while away
}

func newBreaker() *breaker { return &breaker{gone: make(chan struct{})} }

func (b *breaker) isAway() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.away
}

// whenAway is closed once Redis is away.
func (b *breaker) whenAway() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.gone
}

// open reports whether Redis counted as present before.
func (b *breaker) open() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away {
		return false
	}
	b.away = true
	close(b.gone)
	return true
}

// shut reports whether Redis counted as away before.
func (b *breaker) shut() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.away {
		return false
	}
	b.away = false
	b.gone = make(chan struct{})
	return true
}

// unanswered reports whether err means that Redis is away, or takes no writes at present; not that it answered with an
// error of this call's own.
func unanswered(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	var reply redis.Error
	if !errors.As(err, &reply) {
		return true
	}
	for _, prefix := range []string{"LOADING", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "OOM", "MISCONF", "NOREPLICAS"} {
		if strings.HasPrefix(reply.Error(), prefix) {
			return true
		}
	}
	return false
}

// errAway marks errors that mean that Redis is away.
var errAway = errors.New("sync: Redis is away")

// call runs one call to Redis under the call timeout and tells the breaker of its outcome. While Redis is away it
// fails at once; only probe gets through.
func (s *Sync) call(ctx context.Context, fn func(context.Context) error) error {
	if s.breaker.isAway() {
		return errAway
	}
	return s.probe(ctx, fn)
}

// nodes are shards that lie on every server.
func (s *Sync) nodes() []uint8 {
	if s.cfg.SingleNode {
		return []uint8{0}
	}
	return allShards()
}

// probe is call whatever the breaker says. When Redis is back it wakes whoever has something to publish.
func (s *Sync) probe(ctx context.Context, fn func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	err := fn(limited)
	if s.breaker.isAway() && !unanswered(err) { // a full one, or a replica, answers all the same
		if proof := s.publisher.ProveWrites(limited, s.nodes()); unanswered(proof) {
			err = proof
		}
	}
	switch {
	case ctx.Err() != nil:
	case unanswered(err):
		if s.breaker.open() {
			s.metrics.redisUp.Set(0)
		}
		return fmt.Errorf("%w: %w", errAway, err)
	case s.breaker.shut():
		s.metrics.redisUp.Set(1)
		s.passDue.Store(true) // it may have come back with less, or with older things
		poke(s.pollNow)
	}
	return err
}
