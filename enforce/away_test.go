package enforce_test

import (
	"context"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

// TestHungRedisCostsTheTimeoutOnce: the client of Redis would wait for a minute. Three calls run into the timeout; then
// nobody waits but for a probe now and then, and when Redis goes on a probe finds it.
func TestHungRedisCostsTheTimeoutOnce(t *testing.T) {
	t.Parallel()
	for name, pipelining := range map[string]bool{"each alone": false, "pipelined": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t)
			rdb := s.Client()
			t.Cleanup(func() { _ = rdb.Close() })
			const timeout = 300 * time.Millisecond
			client := enforce.New(enforce.Config{Redis: rdb, Timeout: timeout, Pipelining: pipelining})
			until(t, "the first check is answered", func() bool { return check(t, client, "like", group, user).Code == policy.Allowed })
			s.Freeze(t)
			for range 3 {
				same(t, "while it hangs", policy.AllowedDegraded, check(t, client, "like", group, user).Code)
			}
			began := time.Now()
			for range 1000 {
				same(t, "while the breaker is open", policy.AllowedDegraded, check(t, client, "like", group, user).Code)
			}
			if took := time.Since(began); took > 100*timeout {
				t.Fatalf("1,000 checks took %v: each waited for Redis", took)
			}
			s.Thaw(t)
			until(t, "a probe finds Redis", func() bool { return check(t, client, "like", group, "u2").Code == policy.Allowed })
		})
	}
}

// TestCallersDeadline: a caller whose own context ends is answered by on_failure, and says nothing of Redis.
func TestCallersDeadline(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	client := enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
	s.Freeze(t)
	for range 5 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		d, err := client.Check(ctx, enforce.Request{Action: "login", Group: group, User: user})
		cancel()
		if err != nil || d.Code != policy.RefusedDegraded {
			t.Fatalf("%+v, %v", d, err)
		}
	}
	s.Thaw(t)
	same(t, "the next", policy.Allowed, check(t, client, "login", group, "u2").Code)
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within 30 s: " + what)
		}
	}
}
