//nolint:thelper // the functions given to Each are the tests themselves; as helpers they would hide the failing line
package enforce_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

// scopes is a Redis whose scopes have policies, and a client of it.
type scopes struct {
	t      *testing.T
	rdb    redis.UniversalClient
	keys   enforce.Keys
	pub    *enforce.Publisher
	client *enforce.Client
	order  int64
}

// apart is a client of which nobody can know that it is one of a single server.
type apart struct{ redis.UniversalClient }

// eachWay runs a test in one call for all subjects and in steps, on a real Redis and on the embedded one.
func eachWay(t *testing.T, test func(t *testing.T, rdb redis.UniversalClient)) {
	t.Helper()
	t.Run("together", func(t *testing.T) {
		t.Parallel()
		redistest.Each(t, test)
	})
	t.Run("in steps", func(t *testing.T) {
		t.Parallel()
		redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) { test(t, apart{rdb}) })
	})
}

func newScopes(t *testing.T, rdb redis.UniversalClient) *scopes {
	t.Helper()
	keys := enforce.NewKeys("")
	return &scopes{
		t: t, rdb: rdb, keys: keys, pub: enforce.NewPublisher(rdb, keys),
		client: enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute}),
	}
}

// atMost is a policy of so many messages a minute in a scope.
func atMost(limit int64, edits ...func(*policy.Compiled)) policy.Compiled {
	c := policy.Compiled{
		Action: "message", Enabled: true, Mode: policy.Hard, Limit: limit, PeriodMS: 60_000, OnFailure: policy.Allow,
		ExemptRoles: []string{policy.NoRole},
	}
	for _, edit := range edits {
		edit(&c)
	}
	return c
}

// limit publishes a scope's policy in every shard.
func (s *scopes) limit(scope policy.Scope, c policy.Compiled) {
	s.t.Helper()
	s.order++
	c.Order, c.Version = s.order, s.order
	for shard := range enforce.Shards {
		pubs := []enforce.Publication{{
			Key: s.keys.ScopePolicy(uint8(shard), c.Action, scope), Order: c.Order, Hash: enforce.PolicyHash(c),
		}}
		if results, err := s.pub.Publish(s.t.Context(), uint8(shard), pubs); err != nil || results[0] != enforce.Written {
			s.t.Fatalf("publish = %v, %v", results, err)
		}
	}
}

func (s *scopes) ask(who enforce.Subjects) enforce.Answer {
	s.t.Helper()
	if who.Action == "" {
		who.Action = "message"
	}
	answer, err := s.client.CheckAll(s.t.Context(), who)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer
}

// want fails unless a scope answers with a code, and with what remains where that is given.
func (s *scopes) want(who enforce.Subjects, scope policy.Scope, code policy.DecisionCode, remaining ...int64) enforce.Answer {
	s.t.Helper()
	got := s.ask(who)
	if got.Scope != scope || got.Code != code || len(remaining) > 0 && got.Remaining != remaining[0] {
		s.t.Fatalf("%+v: %s answers %v, want %s %v %v (%+v)", who, got.Scope, got.Code, scope, code, remaining, got.Decision.Decision)
	}
	return got
}

// remains peeks at what one scope has left.
func (s *scopes) remains(who enforce.Subjects, want int64) {
	s.t.Helper()
	who.Peek = true
	if got := s.ask(who); got.Remaining != want {
		s.t.Errorf("%+v: %d remain, want %d", who, got.Remaining, want)
	}
}

func TestScopesAreAskedWhereTheyLimit(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newScopes(t, rdb)
		s.want(enforce.Subjects{IP: "192.0.2.1"}, policy.ScopeIP, policy.Allowed, 0)
		s.want(enforce.Subjects{Group: "g1", User: "u1", IP: "192.0.2.1"}, policy.ScopeGroup, policy.Allowed, 7)
		for _, key := range rdb.Keys(t.Context(), "*~*").Val() {
			t.Errorf("%s: what does not limit keeps no state", key)
		}
		s.client = enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
		s.limit(policy.ScopeUser, atMost(2))
		s.want(enforce.Subjects{Group: "g2", User: "u1"}, policy.ScopeGroup, policy.Allowed)
		s.want(enforce.Subjects{Group: "g3", User: "u1"}, policy.ScopeGroup, policy.Allowed)
		refused := s.want(enforce.Subjects{Group: "g4", User: "u1"}, policy.ScopeUser, policy.RefusedLimit)
		if refused.Limit != 2 || refused.WaitMS < 50_000 || refused.Version != 1 {
			t.Errorf("%+v", refused.Decision.Decision)
		}
		if text := refused.Notice("en"); !strings.Contains(text, "2") || !strings.Contains(text, "1 min") {
			t.Errorf("notice %q", text)
		}
		s.want(enforce.Subjects{Group: "g4", User: "u2"}, policy.ScopeGroup, policy.Allowed)
		s.want(enforce.Subjects{Action: "comment", Group: "g4", User: "u1"}, policy.ScopeGroup, policy.Allowed)
	})
}

