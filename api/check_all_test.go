package api_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

const oneAMinute = `{"window":{"algorithm":"sliding_window","limit":1,"period_ms":60000}}`

func TestCheckAll_AnswersForTheScopeThatRefuses(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		t.Helper()
		b := newBedOn(t, pgtest.Postgres(t), rdb)
		b.group("g1")
		gateway := b.token("gateway")
		check := func(body string) answer { return b.callAs(gateway, "POST", "/v1/check", body) }
		b.call("PUT", "/v1/system/defaults", `{"scopes":{"ip":{"like":`+oneAMinute+`}}}`, "If-Match: *").want(200).
			is("scopes/ip/like/window/limit", "1").is("clamped", "[]")
		b.publishScope(rdb, policy.ScopeIP, "like")
		check(`{"action":"like","subjects":{"group":"g1","user":"u1","ip":"192.0.2.1"},"roles":["member"]}`).want(200).
			is("scope", `"group"`).is("allowed", "true").is("notice", "null")
		refused := check(`{"action":"like","subjects":{"user":"u2","ip":"::ffff:192.0.2.1"}}`).want(200).is("scope", `"ip"`).is("allowed", "false").
			is("code", "11").is("reason", `"refused_limit"`).is("limit", "1").is("degraded", "false").is("version", "1")
		for _, lang := range []string{"en", "zh"} {
			if text, _ := refused.at("notice/" + lang).(string); !strings.Contains(text, "1 ") {
				t.Errorf("notice %s: %q", lang, text)
			}
		}
		check(`{"action":"like","subjects":{"ip":"192.0.2.2"},"cost":2}`).want(422).is("errors/0/pointer", `"/cost"`)
		check(`{"action":"like","subjects":{"ip":"192.0.2.3"},"cost":0}`).want(200).is("allowed", "true").is("remaining", "1")
		if metrics := b.send("", "GET", "/metrics", ""); !strings.Contains(string(metrics.body), `pacekeeper_http_checks_total{action="like",code="11"} `) {
			t.Error("not counted")
		}
	})
}

// publishScope does what sync does with a scope of the defaults.
func (b *bed) publishScope(rdb redis.UniversalClient, scope policy.Scope, action string) {
	b.t.Helper()
	sys, err := b.store.System(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	c, limited := sys.CompileScope(scope, action)
	if !limited {
		b.t.Fatalf("%s is not limited by %s", action, scope)
	}
	keys := enforce.NewKeys("")
	for shard := range enforce.Shards {
		pub := enforce.Publication{Key: keys.ScopePolicy(uint8(shard), action, scope), Order: c.Order, Hash: enforce.PolicyHash(c)}
		if _, err := enforce.NewPublisher(rdb, keys).Publish(b.t.Context(), uint8(shard), []enforce.Publication{pub}); err != nil {
			b.t.Fatal(err)
		}
	}
}

func TestCheckAll_Faults(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for body, pointer := range map[string]string{
		`{"subjects":{"user":"u1"}}`:                                           "/action",
		`{"action":"message"}`:                                                 "/subjects",
		`{"action":"message","subjects":{}}`:                                   "/subjects",
		`{"action":"message","subjects":"u1"}`:                                 "/subjects",
		`{"action":"message","subjects":{"room":"g1"}}`:                        "/subjects/room",
		`{"action":"message","subjects":{"group":"g1"}}`:                       "/subjects/user",
		`{"action":"message","subjects":{"peer":"u2"}}`:                        "/subjects/user",
		`{"action":"message","subjects":{"user":""}}`:                          "/subjects/user",
		`{"action":"message","subjects":{"user":7}}`:                           "/subjects/user",
		`{"action":"message","subjects":{"user":"a b"}}`:                       "/subjects/user",
		`{"action":"message","subjects":{"group":"~ip","user":"u1"}}`:          "/subjects/group",
		`{"action":"message","subjects":{"user":"u1","peer":"a|b"}}`:           "/subjects/peer",
		`{"action":"message","subjects":{"ip":"localhost"}}`:                   "/subjects/ip",
		`{"action":"nonsense","subjects":{"user":"u1"}}`:                       "/action",
		`{"action":"message","subjects":{"user":"u1"},"cost":-1}`:              "/cost",
		`{"action":"message","subjects":{"user":"u1"},"roles":["admin",null]}`: "/roles",
		`{"action":"message","subjects":{"user":"u1"},"group_id":"g1"}`:        "/group_id",
	} {
		if got := b.call("POST", "/v1/check", body).want(422).at("errors/0/pointer"); got != pointer {
			t.Errorf("%s: %v, want %s", body, got, pointer)
		}
	}
	b.call("PUT", "/v1/groups/g1", `{"name":"x"}`).want(201)
	b.call("PUT", "/v1/groups/g1/policy", `{"scopes":{"ip":{}}}`, `If-Match: "0"`).want(422).is("errors/0/pointer", `"/scopes"`)
	b.call("PUT", "/v1/system/defaults", `{"scopes":{"ip":{"nonsense":{}}}}`, "If-Match: *").want(422).is("errors/0/pointer", `"/scopes/ip/nonsense"`)
	b.call("PUT", "/v1/system/defaults", `{"scopes":{"ip":{"message":{"min_interval_ms":99000}}}}`, "If-Match: *", "Prefer: handling=strict").
		want(422).is("errors/0/pointer", `"/scopes/ip/message/min_interval_ms"`)
	b.call("POST", "/v1/system/defaults/preview", `{"scopes":{"ip":{"message":{"min_interval_ms":99000}}}}`).want(200).
		is("changed", "0").is("scopes/0/path", `"/scopes/ip/message/enabled"`).is("defaults_clamped/0/path", `"/scopes/ip/message/min_interval_ms"`)
}

func TestCheckAll_RedisGoneIsDegraded(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	once := *server.Client().Options()
	once.MaxRetries, once.DialerRetries = -1, 1
	rdb := redis.NewClient(&once)
	t.Cleanup(func() { _ = rdb.Close() })
	b := newBedOn(t, pgtest.Postgres(t), rdb)
	server.Stop()
	b.call("POST", "/v1/check", `{"action":"message","subjects":{"user":"u1"}}`).want(200).is("code", "4").is("degraded", "true").is("scope", `"user"`)
	b.call("POST", "/v1/check", `{"action":"sms","subjects":{"ip":"192.0.2.1"}}`).want(200).is("code", "16").is("allowed", "false").is("scope", `"ip"`)
}
