package api_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/api"
	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/store"
)

func shardTag(group string) string { return enforce.ShardTag(enforce.Shard(group)) }

func TestCheck_DecidesAndTellsTheMember(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		t.Helper()
		b := newBedOn(t, pgtest.Postgres(t), rdb)
		b.group("g1")
		gateway := b.token("gateway")
		check := func(body string) answer { return b.callAs(gateway, "POST", "/v1/groups/g1/check", body) }
		check(`{"user_id":"u1","action":"message"}`).want(200).is("allowed", "true").is("code", "0").is("reason", `"allowed"`).
			is("remaining", "7").is("limit", "8").is("version", "0").is("notice", "null").is("degraded", "false")
		refused := check(`{"user_id":"u1","action":"message","cost":1}`).want(200).is("allowed", "false").is("code", "10").
			is("reason", `"refused_interval"`).is("strikes", "1").is("step", "0")
		for _, lang := range []string{"en", "zh"} {
			if text, _ := refused.at("notice/" + lang).(string); !strings.Contains(text, "2") {
				t.Errorf("notice %s: %q", lang, text)
			}
		}
		check(`{"user_id":"u1","action":"message","roles":["admin"]}`).want(200).is("code", "1").is("reason", `"allowed_exempt"`)
		check(`{"user_id":"u1","action":"message","roles":["nobody-knows","a,admin","member"]}`).want(200).is("allowed", "false")
		check(`{"user_id":"u1","action":"message","cost":0}`).want(200).is("allowed", "false").is("step", "0")
		check(`{"user_id":"u2","action":"message","cost":9}`).want(422).is("errors/0/pointer", `"/cost"`)
		b.callAs(gateway, "POST", "/v1/groups/not-registered/check", `{"user_id":"u1","action":"message"}`).want(200).is("code", "0")
		metrics := b.send("", "GET", "/metrics", "")
		for _, line := range []string{
			`pacekeeper_http_checks_total{action="message",code="10"} `, "pacekeeper_http_check_unknown_roles_total 2",
			`pacekeeper_http_requests_total{method="POST",route="/v1/groups/:group_id/check",status="200"}`,
		} {
			if !strings.Contains(string(metrics.body), line) {
				t.Errorf("no %s in the metrics", line)
			}
		}
	})
}

func TestCheck_ActionsRegisteredAMomentAgo(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.call("POST", "/v1/groups/g1/check", `{"user_id":"u1","action":"poll"}`).want(422).is("errors/0/pointer", `"/action"`)
	b.call("PUT", "/v1/system/actions/poll", `{"speech":false}`).want(201)
	b.call("POST", "/v1/groups/g1/check", `{"user_id":"u1","action":"poll"}`).want(200)
}

func TestCheck_RedisGoneIsDegraded(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := server.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	b := newBedOn(t, pgtest.Postgres(t), rdb)
	b.group("g1")
	server.Stop()
	b.call("POST", "/v1/groups/g1/check", `{"user_id":"u1","action":"message"}`).want(200).is("code", "4").is("degraded", "true").is("allowed", "true")
	b.call("POST", "/v1/groups/g1/check", `{"user_id":"u1","action":"sms"}`).want(200).is("code", "16").is("degraded", "true").is("allowed", "false")
	b.call("PUT", "/v1/groups/g1/policy", slow, `If-Match: "0"`).want(200).is("pending", "true").is("live", "null")
}

func TestWeather_PostgresGone(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	url := server.Database(t)
	hasty := pgtest.Open(t, url, func(c *store.Config) { c.Timeout = 0 }) // as in production: 1.5 s
	b := newBedOn(t, url, redistest.Embedded(t), func(c *api.Config) { c.Store = hasty })
	b.store = hasty
	b.group("g1")
	gateway := b.token("gateway")
	check := func(user string) answer {
		return b.callAs(gateway, "POST", "/v1/groups/g1/check", `{"user_id":"`+user+`","action":"message"}`)
	}
	check("u0").want(200).is("code", "0")
	b.call("GET", "/v1/groups/g1/policy", "").want(200)
	server.Freeze(t)
	b.gone(check)
	server.Thaw(t)
	b.call("GET", "/v1/groups/g1", "")
	server.Kill(t)
	b.gone(check)
}

// TestWeather_FirstChecksFindNoDatabase: no check was made before the database froze; many at once share the wait.
func TestWeather_FirstChecksFindNoDatabase(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	url := server.Database(t)
	hasty := pgtest.Open(t, url, func(c *store.Config) { c.Timeout = 0 })
	b := newBedOn(t, url, redistest.Embedded(t), func(c *api.Config) { c.Store = hasty })
	b.call("GET", "/v1/groups", "").want(200) // the token is known
	server.Freeze(t)
	took := b.within(5000, func() {
		var checks sync.WaitGroup
		for i := range 60 {
			checks.Go(func() {
				b.call("POST", "/v1/groups/g1/check", fmt.Sprintf(`{"user_id":"u%d","action":"message"}`, i)).want(200).is("code", "0")
			})
		}
		checks.Wait()
	})
	t.Logf("60 checks took %v", took)
}

// gone asks while the database is away.
func (b *bed) gone(check func(string) answer) {
	b.t.Helper()
	for i := range 3 {
		took := b.within(2000, func() {
			a := b.call("PUT", "/v1/groups/g1/policy", slow, "If-Match: *").want(503).is("code", `"unavailable"`)
			if a.header.Get("Retry-After") == "" {
				b.t.Error("no Retry-After")
			}
		})
		b.t.Logf("a write was answered after %v", took)
		b.within(1000, func() { check(fmt.Sprintf("u%d-%s", i, took)).want(200).is("code", "0") })
		b.within(1000, func() { check(fmt.Sprintf("u%d-%s", i, took)).want(200).is("code", "10") })
	}
}