// TestScopesChargeNothingWhereOneRefuses looks at what each has left after a refusal by each other.
func TestScopesChargeNothingWhereOneRefuses(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newScopes(t, rdb)
		s.limit(policy.ScopeUser, atMost(10))
		s.limit(policy.ScopeIP, atMost(3))
		u1 := enforce.Subjects{Group: "g1", User: "u1", IP: "192.0.2.1"}
		s.want(u1, policy.ScopeGroup, policy.Allowed, 7)
		s.want(u1, policy.ScopeGroup, policy.RefusedInterval) // 2 s in the group
		s.remains(enforce.Subjects{User: "u1"}, 9)
		s.remains(enforce.Subjects{IP: "192.0.2.1"}, 2)
		s.want(enforce.Subjects{IP: "192.0.2.1", Cost: 2}, policy.ScopeIP, policy.Allowed, 0)
		s.want(enforce.Subjects{Group: "g2", User: "u1", IP: "192.0.2.1"}, policy.ScopeIP, policy.RefusedLimit)
		s.remains(enforce.Subjects{User: "u1"}, 9)
		s.want(enforce.Subjects{Group: "g2", User: "u1", Peek: true}, policy.ScopeGroup, policy.Allowed, 8)
		s.want(enforce.Subjects{User: "u1", Cost: 10}, policy.ScopeUser, policy.RefusedLimit, 9)
		s.want(enforce.Subjects{User: "u1", Cost: 11}, policy.ScopeUser, policy.RefusedLimit, 9)
		s.want(enforce.Subjects{User: "u1", Cost: 9}, policy.ScopeUser, policy.Allowed, 0)
	})
}

// TestScopesAnswerTheLongestWait has the group and two scopes refuse at once.
func TestScopesAnswerTheLongestWait(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newScopes(t, rdb)
		interval := func(ms int64) func(*policy.Compiled) {
			return func(c *policy.Compiled) { c.Limit, c.PeriodMS, c.MinIntervalMS = 0, 0, ms }
		}
		s.limit(policy.ScopeUser, atMost(0, interval(40_000)))
		s.limit(policy.ScopeIP, atMost(0, interval(90_000)))
		who := enforce.Subjects{Group: "g1", User: "u1", IP: "2001:db8::1"}
		s.want(who, policy.ScopeGroup, policy.Allowed)
		s.want(who, policy.ScopeIP, policy.RefusedInterval)
		who.IP = ""
		s.want(who, policy.ScopeUser, policy.RefusedInterval)
		if err := s.pub.PutMute(t.Context(), "g1", "u1", enforce.MuteRecord{StartMS: 1, EndMS: time.Now().Add(time.Hour).UnixMilli(), Cause: policy.CauseModerator}); err != nil {
			t.Fatal(err)
		}
		s.want(who, policy.ScopeGroup, policy.RefusedMuted)
	})
}

func TestPeersShareOneLimit(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newScopes(t, rdb)
		s.limit(policy.ScopePeer, atMost(2))
		s.want(enforce.Subjects{User: "ann", Peer: "bo"}, policy.ScopePeer, policy.Allowed, 1)
		s.want(enforce.Subjects{User: "bo", Peer: "ann"}, policy.ScopePeer, policy.Allowed, 0)
		s.want(enforce.Subjects{User: "ann", Peer: "bo"}, policy.ScopePeer, policy.RefusedLimit)
		s.want(enforce.Subjects{User: "ann", Peer: "cy"}, policy.ScopePeer, policy.Allowed, 1)
		if _, stepped := rdb.(apart); stepped {
			return // nobody can know where all keys of such a client lie
		}
		found, err := s.pub.Person(t.Context(), "ann", true)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "records of ann, who is first in both pairs", int64(2), found.Records)
		s.want(enforce.Subjects{User: "ann", Peer: "bo"}, policy.ScopePeer, policy.Allowed, 1)
	})
}

