package httplimit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/enforce/httplimit"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

func Example() {
	server := miniredis.NewMiniRedis()
	if err := server.Start(); err != nil {
		panic(err)
	}
	defer server.Close()
	server.SetTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), DisableIdentity: true})
	defer func() { _ = rdb.Close() }()

	limit := httplimit.Middleware(httplimit.Config{
		Client: enforce.New(enforce.Config{Redis: rdb, Timeout: 10 * time.Second}),
		Action: httplimit.Fixed("message"),
		Group:  func(r *http.Request) string { return r.PathValue("group") },
		User:   func(r *http.Request) string { return r.Header.Get("Authenticated-User") }, // set by your own sign-in
	})
	mux := http.NewServeMux()
	mux.Handle("POST /groups/{group}/messages", limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d, _ := httplimit.Decision(r.Context())
		fmt.Fprintf(w, "sent, %d left\n", d.Remaining)
	})))
	for range 2 {
		r := httptest.NewRequest(http.MethodPost, "/groups/tea/messages", nil)
		r.Header.Set("Authenticated-User", "ann")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("Retry-After"), strings.TrimSpace(w.Body.String()))
	}
	// Output:
	// 200  sent, 7 left
	// 429 2 {"type":"about:blank","title":"Too many requests","status":429,"code":"refused_interval","detail":"You’re writing quickly. Please wait 2 s before the next message.","hint":{"allowed":false,"code":10,"reason":"refused_interval","retry_after_ms":2000,"remaining":7,"limit":8,"policy_version":0,"degraded":false}}
}

// bed is a handler behind the middleware.
type bed struct {
	t      *testing.T
	cfg    httplimit.Config
	passed int
}

func newBed(t *testing.T, rdb redis.UniversalClient) *bed {
	t.Helper()
	b := &bed{t: t}
	b.cfg = httplimit.Config{
		Client: enforce.New(enforce.Config{Redis: rdb, Timeout: 10 * time.Second}),
		Action: func(r *http.Request) string { return r.Header.Get("Action") },
		Group:  httplimit.Fixed("g1"),
		User:   func(r *http.Request) string { return r.Header.Get("User") },
		Roles:  func(r *http.Request) []string { return r.Header.Values("Role") },
		Cost:   func(r *http.Request) int64 { return int64(len(r.Header.Get("Cost"))) },
	}
	return b
}

// send answers status, problem (empty where there is none) and headers.
func (b *bed) send(headers ...string) (int, httplimit.Problem, http.Header) {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), "POST", "/", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	httplimit.Middleware(b.cfg)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { b.passed++ })).ServeHTTP(w, r)
	var p httplimit.Problem
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			b.t.Fatal(err)
		}
	}
	return w.Code, p, w.Header()
}

func (b *bed) want(status int, code string, headers ...string) (httplimit.Problem, http.Header) {
	b.t.Helper()
	got, p, h := b.send(headers...)
	if got != status || p.Code != code || status != 200 && h.Get("Content-Type") != "application/problem+json" {
		b.t.Fatalf("%v: %d %+v %v, want %d %s", headers, got, p, h, status, code)
	}
	return p, h
}

func TestRequestsBecomeChecks(t *testing.T) {
	t.Parallel()
	b := newBed(t, redistest.Real(t))
	b.want(200, "", "Action", "message", "User", "u1")
	p, h := b.want(429, "refused_interval", "Action", "message", "User", "u1", "Accept-Language", "fr, zh-TW;q=0.8, en;q=0.5")
	if !strings.Contains(p.Detail, "您") || h.Get("Retry-After") == "" || p.Hint.RetryAfterMS < 1 {
		t.Fatalf("%+v %v", p, h)
	}
	b.want(200, "", "Action", "message", "User", "u1", "Role", "vip", "Role", "admin")
	b.want(200, "", "User", "u1") // no action: not limited
	b.want(429, "refused_limit", "Action", "message", "User", "u2", "Cost", "123456789")
	b.want(400, "invalid", "Action", "message", "User", "a|b")
	if b.passed != 3 {
		t.Fatalf("%d requests passed", b.passed)
	}
}

func TestDegradedRequests(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: s.Socket, DialerRetries: 1, MaxRetries: -1, DisableIdentity: true})
	t.Cleanup(func() { _ = rdb.Close() })
	b := newBed(t, rdb)
	s.Stop()
	b.want(200, "", "Action", "message", "User", "u1")
	_, h := b.want(503, "refused_degraded", "Action", "login", "User", "u1")
	if h.Get("Retry-After") != "1" {
		t.Fatalf("%v", h)
	}
	b.cfg.Degraded = policy.Refuse
	p, _ := b.want(503, "refused_degraded", "Action", "message", "User", "u1")
	if p.Hint.Allowed || !p.Hint.Degraded {
		t.Fatalf("%+v", p)
	}
	b.cfg.Degraded = policy.Allow
	b.want(200, "", "Action", "login", "User", "u1")
}

