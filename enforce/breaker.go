package enforce

import (
	"errors"
	"sync/atomic"
	"time"
)

const (
	openAfter  = 3                      // round trips in a row that ran into the timeout
	probeEvery = 100 * time.Millisecond // then one call is let through so often
)

var errCircuit = errors.New("redis did not answer in time, and is asked again in a moment")

// circuits keep callers from waiting for a server that hangs: after a few round trips in a row that ran into the timeout, decisions are degraded at once
// and only a probe now and then asks. Refused connections and error replies cost nobody time, so they open nothing, and the
// check after a restart finds Redis. On a cluster each shard has its own, so that one hung master is the trouble of its
// shards alone. The zero value is that of a cluster. Safe for concurrent use.
type circuits struct {
	whole bool // one server: all shards share one
	each  [Shards]circuit
}

type circuit struct {
	late  atomic.Int32 // timeouts in a row
	probe atomic.Int64 // when the next probe may go, Unix ns
}

func (c *circuits) of(shard uint8) *circuit {
	if c.whole {
		shard = 0
	}
	return &c.each[shard]
}

// allow says whether a call may go.
func (c *circuits) allow(shard uint8, now time.Time) bool {
	one := c.of(shard)
	if one.late.Load() < openAfter {
		return true
	}
	due := one.probe.Load()
	return now.UnixNano() >= due && one.probe.CompareAndSwap(due, now.Add(probeEvery).UnixNano())
}

func (one *circuit) answered() {
	if one.late.Load() != 0 {
		one.late.Store(0)
	}
}

func (one *circuit) timedOut(now time.Time) {
	if one.late.Add(1) >= openAfter {
		one.probe.Store(now.Add(probeEvery).UnixNano())
	}
}
