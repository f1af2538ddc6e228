package enforce

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
)

const (
	knownMax       = 20_000           // policies remembered at most, about 4 MB
	knownFor       = 10 * time.Minute // then on_failure is read again
	degradedWaitMS = 1000             // what a refusal without Redis asks to wait
	warnEvery      = time.Second
)

// Stats counts a client's decisions since it was made.
type Stats struct {
	Allowed         int64 // codes 0 to 3
	Refused         int64 // codes 10 to 15
	DegradedAllowed int64
	DegradedRefused int64
}

// Stats answers the counts so far.
func (c *Client) Stats() Stats {
	return Stats{
		Allowed: c.stats.allowed.Load(), Refused: c.stats.refused.Load(),
		DegradedAllowed: c.stats.degradedAllowed.Load(), DegradedRefused: c.stats.degradedRefused.Load(),
	}
}

type counters struct {
	allowed, refused, degradedAllowed, degradedRefused atomic.Int64
}

func (s *counters) count(d policy.Decision) {
	switch {
	case d.Code == policy.AllowedDegraded:
		s.degradedAllowed.Add(1)
	case d.Code == policy.RefusedDegraded:
		s.degradedRefused.Add(1)
	case d.Allowed():
		s.allowed.Add(1)
	default:
		s.refused.Add(1)
	}
}

// degraded decides in Redis's stead.
func (c *Client) degraded(ctx context.Context, req Request, cause error) policy.Decision {
	rule, version := c.known.rule(req.Action, req.Group)
	d := policy.Decision{Code: policy.AllowedDegraded, Version: version}
	if rule == policy.Refuse {
		d.Code, d.WaitMS = policy.RefusedDegraded, degradedWaitMS
	}
	c.warner.warn(ctx, req.Action, c.cfg.Now(), d, cause)
	return d
}

// onFailure reads the rule of a group's hash, else of the defaults, else what is built in.
func onFailure(own, def, action string) policy.OnFailure {
	for _, text := range []string{own, def} {
		if rule := policy.OnFailure(text); rule == policy.Allow || rule == policy.Refuse {
			return rule
		}
	}
	return builtIn(action)
}

// builtIn is the rule of a policy that was never seen.
func builtIn(action string) policy.OnFailure {
	switch action {
	case "login", "sms", "coupon":
		return policy.Refuse
	}
	return policy.Allow
}

// known remembers the on_failure of policies seen lately: two generations of maps, of which the older is dropped when
// the younger is half full. Safe for concurrent use.
type known struct {
	mu         sync.Mutex
	young, old map[policyName]lastKnown
}

type policyName struct{ action, group string }

type lastKnown struct {
	rule    policy.OnFailure
	version int64
	until   time.Time // then it is read again
}

func newKnown() *known { return &known{young: map[policyName]lastKnown{}} }

func (k *known) get(name policyName) (lastKnown, bool) {
	if e, ok := k.young[name]; ok {
		return e, true
	}
	e, ok := k.old[name]
	if ok {
		k.put(name, e)
	}
	return e, ok
}

func (k *known) put(name policyName, e lastKnown) {
	if len(k.young) >= knownMax/2 {
		k.old, k.young = k.young, map[policyName]lastKnown{}
	}
	k.young[name] = e
}

// fresh says whether the rule need not be read again.
func (k *known) fresh(action, group string, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, ok := k.get(policyName{action, group})
	return ok && now.Before(e.until)
}

// seen notes the version of an answer; another one than known makes the rule stale.
func (k *known) seen(action, group string, version int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := policyName{action, group}
	if e, ok := k.get(name); ok && e.version != version {
		e.until, e.version = time.Time{}, version
		k.put(name, e)
	}
}

func (k *known) learn(action, group string, version int64, rule policy.OnFailure, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.put(policyName{action, group}, lastKnown{rule: rule, version: version, until: now.Add(knownFor)})
}

func (k *known) rule(action, group string) (policy.OnFailure, int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e, ok := k.get(policyName{action, group}); ok {
		return e.rule, e.version
	}
	return builtIn(action), 0
}

// warner logs degraded decisions, at most one line a second and action, with the number that it stands for.
type warner struct {
	log  *slog.Logger
	mu   sync.Mutex
	last map[string]warned
}

type warned struct {
	at    time.Time
	since int64 // decisions since that line
}

func newWarner(log *slog.Logger) *warner { return &warner{log: log, last: map[string]warned{}} }

func (w *warner) warn(ctx context.Context, action string, now time.Time, d policy.Decision, cause error) {
	w.mu.Lock()
	e, ok := w.last[action]
	e.since++
	due := !ok || now.Sub(e.at) >= warnEvery || now.Before(e.at)
	count := e.since
	if due {
		e = warned{at: now}
	}
	w.last[action] = e
	w.mu.Unlock()
	if due {
		w.log.LogAttrs(ctx, slog.LevelWarn, "redis cannot answer, decided by on_failure",
			slog.String("action", action), slog.String("decision", d.Code.String()),
			slog.Int64("decisions", count), slog.String("error", cause.Error()))
	}
}
