package enforce

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/policy"
)

// asked is one attempt on its way to Redis and back.
type asked struct {
	req    Request
	shard  uint8
	now    time.Time       // when it began
	learn  bool            // what is known of the policy is stale: it is read in the same round trip
	queued chan struct{}   // in the queue: closed when the answer is there
	told   bool            // in the queue: queued is closed
	gone   <-chan struct{} // in the queue: closed when nobody waits for it any more

	decision policy.Decision
	policy   lastKnown // with learn
	read     bool      // with err: policy was found all the same
	err      error     // Redis has not answered
	how      int64     // by check_all.lua: what became of it
}

func (c *Client) newCall(req Request) *asked {
	now := c.cfg.Now()
	return &asked{req: req, shard: shardOf(req), now: now, learn: !c.known.fresh(policyName{req.Action, req.Group}, now)}
}

// manyMost is how many calls a round trip carries at most.
const manyMost = 1000

// askAll asks Redis for all of them and waits no longer than the timeout and the caller's context allow.
func (c *Client) askAll(ctx context.Context, calls []*asked) {
	if len(calls) == 0 {
		return
	}
	callCtx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	if c.cluster != nil && len(calls) > 1 {
		c.askMasters(callCtx, calls)
	} else {
		for some := range slices.Chunk(calls, manyMost) {
			c.askSome(callCtx, some)
		}
	}
	c.noteCircuits(ctx.Err() == nil, calls)
}

// askSome makes a round trip, unless the context has ended: what is not asked is not charged.
func (c *Client) askSome(ctx context.Context, calls []*asked) {
	if err := ctx.Err(); err != nil {
		fail(calls, err)
		return
	}
	c.bounded(ctx, calls)
}

func fail(calls []*asked, err error) {
	for _, call := range calls {
		call.err = err
	}
}

// bounded makes a round trip that ends with its context, also where the client of Redis would not.
func (c *Client) bounded(ctx context.Context, calls []*asked) {
	switch {
	case c.cluster != nil && len(calls) > 1:
		c.askMasters(ctx, calls)
	case c.obeys:
		c.roundTrip(ctx, calls)
	default:
		c.waitFor(ctx, calls, c.roundTrip)
	}
}

// waitFor makes the round trip with copies, so that answers that come too late meet nobody.
func (c *Client) waitFor(ctx context.Context, calls []*asked, trip func(context.Context, []*asked)) {
	copies, done := make([]*asked, len(calls)), make(chan struct{})
	for i, call := range calls {
		twin := *call
		copies[i] = &twin
	}
	go func() {
		defer close(done)
		trip(ctx, copies)
	}()
	select {
	case <-done:
		for i, twin := range copies {
			*calls[i] = *twin
		}
	case <-ctx.Done():
		fail(calls, ctx.Err())
	}
}

// roundTrip runs the script for each, and where a policy is to be learned reads it too: one call, or one pipeline.
func (c *Client) roundTrip(ctx context.Context, calls []*asked) {
	if len(calls) == 1 && !calls[0].learn {
		calls[0].decision, calls[0].err = decodeReply(c.run(ctx, calls[0].req))
		return
	}
	replies, learned := c.pipeline(ctx, calls, true)
	if missing := withoutScript(calls, replies); len(missing) > 0 {
		c.loadScript(ctx, missing)
		again, _ := c.pipeline(ctx, missing, false)
		for i, at := 0, 0; i < len(calls) && at < len(missing); i++ {
			if calls[i] == missing[at] {
				replies[i] = again[at]
				at++
			}
		}
	}
	for i, call := range calls {
		if call.decision, call.err = decodeReply(replies[i]); call.learn {
			call.learned(learned[call.policyAt()])
		}
	}
}

// learned takes in what was read of the policy: its on_failure binds also where the script could not run, as on a replica.
func (a *asked) learned(r reading) {
	a.policy = r.policy(a.req.Action)
	if a.err != nil {
		a.read = r.found()
		return
	}
	a.policy.version = a.decision.Version
	a.err = r.damage(a.policy)
}

