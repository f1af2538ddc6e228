package e2e_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
)

// patient is how long a write may take to say that the database is away.
const patient = 2 * time.Second

const halfSecond = `{"actions":{"message":{"min_interval_ms":1500}}}`

// checkDatabaseAway holds what the contract says of a database that is away: writes 503 with Retry-After in time, checks
// go on, not ready, alive.
func checkDatabaseAway(t *testing.T, i *instance) {
	t.Helper()
	for range 3 {
		got := i.call(t, http.MethodPut, "/v1/groups/g/policy", halfSecond, "If-Match", "*").want(t, http.StatusServiceUnavailable)
		if got.header.Get("Retry-After") == "" || got.took > patient {
			t.Fatalf("Retry-After %q after %v", got.header.Get("Retry-After"), got.took)
		}
	}
	got := i.check(t, "g", "someone-new")
	if got.at("allowed") != true || got.at("degraded") != false || got.at("version") != 1.0 || got.took > patient {
		t.Fatalf("check: %v in %v", got.body, got.took)
	}
	if i.status("/livez") != http.StatusOK || i.status("/readyz") != http.StatusServiceUnavailable {
		t.Fatalf("livez %d, readyz %d", i.status("/livez"), i.status("/readyz"))
	}
}

func TestPostgresAway(t *testing.T) {
	t.Parallel()
	t.Run("killed", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, pgtest.Options{Fsync: true})
		i := serve(t, s.env)
		i.group(t, "g", `{"actions":{"message":{"min_interval_ms":1000}}}`)
		s.postgres.Kill(t)
		checkDatabaseAway(t, i)
		s.postgres.Restart(t)
		i.awaitReady(t)
		if got := i.save(t, "g", halfSecond); got.at("version") != 2.0 {
			t.Fatalf("after the return: %v", got.body)
		}
	})
	t.Run("frozen", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, pgtest.Options{})
		i := serve(t, s.env)
		i.group(t, "g", `{"actions":{"message":{"min_interval_ms":1000}}}`)
		s.postgres.Freeze(t)
		checkDatabaseAway(t, i)
		s.postgres.Thaw(t)
		i.awaitReady(t)
		i.save(t, "g", halfSecond)
	})
}

func TestRedisAway(t *testing.T) {
	t.Parallel()
	s := newStage(t, pgtest.Options{})
	i := serve(t, s.env)
	i.group(t, "g", `{"actions":{"message":{"min_interval_ms":1000}}}`)
	s.redis.kill(t)

	got := i.call(t, http.MethodPut, "/v1/groups/g/policy", halfSecond, "If-Match", "*").want(t, http.StatusOK)
	if got.at("pending") != true || got.at("version") != 2.0 || got.took > patient {
		t.Fatalf("a save without Redis: %v in %v", got.body, got.took)
	}
	for _, test := range []struct {
		action string
		reason string
	}{{"message", "allowed_degraded"}, {"login", "refused_degraded"}} {
		got := i.call(t, http.MethodPost, "/v1/groups/g/check", `{"user_id":"u1","action":"`+test.action+`"}`).want(t, http.StatusOK)
		if got.at("degraded") != true || got.at("reason") != test.reason || got.took > patient {
			t.Fatalf("%s: %v in %v", test.action, got.body, got.took)
		}
	}
	if status := i.status("/readyz"); status != http.StatusServiceUnavailable {
		t.Fatalf("readyz %d", status)
	}

	s.redis.launch(t)
	eventually(t, 10*time.Second, "what was pending is in force", func() bool { return i.check(t, "g", "u2").at("version") == 2.0 })
	i.awaitReady(t)
	eventually(t, 5*time.Second, "the answer says so", func() bool {
		return i.call(t, http.MethodGet, "/v1/groups/g/policy", "").at("pending") == false
	})
	if out := i.output.String(); strings.Contains(out, "\nredis: ") {
		t.Errorf("the Redis client writes beside the log:\n%s", out)
	}
}

func TestC54_FlushedRedisIsWholeAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, pgtest.Options{})
	i := serve(t, s.env)
	i.group(t, "g", `{"actions":{"message":{"min_interval_ms":1000}}}`)
	i.call(t, http.MethodPut, "/v1/groups/g/mutes/loud", `{"for_ms":600000,"reason":"test"}`)
	eventually(t, 5*time.Second, "the mute", func() bool { return i.check(t, "g", "loud").at("reason") == "refused_muted" })
	if err := s.redis.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "policy and mute are back", func() bool {
		return i.check(t, "g", "quiet").at("version") == 1.0 && i.check(t, "g", "loud").at("reason") == "refused_muted"
	})
}

func TestBothAwayAtStart(t *testing.T) {
	t.Parallel()
	s := newStage(t, pgtest.Options{Fsync: true})
	s.postgres.Kill(t)
	s.redis.kill(t)
	i := launch(t, s.env)
	eventually(t, 5*time.Second, "alive", func() bool { return i.status("/livez") == http.StatusOK })
	if status := i.status("/readyz"); status != http.StatusServiceUnavailable {
		t.Fatalf("readyz %d", status)
	}
	s.postgres.Restart(t)
	s.redis.launch(t)
	i.awaitReady(t)
	i.group(t, "g", halfSecond)
}
