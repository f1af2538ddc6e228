package enforce

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
)

const (
	degradedWaitMS = 1000 // what a refusal without Redis asks to wait
	warnEvery      = time.Second
)

// degraded decides in Redis's stead.
func (c *Client) degraded(ctx context.Context, req Request, cause error) policy.Decision {
	known := c.known.last(policyName{req.Action, req.Group})
	d := policy.Decision{Code: policy.AllowedDegraded, Version: known.version}
	if known.rule == policy.Refuse {
		d.Code, d.WaitMS = policy.RefusedDegraded, degradedWaitMS
	}
	c.warner.warn(ctx, req.Action, c.cfg.Now(), d, cause)
	return d
}

// builtIn is the rule of a policy that was never seen.
func builtIn(action string) policy.OnFailure {
	switch action {
	case "login", "sms", "coupon":
		return policy.Refuse
	}
	return policy.Allow
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
