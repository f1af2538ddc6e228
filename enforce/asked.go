package enforce

import (
	"context"
	"errors"
	"fmt"
	"net"
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
	gone   <-chan struct{} // in the queue: closed when nobody waits for it any more

	decision policy.Decision
	policy   lastKnown // with learn
	err      error     // Redis has not answered
}

func (c *Client) newCall(req Request) *asked {
	now := c.cfg.Now()
	return &asked{req: req, shard: shardOf(req), now: now, learn: !c.known.fresh(policyName{req.Action, req.Group}, now)}
}

// askAll asks Redis for all of them and waits no longer than the timeout and the caller's context allow.
func (c *Client) askAll(ctx context.Context, calls []*asked) {
	if len(calls) == 0 {
		return
	}
	callCtx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	c.bounded(callCtx, calls)
	c.noteCircuits(ctx.Err() == nil, calls)
}

// bounded makes a round trip that ends with its context, also where the client of Redis would not.
func (c *Client) bounded(ctx context.Context, calls []*asked) {
	if c.obeys {
		c.roundTrip(ctx, calls)
	} else if err := c.waitFor(ctx, calls); err != nil {
		for _, call := range calls {
			call.err = err
		}
	}
}

// waitFor makes the round trip with copies, so that answers that come too late meet nobody.
func (c *Client) waitFor(ctx context.Context, calls []*asked) error {
	copies, done := make([]*asked, len(calls)), make(chan struct{})
	for i, call := range calls {
		twin := *call
		copies[i] = &twin
	}
	go func() {
		defer close(done)
		c.roundTrip(ctx, copies)
	}()
	select {
	case <-done:
		for i, twin := range copies {
			*calls[i] = *twin
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// roundTrip runs the script for each, and where a policy is to be learned reads it too: one call, or one pipeline.
func (c *Client) roundTrip(ctx context.Context, calls []*asked) {
	if len(calls) == 1 && !calls[0].learn {
		keys, args := c.call(calls[0].req)
		calls[0].decision, calls[0].err = decodeReply(c.script.Run(ctx, c.cfg.Redis, keys, args...))
		return
	}
	replies, learned := c.pipeline(ctx, calls)
	if missing := withoutScript(calls, replies); len(missing) > 0 {
		if err := c.script.Load(ctx, c.cfg.Redis).Err(); err == nil {
			again, _ := c.pipeline(ctx, missing)
			for i, at := 0, 0; i < len(calls) && at < len(missing); i++ {
				if calls[i] == missing[at] {
					replies[i] = again[at]
					at++
				}
			}
		}
	}
	for i, call := range calls {
		if call.decision, call.err = decodeReply(replies[i]); call.learn && call.err == nil {
			call.policy = learned[i].policy(call.req.Action)
			call.policy.version = call.decision.Version
			call.err = learned[i].damage(call.policy)
		}
	}
}

// pipeline sends the calls. Each reply carries its own error; on a cluster the client of Redis groups them by master.
func (c *Client) pipeline(ctx context.Context, calls []*asked) ([]*redis.Cmd, []reading) {
	pipe := c.cfg.Redis.Pipeline()
	replies, readings := make([]*redis.Cmd, len(calls)), make([]reading, len(calls))
	for i, call := range calls {
		keys, args := c.call(call.req)
		replies[i] = c.script.EvalSha(ctx, pipe, keys, args...)
		if call.learn {
			readings[i] = c.read(ctx, pipe, call.req)
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
		call.decision = c.degraded(ctx, call.req, call.err)
	case call.learn:
		c.known.learn(name, call.policy, call.now)
	default:
		c.known.seen(name, call.decision.Version)
	}
	return Decision{Decision: call.decision, told: c.known.told(name, call.decision)}
}

// noteCircuits tells the breaker who answered. A caller whose own context ended says nothing of Redis.
func (c *Client) noteCircuits(patient bool, calls []*asked) {
	for _, call := range calls {
		switch {
		case call.err == nil:
			c.circuits.answered(call.shard)
		case patient && isTimeout(call.err):
			c.circuits.timedOut(call.shard, c.cfg.Now())
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
	keys, args := c.call(Request{Action: "message", Group: "~ready", User: "~ready", Peek: true})
	if _, err := decodeReply(c.script.Run(ctx, c.cfg.Redis, keys, args...)); err != nil {
		return fmt.Errorf("run the check script: %w", err)
	}
	return nil
}
