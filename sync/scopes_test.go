package sync_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
	policysync "github.com/pacekeeper/pacekeeper/sync"
)

const userScope = `"user":{"message":{"window":{"algorithm":"sliding_window","limit":20,"period_ms":60000}}}`

// scope saves the defaults {"scopes":{…}}.
func (i *instance) scope(tb testing.TB, scopes string) {
	tb.Helper()
	doc, err := policy.ParseDefaults([]byte(`{"scopes":{` + scopes + `}}`))
	if err != nil {
		tb.Fatal(err)
	}
	if _, _, err := i.store.UpdateDefaults(tb.Context(), operator, store.Anything(), doc); err != nil {
		tb.Fatal(err)
	}
}

// scoped counts the shards by the limit that a scope's hash has there: "" where there is none.
func (at site) scoped(tb testing.TB, action string, scope policy.Scope) map[string]int {
	tb.Helper()
	counts := map[string]int{}
	for shard := range enforce.Shards {
		counts[at.field(tb, at.keys.ScopePolicy(uint8(shard), action, scope), "limit")]++
	}
	return counts
}

// TestScopesArePublishedAndWithdrawnWithTheDefaults follows a scope through its life, a flush of Redis included.
func TestScopesArePublishedAndWithdrawnWithTheDefaults(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, at site) {
		t.Helper()
		a := start(t, at, func(c *policysync.Config) { c.ReconcileEvery = time.Hour })
		everywhere := func(limit string) func() bool {
			return func() bool { return at.scoped(t, "message", policy.ScopeUser)[limit] == enforce.Shards }
		}
		keys := len(at.all(t))
		a.scope(t, userScope)
		eventually(t, "published in every shard", everywhere("20"))
		if got := len(at.all(t)) - keys; got != enforce.Shards {
			t.Errorf("%d keys more, want %d: what is not limited has none", got, enforce.Shards)
		}
		at.flush(t)
		eventually(t, "back after a flush", everywhere("20"))
		a.scope(t, `"peer":{"comment":{"min_interval_ms":2000}}`)
		eventually(t, "withdrawn", everywhere(""))
		eventually(t, "another one is there", func() bool { return at.scoped(t, "comment", policy.ScopePeer)["0"] == enforce.Shards })
		eventually(t, "tombstones", func() bool {
			return at.field(t, at.keys.ScopePolicy(255, "message", policy.ScopeUser), "deleted") == "1"
		})
		a.scope(t, userScope)
		eventually(t, "published again", everywhere("20"))
		eventually(t, "Redis equals the database", func() bool {
			got, err := a.Verify(t.Context(), nil)
			return err == nil && len(got.Differences) == 0 && got.Waiting == 0
		})
	})
}

// TestC54_DamagedScopesAreMended does to scopes what C54 does to groups.
func TestC54_DamagedScopesAreMended(t *testing.T) {
	t.Parallel()
	at := real(t)
	a := start(t, at, steadily)
	a.scope(t, userScope)
	eventually(t, "published", func() bool { return at.scoped(t, "message", policy.ScopeUser)["20"] == enforce.Shards })
	user := func(shard uint8) string { return at.keys.ScopePolicy(shard, "message", policy.ScopeUser) }
	one := func(name, kind string, command ...any) damage { return damage{name, kind, [][]any{command}} }
	mendsAll(t, at, a, []damage{
		one("scope deleted", "missing", "DEL", user(7)),
		one("scope changed", "fields", "HSET", user(8), "limit", "1"),
		one("scope ahead", "ahead", "HSET", user(9), "order", "99999999999999"),
		one("a scope that limits nothing", "stray", "HSET", at.keys.ScopePolicy(3, "login", policy.ScopeIP), "order", "1", "program", "x"),
	})
}

// TestScopesBansAreNoGroups: a ban of a scope is limiter state. It makes an event, and the database keeps nothing of it.
func TestScopesBansAreNoGroups(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, at site) {
		t.Helper()
		a := start(t, at)
		a.scope(t, `"ip":{"like":{"window":{"algorithm":"sliding_window","limit":1,"period_ms":60000},"ban":{"for_ms":3600000}}}`)
		eventually(t, "published", func() bool { return at.scoped(t, "like", policy.ScopeIP)["1"] == enforce.Shards })
		shard := enforce.Shard("192.0.2.1")
		client := enforce.New(enforce.Config{Redis: at.rdb, Timeout: time.Minute})
		ban := func() enforce.Answer {
			got, err := client.CheckAll(t.Context(), enforce.Subjects{Action: "like", IP: "192.0.2.1"})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		codes := []policy.DecisionCode{ban().Code, ban().Code, ban().Code}
		if diff := cmp.Diff([]policy.DecisionCode{policy.Allowed, policy.RefusedLimit, policy.RefusedBanned}, codes); diff != "" {
			t.Error(diff)
		}
		if n := at.rdb.XLen(t.Context(), at.keys.Events(shard)).Val(); n != 1 {
			t.Errorf("%d events, want that of the ban", n)
		}
		eventually(t, "the event is read", func() bool {
			cursors, err := a.store.EventCursors(t.Context())
			return err == nil && cursors[shard] != ""
		})
		bans, err := a.store.BansForPublish(t.Context(), []uint8{shard}, store.HoldKey{}, 10)
		if err != nil || len(bans) != 0 {
			t.Errorf("the database has %v, %v", bans, err)
		}
	})
}