// TestAddressesOfOneNetworkShareOneLimit: the /64 of IPv6, and IPv4 however it is written.
func TestAddressesOfOneNetworkShareOneLimit(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newScopes(t, rdb)
		s.limit(policy.ScopeIP, atMost(3))
		for remaining, address := range []string{"2001:db8:0:1::2", "2001:DB8:0:1:ffff::1", "2001:db8:0:1::"} {
			s.want(enforce.Subjects{IP: address}, policy.ScopeIP, policy.Allowed, int64(2-remaining))
		}
		s.want(enforce.Subjects{IP: "2001:db8:0:1::9"}, policy.ScopeIP, policy.RefusedLimit)
		s.want(enforce.Subjects{IP: "2001:db8:0:2::9"}, policy.ScopeIP, policy.Allowed, 2)
		s.want(enforce.Subjects{IP: "192.0.2.7"}, policy.ScopeIP, policy.Allowed, 2)
		s.want(enforce.Subjects{IP: "::ffff:192.0.2.7"}, policy.ScopeIP, policy.Allowed, 1)
	})
}

// TestScopesKnowNoRolesAndNoStrikes: roles exempt in the group alone, and a scope neither strikes nor mutes.
func TestScopesKnowNoRolesAndNoStrikes(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newScopes(t, rdb)
		s.limit(policy.ScopeUser, atMost(1))
		admin := enforce.Subjects{Group: "g1", User: "u1", Roles: []string{"admin", policy.NoRole}}
		s.want(admin, policy.ScopeGroup, policy.AllowedExempt)
		for range 5 {
			if got := s.want(admin, policy.ScopeUser, policy.RefusedLimit); got.Strikes != 0 || got.Step != 0 {
				t.Errorf("%+v", got.Decision.Decision)
			}
		}
		if n := rdb.Exists(t.Context(), s.keys.Member("g1", "u1")).Val(); n != 0 {
			t.Error("the group counted a strike of the scope")
		}
		for _, key := range rdb.Keys(t.Context(), "*member:~*").Val() {
			t.Error(key)
		}
	})
}

// TestScopesBanAndCountRefused: what a scope does beside refusing, it does where the peek refuses, too.
func TestScopesBanAndCountRefused(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newScopes(t, rdb)
		s.limit(policy.ScopeIP, atMost(1, func(c *policy.Compiled) { c.BanForMS = 3_600_000 }))
		s.limit(policy.ScopeUser, atMost(1, func(c *policy.Compiled) { c.MinIntervalMS, c.CountRefused = 100, true }))
		who := enforce.Subjects{IP: "192.0.2.1"}
		s.want(who, policy.ScopeIP, policy.Allowed)
		if got := s.want(who, policy.ScopeIP, policy.RefusedLimit); got.WaitMS != 3_600_000 {
			t.Errorf("waits %d ms", got.WaitMS)
		}
		s.want(who, policy.ScopeIP, policy.RefusedBanned)
		s.want(enforce.Subjects{User: "u1"}, policy.ScopeUser, policy.Allowed)
		first := s.want(enforce.Subjects{User: "u1"}, policy.ScopeUser, policy.RefusedLimit)
		if first.WaitMS < 59_900 {
			t.Errorf("the refused attempt does not count: waits %d ms", first.WaitMS)
		}
	})
}

func TestScopesDelayAndWarn(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newScopes(t, rdb)
		s.limit(policy.ScopeUser, atMost(1, func(c *policy.Compiled) { c.Mode = policy.Soft }))
		s.limit(policy.ScopeIP, atMost(3, func(c *policy.Compiled) {
			c.Algorithm, c.Queue, c.PeriodMS = policy.LeakyBucket, true, 1000
		}))
		s.want(enforce.Subjects{Group: "g1", User: "u1"}, policy.ScopeGroup, policy.Allowed)
		s.want(enforce.Subjects{Group: "g2", User: "u1", IP: "192.0.2.1"}, policy.ScopeUser, policy.AllowedWarned)
		s.want(enforce.Subjects{Group: "g3", User: "u1", IP: "192.0.2.1"}, policy.ScopeIP, policy.Delay)
	})
}

// TestScopesAllowTheLimit: many at once, from several groups; no scope lets more pass than its limit.
func TestScopesAllowTheLimit(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newScopes(t, rdb)
		s.limit(policy.ScopeUser, atMost(10))
		var passed atomic.Int64
		var asking sync.WaitGroup
		for i := range 100 {
			asking.Go(func() {
				answer, err := s.client.CheckAll(t.Context(), enforce.Subjects{Action: "message", Group: name(i), User: "u1"})
				if err != nil {
					t.Error(err)
				} else if answer.Allowed() {
					passed.Add(1)
				}
			})
		}
		asking.Wait()
		same(t, "passed", int64(10), passed.Load())
	})
}