// policyAt is a policy in its shard; those of scopes stand in each.
type policyAt struct {
	name  policyName
	shard uint8
}

func (a *asked) policyAt() policyAt { return policyAt{policyName{a.req.Action, a.req.Group}, a.shard} }

// pipeline sends the calls and, if asked to, reads each policy that is to be learned once. Each reply carries its own
// error; on a cluster the client of Redis groups them by master.
func (c *Client) pipeline(ctx context.Context, calls []*asked, learn bool) ([]*redis.Cmd, map[policyAt]reading) {
	pipe := c.cfg.Redis.Pipeline()
	replies, readings := make([]*redis.Cmd, len(calls)), map[policyAt]reading{}
	for i, call := range calls {
		keys, args := c.call(call.req)
		replies[i] = send(ctx, pipe, "evalsha", c.script.Hash(), keys, args)
		if _, read := readings[call.policyAt()]; learn && call.learn && !read {
			readings[call.policyAt()] = c.read(ctx, pipe, call.req)
		}
	}
	_, _ = pipe.Exec(ctx)
	return replies, readings
}

func withoutScript(calls []*asked, replies []*redis.Cmd) (missing []*asked) {
	for i, reply := range replies {
		if redis.HasErrorPrefix(reply.Err(), "NOSCRIPT") {
			missing = append(missing, calls[i])
		}
	}
	return missing
}

// settle makes the decision of what came back, and tells of it.
func (c *Client) settle(ctx context.Context, call *asked) Decision {
	d := c.learned(ctx, call)
	c.tell(call.req, d)
	return d
}

func (c *Client) tell(req Request, d Decision) {
	c.stats.count(req.Action, d.Decision)
	if c.cfg.OnDecision != nil {
		c.cfg.OnDecision(req, d)
	}
}

// learned makes the decision of what came back, and takes in what it tells of the policy.
func (c *Client) learned(ctx context.Context, call *asked) Decision {
	name := policyName{call.req.Action, call.req.Group}
	switch {
	case call.err != nil:
		if call.read {
			c.known.learn(name, call.policy, call.now)
		}
		call.decision = c.degraded(ctx, call.req, call.err)
	case call.learn:
		c.known.learn(name, call.policy, call.now)
	default:
		c.known.seen(name, call.decision.Version)
	}
	return Decision{Decision: call.decision, told: c.known.told(name, call.decision)}
}

// noteCircuits tells the breaker who answered; however many calls a round trip carries, it is late once. A caller whose own
// context ended says nothing of Redis.
func (c *Client) noteCircuits(patient bool, calls []*asked) {
	if len(calls) == 1 && calls[0].err == nil {
		c.circuits.of(calls[0].shard).answered()
		return
	}
	late := map[*circuit]bool{}
	for _, call := range calls {
		one := c.circuits.of(call.shard)
		if call.err == nil {
			one.answered()
			late[one] = false
		} else if _, noted := late[one]; !noted && patient && isTimeout(call.err) {
			late[one] = true
		}
	}
	for one, is := range late {
		if is {
			one.timedOut(c.cfg.Now())
		}
	}
}

func isTimeout(err error) bool {
	var late net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &late) && late.Timeout()
}

// obeysContext says whether a client of Redis ends a call when its context ends; most do not unless told to.
func obeysContext(rdb redis.UniversalClient) bool {
	switch r := rdb.(type) {
	case *redis.Client:
		return r.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		return r.Options().ContextTimeoutEnabled
	}
	return false
}

// Ready says whether Redis runs the script (not only answers a PING), by a peek that changes nothing.
func (c *Client) Ready(ctx context.Context) error {
	probe := Request{Action: "message", Group: "~ready", User: "~ready", Peek: true}
	if _, err := decodeReply(c.run(ctx, probe)); err != nil {
		return fmt.Errorf("run the check script: %w", err)
	}
	return nil
}
