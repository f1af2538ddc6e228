package e2e_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
)

// auditKey is 32 bytes of nothing in base64.
const auditKey = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

// stage is one Postgres and one Redis, with servers on them.
type stage struct {
	postgres *pgtest.Server
	redis    *redisServer
	env      map[string]string
}

func newStage(tb testing.TB, options pgtest.Options) *stage {
	tb.Helper()
	options.TCP = true
	s := &stage{postgres: pgtest.Start(tb, options), redis: startRedis(tb)}
	s.env = map[string]string{
		"PACEKEEPER_DATABASE_URL": s.postgres.Database(tb), "PACEKEEPER_REDIS_URL": s.redis.url(),
		"PACEKEEPER_AUDIT_KEY": auditKey, "PACEKEEPER_BOOTSTRAP_TOKEN": operator,
	}
	return s
}

func TestTwoInstances(t *testing.T) {
	t.Parallel()
	s := newStage(t, pgtest.Options{})
	a, b := serve(t, s.env), serve(t, s.env)

	t.Run("C56 a policy saved on one is in force on the other", func(t *testing.T) {
		t.Parallel()
		const eight = `{"actions":{"message":{"min_interval_ms":null,"window":{"algorithm":"sliding_window","limit":8,"period_ms":30000}}}}`
		a.group(t, "c56", eight)
		for range 3 {
			if got := b.check(t, "c56", "u1"); got.at("allowed") != true || got.at("limit") != 8.0 {
				t.Fatalf("under limit 8: %v", got.body)
			}
		}
		a.save(t, "c56", strings.Replace(eight, `"limit":8`, `"limit":3`, 1))
		for _, i := range []*instance{a, b} {
			if got := i.check(t, "c56", "u1"); got.at("reason") != "refused_limit" {
				t.Fatalf("under limit 3: %v", got.body)
			}
		}
	})

	t.Run("a mute taken on one is listed and lifted on the other", func(t *testing.T) {
		t.Parallel()
		a.group(t, "mutes", `{"actions":{"message":{"min_interval_ms":10000}},"penalties":{"ladder":[{"after":2,"do":"mute","for_ms":60000}]}}`)
		eventually(t, 20*time.Second, "a mute", func() bool { return a.check(t, "mutes", "u1").at("reason") == "refused_muted" })
		muted, _ := b.call(t, http.MethodGet, "/v1/groups/mutes/mutes", "").want(t, http.StatusOK).at("items").([]any)
		if len(muted) != 1 {
			t.Fatalf("muted: %v", muted)
		}
		b.call(t, http.MethodDelete, "/v1/groups/mutes/mutes/u1", "", "Prefer", "wait=5").want(t, http.StatusNoContent)
		eventually(t, 5*time.Second, "the lift is in force", func() bool { return a.check(t, "mutes", "u1").at("reason") != "refused_muted" })
	})

	t.Run("a revoked token ends everywhere within 5 s", func(t *testing.T) {
		t.Parallel()
		made := a.call(t, http.MethodPost, "/v1/tokens", `{"name":"short-lived","role":"auditor"}`).want(t, http.StatusCreated)
		bearer := "Bearer " + made.at("token").(string)
		b.call(t, http.MethodGet, "/v1/groups", "", "Authorization", bearer).want(t, http.StatusOK)
		a.call(t, http.MethodDelete, "/v1/tokens/"+made.at("id").(string), "")
		eventually(t, 5500*time.Millisecond, "401", func() bool {
			return b.call(t, http.MethodGet, "/v1/groups", "", "Authorization", bearer).status == http.StatusUnauthorized
		})
	})
}

func TestKillOfOneInstanceLosesNothingAnswered(t *testing.T) {
	t.Parallel()
	s := newStage(t, pgtest.Options{})
	a, b := serve(t, s.env), serve(t, s.env)
	checkNothingLost(t, a, saveUntilKilled(t, b))
}

func TestSixStartAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, pgtest.Options{})
	var instances []*instance
	for range 6 {
		instances = append(instances, launch(t, s.env))
	}
	for _, i := range instances {
		i.awaitReady(t)
	}
	first := instances[0].call(t, http.MethodGet, "/v1/tokens", "").want(t, http.StatusOK)
	if tokens, _ := first.at("items").([]any); len(tokens) != 1 {
		t.Fatalf("%d operator tokens", len(tokens))
	}
}