// TestScopesOnACluster: subjects in different slots, and one master that hangs: its scope is decided by on_failure.
func TestScopesOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	s := newScopes(t, cluster.Client(t))
	s.limit(policy.ScopeUser, atMost(5))
	s.limit(policy.ScopeIP, atMost(3, func(c *policy.Compiled) { c.OnFailure = policy.Refuse }))
	who := enforce.Subjects{Group: "g1", User: "u1", IP: "192.0.2.1"}
	s.want(who, policy.ScopeGroup, policy.Allowed)
	hung := cluster.Home(t, s.keys.ScopeState("message", policy.ScopeIP, who.IP))
	for i := 0; cluster.Home(t, s.keys.Notice(who.Group)) == hung || cluster.Home(t, s.keys.Notice(who.User)) == hung; i++ {
		who.Group, who.User = name(i), name(1000+i)
	}
	s.client = enforce.New(enforce.Config{
		Redis: cluster.Client(t, func(o *redis.ClusterOptions) { o.ReadTimeout, o.MaxRedirects = 300*time.Millisecond, -1 }), Timeout: 5 * time.Second,
	})
	s.want(who, policy.ScopeGroup, policy.Allowed)
	for i := 500; cluster.Home(t, s.keys.Notice(who.Group)) == hung || i == 500; i++ { // one without an interval to wait for
		who.Group = name(i)
	}
	hung.Freeze(t) // not for long: its replica takes over
	t.Cleanup(func() { hung.Thaw(t) })
	answer := s.want(who, policy.ScopeIP, policy.RefusedDegraded)
	if !answer.Degraded() {
		t.Error("not degraded")
	}
	who.IP = ""
	s.remains(enforce.Subjects{User: who.User}, 4)
}

// TestScopesWithoutRedis: what was seen to limit is decided by its on_failure, what was seen not to is left out.
func TestScopesWithoutRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	once := *server.Client().Options()
	once.MaxRetries, once.DialerRetries = -1, 1 // a server that is gone is not tried again and again
	rdb := redis.NewClient(&once)
	t.Cleanup(func() { _ = rdb.Close() })
	s := newScopes(t, rdb)
	s.limit(policy.ScopeUser, atMost(5, func(c *policy.Compiled) { c.OnFailure = policy.Refuse }))
	who := enforce.Subjects{Group: "g1", User: "u1", IP: "192.0.2.1"}
	s.want(who, policy.ScopeGroup, policy.Allowed)
	server.Stop()
	s.want(who, policy.ScopeUser, policy.RefusedDegraded)
	s.want(enforce.Subjects{IP: "192.0.2.1"}, policy.ScopeIP, policy.Allowed)
	s.want(enforce.Subjects{Action: "sms", IP: "192.0.2.1"}, policy.ScopeIP, policy.RefusedDegraded)
	s.want(enforce.Subjects{Action: "like", IP: "192.0.2.1"}, policy.ScopeIP, policy.AllowedDegraded)
}

// TestScopesThatCannotBeReadAreNotAbsent: a damaged policy is decided as if Redis were away.
func TestScopesThatCannotBeReadAreNotAbsent(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newScopes(t, rdb)
		user, address := s.keys.ScopePolicy(enforce.Shard("u1"), "login", policy.ScopeUser), s.keys.ScopePolicy(enforce.Shard("192.0.2.1"), "login", policy.ScopeIP)
		rdb.HSet(t.Context(), user, "order", "1", "program", "x")
		rdb.Set(t.Context(), address, "x", 0)
		s.want(enforce.Subjects{Action: "login", User: "u1"}, policy.ScopeUser, policy.RefusedDegraded)
		s.want(enforce.Subjects{Action: "login", IP: "192.0.2.1"}, policy.ScopeIP, policy.RefusedDegraded)
		rdb.Del(t.Context(), user)
		rdb.HSet(t.Context(), user, "order", "2", "deleted", "1")
		s.want(enforce.Subjects{Action: "login", User: "u1"}, policy.ScopeUser, policy.Allowed)
	})
}

func TestScopesFaults(t *testing.T) {
	t.Parallel()
	client := enforce.New(enforce.Config{Redis: redistest.Embedded(t), Timeout: time.Minute})
	for want, who := range map[string]enforce.Subjects{
		"/action":         {Action: "Message", User: "u1"},
		"/cost":           {Action: "message", User: "u1", Cost: -1},
		"/subjects":       {Action: "message"},
		"/subjects/user":  {Action: "message", Group: "g1"},
		"/subjects/peer":  {Action: "message", User: "u1", Peer: "a|b"},
		"/subjects/group": {Action: "message", Group: "~user", User: "u1"},
		"/subjects/ip":    {Action: "message", IP: "192.0.2.1:80"},
	} {
		_, err := client.CheckAll(t.Context(), who)
		fault, ok := err.(*policy.Error) //nolint:errorlint // ours are never wrapped
		if !ok || fault.Code != policy.CodeInvalid || len(fault.Fields) != 1 || fault.Fields[0].Pointer != want {
			t.Errorf("%+v: %v, want a fault at %s", who, err, want)
		}
	}
}
