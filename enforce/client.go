package enforce

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/policy"
)

// DefaultTimeout bounds a check where Config gives none.
const DefaultTimeout = 200 * time.Millisecond

// Config is what a Client needs. Only Redis is required.
type Config struct {
	Redis      redis.UniversalClient
	Prefix     string        // of keys; "" = DefaultPrefix
	Timeout    time.Duration // of one check, beside the caller's context; 0 = DefaultTimeout
	Logger     *slog.Logger  // for degraded decisions, at most one line a second and action; nil = none
	Now        func() time.Time
	OnDecision func(Request, policy.Decision) // called after each check, degraded ones too; must not block; nil = none
}

// Request names one attempt.
type Request struct {
	Action string
	Group  string
	User   string
	Roles  []string // of the user in the group; unknown ones are ignored
	Cost   int64    // 0 = 1; all or nothing
	Peek   bool     // answer what cost 1 would be answered, change nothing; Cost is not looked at
}

// Client asks Redis for decisions. Safe for concurrent use; it holds no goroutine and needs no closing.
type Client struct {
	cfg    Config
	prefix string
	script *redis.Script
	keys   Keys
	known  *known
	warner *warner
	stats  counters
}

// New makes a client.
func New(cfg Config) *Client {
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Now == nil {
		cfg.Now = time.Now //nolint:forbidigo // the kit's default, for services that do not inject a clock
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	keys := NewKeys(cfg.Prefix)
	return &Client{
		cfg: cfg, prefix: keys.prefix, script: redis.NewScript(packedCheckScript()), keys: keys,
		known: newKnown(), warner: newWarner(cfg.Logger),
	}
}

// Check decides one attempt and records it. While Redis cannot answer, the decision is AllowedDegraded or
// RefusedDegraded by the last-known policy's on_failure (unknown: login, sms and coupon refuse, the rest pass), logged
// and counted; that is no error. The only error is a *policy.Error with CodeInvalid for a malformed Request.
func (c *Client) Check(ctx context.Context, req Request) (policy.Decision, error) {
	if err := req.check(); err != nil {
		return policy.Decision{}, err
	}
	callCtx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	d, err := c.ask(callCtx, req)
	if err != nil {
		d = c.degraded(ctx, req, err)
	}
	c.stats.count(d)
	if c.cfg.OnDecision != nil {
		c.cfg.OnDecision(req, d)
	}
	return d, nil
}

// check refuses what would not make a key.
func (r Request) check() error {
	if !policy.ValidActionName(r.Action) {
		return policy.Errorf(policy.CodeInvalid, "an action's name is a lower-case letter, then up to 31 of a-z, 0-9, _ and -")
	}
	if r.Cost < 0 {
		return policy.Errorf(policy.CodeInvalid, "cost must be an integer of at least 0")
	}
	if err := policy.CheckID("/group_id", r.Group); err != nil {
		return err
	}
	return policy.CheckID("/user_id", r.User)
}

// ask runs the script; the first time, and where what is known of the policy is stale, it also reads on_failure in the
// same round trip.
func (c *Client) ask(ctx context.Context, req Request) (policy.Decision, error) {
	keys, args := c.call(req)
	now := c.cfg.Now()
	if c.known.fresh(req.Action, req.Group, now) {
		d, err := decodeReply(c.script.Run(ctx, c.cfg.Redis, keys, args...))
		if err == nil {
			c.known.seen(req.Action, req.Group, d.Version)
		}
		return d, err
	}
	pipe := c.cfg.Redis.Pipeline()
	reply := c.script.EvalSha(ctx, pipe, keys, args...)
	own := pipe.HGet(ctx, keys[0], "on_failure")
	def := pipe.HGet(ctx, keys[1], "on_failure")
	_, _ = pipe.Exec(ctx) // each reply carries its own error
	if redis.HasErrorPrefix(reply.Err(), "NOSCRIPT") {
		reply = c.script.Eval(ctx, c.cfg.Redis, keys, args...)
	}
	d, err := decodeReply(reply)
	if err == nil {
		c.known.learn(req.Action, req.Group, d.Version, onFailure(own.Val(), def.Val(), req.Action), now)
	}
	return d, err
}

// call builds KEYS and ARGV in their shortest forms: the script builds the keys that few attempts need, and takes the
// user from the member's key.
func (c *Client) call(req Request) ([]string, []any) {
	head := c.prefix + ":" + ShardTag(Shard(req.Group))
	keys := []string{
		head + ":policy:" + req.Action + "|" + req.Group,
		head + ":default:" + req.Action,
		head + ":state:" + req.Action + "|" + req.Group + "|" + req.User,
		head + ":member:" + req.Group + "|" + req.User,
	}
	cost := ""
	switch {
	case req.Peek:
		cost = "0"
	case req.Cost > 1:
		cost = itoa(req.Cost)
	}
	switch {
	case cost != "":
		return keys, []any{req.User, strings.Join(req.Roles, ","), cost}
	case len(req.Roles) > 0:
		return keys, []any{req.User, strings.Join(req.Roles, ",")}
	}
	return keys, nil
}

// decodeReply reads the script's seven integers, or the packed form of them.
func decodeReply(cmd *redis.Cmd) (policy.Decision, error) {
	if packed, ok := cmd.Val().(string); ok && len(packed) == packedLen {
		b := []byte(packed)
		return policy.Decision{
			Code: policy.DecisionCode(b[0]), WaitMS: readUint(b[1:5]), Remaining: readUint(b[5:7]),
			Limit: min(readUint(b[7:9]), policy.MaxLimit), Strikes: int64(b[9]), Step: int64(b[10]), Version: readUint(b[11:]),
		}, nil
	}
	reply, err := cmd.Slice()
	if err != nil {
		return policy.Decision{}, err
	}
	var n [7]int64
	if len(reply) != len(n) {
		return policy.Decision{}, fmt.Errorf("the check script answered %d values instead of %d", len(reply), len(n))
	}
	for i, v := range reply {
		var ok bool
		if n[i], ok = v.(int64); !ok {
			return policy.Decision{}, fmt.Errorf("value %d of the check script is no integer", i)
		}
	}
	return policy.Decision{
		Code: policy.DecisionCode(n[0]), WaitMS: n[1], Remaining: n[2], Limit: n[3], Strikes: n[4], Step: n[5], Version: n[6],
	}, nil
}

// Ready says whether Redis runs the script (not only answers a PING), by a peek that changes nothing.
func (c *Client) Ready(ctx context.Context) error {
	keys, args := c.call(Request{Action: "message", Group: "~ready", User: "~ready", Peek: true})
	if _, err := decodeReply(c.script.Run(ctx, c.cfg.Redis, keys, args...)); err != nil {
		return fmt.Errorf("run the check script: %w", err)
	}
	return nil
}
