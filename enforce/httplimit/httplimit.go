// Package httplimit puts checks in front of net/http handlers.
package httplimit

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
)

// Config says how a request becomes a check. Client, Action, Group and User are required. Take Group and User from what you
// have authenticated, not from what the caller claims.
type Config struct {
	Client *enforce.Client
	Action func(*http.Request) string // "" = the request is not limited
	Group  func(*http.Request) string
	User   func(*http.Request) string
	Roles  func(*http.Request) []string // nil = none
	Cost   func(*http.Request) int64    // nil or 0 = 1
	// Locale of the notice, as zh-CN; nil = the first of English and Chinese in Accept-Language.
	Locale func(*http.Request) string
	// Degraded overrules on_failure while Redis does not answer: policy.Allow or policy.Refuse; "" = as the policy says.
	Degraded policy.OnFailure
	// MaxDelay is how long a request may wait its turn in a leaky queue; a longer delay is answered 429 with Retry-After. It
	// has its turn in the queue all the same. 0 = DefaultMaxDelay, below 0 = none waits.
	MaxDelay time.Duration
}

// DefaultMaxDelay is below what servers and proxies commonly wait for an answer.
const DefaultMaxDelay = 10 * time.Second

// Fixed answers the same whatever the request, as the action of a route.
func Fixed(value string) func(*http.Request) string {
	return func(*http.Request) string { return value }
}

// Middleware checks each request before next. What passes goes on, with the decision in its context; a leaky queue's delay
// is waited out first, up to MaxDelay. A HEAD or OPTIONS request is checked as any other: let Action answer "" for those that
// are not to count. A function that panics is the server's to recover, and nothing has been charged then. What is refused is answered as problem+json in the member's language: 429 with Retry-After, or 503
// with it where Redis did not answer and the rule refuses; a request whose ids or action are malformed is 400. It panics if
// a required field is missing.
func Middleware(cfg Config) func(next http.Handler) http.Handler {
	if cfg.Client == nil || cfg.Action == nil || cfg.Group == nil || cfg.User == nil {
		panic("httplimit: Client, Action, Group and User are required")
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			passed, problem := cfg.Check(r)
			if problem != nil {
				problem.Write(w)
				return
			}
			next.ServeHTTP(w, passed)
		})
	}
}

// Check decides a request: it answers the request to go on with, or the problem to answer. Middlewares for other routers
// build on it.
func (cfg Config) Check(r *http.Request) (*http.Request, *Problem) {
	req := enforce.Request{Action: cfg.Action(r), Group: cfg.Group(r), User: cfg.User(r)}
	if req.Action == "" {
		return r, nil
	}
	if cfg.Roles != nil {
		req.Roles = cfg.Roles(r)
	}
	if cfg.Cost != nil {
		req.Cost = cfg.Cost(r)
	}
	d, err := cfg.Client.Check(r.Context(), req)
	if err != nil {
		return nil, malformed(err)
	}
	if !cfg.passes(d) {
		return nil, refused(d, cfg.locale(r))
	}
	if d.Code == policy.Delay {
		if time.Duration(d.WaitMS) > cfg.maxDelay()/time.Millisecond {
			return nil, refused(d, cfg.locale(r))
		}
		if !waited(r.Context(), time.Duration(d.WaitMS)*time.Millisecond) {
			return nil, &Problem{Title: "The caller has gone", Status: http.StatusServiceUnavailable, Code: "gone"}
		}
	}
	return r.WithContext(context.WithValue(r.Context(), decisionKey{}, d)), nil
}

// passes applies the overruling of degraded decisions.
func (cfg Config) passes(d enforce.Decision) bool {
	if d.Degraded() && cfg.Degraded != "" {
		return cfg.Degraded == policy.Allow
	}
	return d.Allowed()
}

func (cfg Config) maxDelay() time.Duration {
	if cfg.MaxDelay == 0 {
		return DefaultMaxDelay
	}
	return max(cfg.MaxDelay, 0)
}

// waited waits; false = the context ended first.
func waited(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

type decisionKey struct{}

// Decision answers what let a request pass; false = it was not checked.
func Decision(ctx context.Context) (enforce.Decision, bool) {
	d, ok := ctx.Value(decisionKey{}).(enforce.Decision)
	return d, ok
}

// Problem is an answer after RFC 9457.
type Problem struct {
	Type   string        `json:"type"`
	Title  string        `json:"title"`
	Status int           `json:"status"`
	Code   string        `json:"code"`             // as refused_interval, for programs
	Detail string        `json:"detail,omitempty"` // the notice, for the member
	Hint   *enforce.Hint `json:"hint,omitempty"`   // the decision, for a countdown; none where nothing was decided
}

func refused(d enforce.Decision, locale string) *Problem {
	hint := d.Hint()
	hint.Allowed = false
	p := &Problem{
		Title: "Too many requests", Status: http.StatusTooManyRequests, Code: d.Code.String(), Detail: d.Notice(locale), Hint: &hint,
	}
	if d.Code == policy.Delay { // it has no notice, as it mostly passes
		late := d
		late.Code = policy.RefusedInterval
		p.Detail = late.Notice(locale)
	}
	if d.Degraded() {
		p.Title, p.Status, p.Code = "Not possible at the moment", http.StatusServiceUnavailable, policy.RefusedDegraded.String()
		hint.RetryAfterMS = max(hint.RetryAfterMS, degradedWait.Milliseconds())
	}
	return p
}

// degradedWait is what a degraded refusal asks to wait where the decision names no wait.
const degradedWait = time.Second

func malformed(err error) *Problem {
	p := &Problem{Title: "The request cannot be checked", Status: http.StatusBadRequest, Code: string(policy.CodeInvalid)}
	if fault, ok := errors.AsType[*policy.Error](err); ok {
		p.Detail = fault.Message
	}
	return p
}

// Write answers the problem.
func (p *Problem) Write(w http.ResponseWriter) {
	p.Type = "about:blank"
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	if p.Hint != nil && p.Hint.RetryAfterMS > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt((p.Hint.RetryAfterMS+999)/1000, 10))
	}
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // a caller who is gone cannot be told
}

// locale of the notice.
func (cfg Config) locale(r *http.Request) string {
	if cfg.Locale != nil {
		return cfg.Locale(r)
	}
	for tag := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		tag, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(tag)), ";")
		if lang, _, _ := strings.Cut(tag, "-"); lang == policy.English || lang == policy.Chinese {
			return lang
		}
	}
	return policy.English
}
