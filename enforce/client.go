package enforce

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/policy"
)

// DefaultTimeout bounds a check where Config gives none.
const DefaultTimeout = 200 * time.Millisecond

// Config is what a Client needs. Only Redis is required.
type Config struct {
	Redis   redis.UniversalClient
	Prefix  string        // of keys; "" = DefaultPrefix
	Timeout time.Duration // of one call, beside the caller's context, whatever Redis is configured to wait; 0 = DefaultTimeout
	Logger  *slog.Logger  // for degraded decisions, at most one line a second and action; nil = none
	Now     func() time.Time
	// Pipelining lets checks that are made at the same time share a round trip. It multiplies the throughput of many
	// goroutines, and costs a lone check two switches of goroutines.
	Pipelining bool
	OnDecision func(Request, Decision) // called after each check, degraded ones too; must not block; nil = none
}

// Request names one attempt.
type Request struct {
	Action string
	Group  string
	User   string
	Roles  []string // of the user in the group; unknown ones are ignored, and what cannot be the name of one
	Cost   int64    // 0 = 1; all or nothing
	Peek   bool     // answer what cost 1 would be answered, change nothing; Cost is not looked at
}

// Client asks Redis for decisions. Safe for concurrent use. It needs no closing: it holds a goroutine only while a check is
// under way, or as long as Follow runs.
type Client struct {
	cfg      Config
	prefix   string
	script   script
	all      script // of CheckAll, where one server has all keys
	keys     Keys
	obeys    bool                 // Redis's client ends a call with its context
	cluster  *redis.ClusterClient // nil = one server
	apart    atomic.Bool          // subjects are asked one by one: what looks like one server has slots, or shares of keys
	known    *known
	circuits circuits
	queue    queue
	warner   *warner
	stats    counters
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
	cluster, many := cfg.Redis.(*redis.ClusterClient)
	c := &Client{
		cfg: cfg, prefix: keys.prefix, script: newScript(packedCheckScript()), all: newScript(packedCheckAllScript()), keys: keys,
		obeys: obeysContext(cfg.Redis), cluster: cluster, known: newKnown(), circuits: circuits{whole: !many}, warner: newWarner(cfg.Logger),
	}
	_, one := cfg.Redis.(*redis.Client)
	c.apart.Store(!one)
	return c
}

// Check decides one attempt and records it. While Redis cannot answer, the decision is AllowedDegraded or
// RefusedDegraded by the last-known policy's on_failure (unknown: login, sms and coupon refuse, the rest pass), logged
// and counted; that is no error. The only error is a *policy.Error with CodeInvalid for a malformed Request.
func (c *Client) Check(ctx context.Context, req Request) (Decision, error) {
	if err := req.check(); err != nil {
		return Decision{}, err
	}
	call := c.newCall(req)
	switch {
	case !c.circuits.allow(call.shard, call.now):
		call.err = errCircuit
	case c.cfg.Pipelining:
		c.askQueued(ctx, call)
	default:
		c.askAll(ctx, []*asked{call})
	}
	return c.settle(ctx, call), nil
}

// CheckMany decides many attempts in one round trip for each thousand, on a cluster in one for each master, side by side: the
// decisions stand in the order of the requests, and attempts of one member are decided in that order. Each is charged by
// itself; where a part of Redis is away, only what lies there is degraded. The timeout is that of the whole: thousands that
// it ends before are not asked and not charged. A malformed Request is an error as of Check, and then nothing is asked.
func (c *Client) CheckMany(ctx context.Context, reqs []Request) ([]Decision, error) {
	for i, req := range reqs {
		if err := req.check(); err != nil {
			return nil, fmt.Errorf("request %d: %w", i, err)
		}
	}
	calls := make([]*asked, len(reqs))
	for i, req := range reqs {
		calls[i] = c.newCall(req)
	}
	c.askAllowed(ctx, calls)
	decisions := make([]Decision, len(calls))
	for i, call := range calls {
		decisions[i] = c.settle(ctx, call)
	}
	return decisions, nil
}

// askAllowed asks for those of which the breaker lets calls through.
func (c *Client) askAllowed(ctx context.Context, calls []*asked) {
	sent := make([]*asked, 0, len(calls))
	for _, call := range calls {
		if c.circuits.allow(call.shard, call.now) {
			sent = append(sent, call)
		} else {
			call.err = errCircuit
		}
	}
	c.askAll(ctx, sent)
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

// call builds KEYS and ARGV in their shortest forms: the script builds the keys that few attempts need, and takes the
// user from the member's key.
func (c *Client) call(req Request) ([]string, []any) {
	head := c.prefix + ":" + ShardTag(shardOf(req))
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
		return keys, []any{req.User, joinRoles(req.Roles), cost}
	case len(req.Roles) > 0:
		return keys, []any{req.User, joinRoles(req.Roles)}
	}
	return keys, nil
}

// joinRoles is the list that the script takes. What holds its comma is no role, and must not become two.
func joinRoles(roles []string) string {
	if slices.ContainsFunc(roles, holdsComma) {
		roles = slices.DeleteFunc(slices.Clone(roles), holdsComma)
	}
	return strings.Join(roles, ",")
}

func holdsComma(role string) bool { return strings.Contains(role, ",") }

// shardOf is where all keys of a request lie.
func shardOf(req Request) uint8 {
	if isScope(req.Group) {
		return Shard(req.User)
	}
	return Shard(req.Group)
}

// decodeReply reads the script's seven integers, or the packed form of them.
func decodeReply(cmd *redis.Cmd) (policy.Decision, error) {
	if err := cmd.Err(); err != nil && cmd.Val() == nil { // a pipeline that breaks puts its error on what was answered, too
		return policy.Decision{}, err //nolint:wrapcheck // Redis's own, told as it is
	}
	return decodeDecision(cmd.Val())
}

func decodeDecision(value any) (policy.Decision, error) {
	if packed, ok := value.(string); ok && len(packed) == packedLen {
		b := []byte(packed)
		return policy.Decision{
			Code: policy.DecisionCode(b[0]), WaitMS: readUint(b[1:5]), Remaining: readUint(b[5:7]),
			Limit: min(readUint(b[7:9]), policy.MaxLimit), Strikes: int64(b[9]), Step: int64(b[10]), Version: readUint(b[11:]),
		}, nil
	}
	reply, ok := value.([]any)
	if !ok {
		return policy.Decision{}, fmt.Errorf("the check script answered %T instead of integers", value)
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