// TestQueueIsWaitedOut: the leaky queue's delay passes before the handler runs.
func TestQueueIsWaitedOut(t *testing.T) {
	t.Parallel()
	rdb := redistest.Real(t)
	p := policy.FactoryPolicy("message")
	p.MinIntervalMS, p.Algorithm, p.Queue, p.Limit, p.PeriodMS, p.Order = 0, policy.LeakyBucket, true, 5, 50, 1
	keys := enforce.NewKeys("")
	if _, err := enforce.NewPublisher(rdb, keys).Publish(t.Context(), enforce.Shard("g1"), []enforce.Publication{
		{Key: keys.Policy("message", "g1"), Order: 1, Hash: enforce.PolicyHash(p)},
	}); err != nil {
		t.Fatal(err)
	}
	b := newBed(t, rdb)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, problem := b.cfg.Check(httptest.NewRequestWithContext(ctx, "POST", "/", nil)); problem != nil {
		t.Fatalf("unlimited: %+v", problem)
	}
	began := time.Now()
	for range 4 {
		b.want(200, "", "Action", "message", "User", "u1")
	}
	if took := time.Since(began); took < 100*time.Millisecond {
		t.Fatalf("4 requests took %v", took)
	}
}

// TestQueueIsWaitedForInBounds: what would wait longer than MaxDelay is 429 at once, whoever goes away is not waited for, and
// HEAD and OPTIONS are checked as any other.
func TestQueueIsWaitedForInBounds(t *testing.T) {
	t.Parallel()
	rdb := redistest.Real(t)
	p := policy.FactoryPolicy("message")
	p.MinIntervalMS, p.Algorithm, p.Queue, p.Limit, p.PeriodMS, p.Order = 0, policy.LeakyBucket, true, 9, 20_000, 1
	keys := enforce.NewKeys("")
	if _, err := enforce.NewPublisher(rdb, keys).Publish(t.Context(), enforce.Shard("g1"), []enforce.Publication{
		{Key: keys.Policy("message", "g1"), Order: 1, Hash: enforce.PolicyHash(p)},
	}); err != nil {
		t.Fatal(err)
	}
	b := newBed(t, rdb)
	b.want(200, "", "Action", "message", "User", "u1")
	p1, h := b.want(429, "delay", "Action", "message", "User", "u1")
	if seconds, _ := strconv.Atoi(h.Get("Retry-After")); seconds < 10 || seconds > 20 || p1.Hint.Allowed || p1.Detail == "" {
		t.Errorf("%+v %v", p1, h)
	}
	b.cfg.MaxDelay = -1
	b.want(429, "delay", "Action", "message", "User", "u1")
	b.cfg.MaxDelay = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	cfg := b.cfg
	done := make(chan *httplimit.Problem, 1)
	r := httptest.NewRequestWithContext(ctx, http.MethodHead, "/", nil)
	r.Header.Set("Action", "message")
	r.Header.Set("User", "u1")
	go func() {
		_, problem := cfg.Check(r)
		done <- problem
	}()
	for waiting, deadline := false, time.Now().Add(30*time.Second); !waiting; {
		d, err := cfg.Client.Check(t.Context(), enforce.Request{Action: "message", Group: "g1", User: "u1", Peek: true})
		if waiting = d.Remaining == 5; err != nil || time.Now().After(deadline) {
			t.Fatalf("not in the queue: %+v, %v", d.Decision, err)
		}
	}
	cancel()
	if problem := <-done; problem == nil || problem.Code != "gone" {
		t.Errorf("%+v: the handler ran for a caller who has gone", problem)
	}
}

// TestPanicsOfTheConfigCharge: nothing is asked where a function panics; the panic is the server's.
func TestPanicsOfTheConfigChargeNothing(t *testing.T) {
	t.Parallel()
	rdb := redistest.Embedded(t)
	b := newBed(t, rdb)
	b.cfg.Cost = func(*http.Request) int64 { panic("of the service") }
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		b.send("Action", "message", "User", "u1")
	}()
	if n := rdb.DBSize(t.Context()).Val(); n != 0 || b.passed != 0 {
		t.Errorf("%d keys, %d passed", n, b.passed)
	}
}
