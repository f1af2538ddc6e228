//nolint:thelper // the functions given to Each are the tests themselves; as helpers they would hide the failing line
package enforce_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

// TestTogetherIsOneRoundTrip counts what is sent once the policies are known: one call, whatever the number of subjects.
func TestTogetherIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	rdb := redistest.Real(t)
	s := newScopes(t, rdb)
	s.limit(policy.ScopeUser, atMost(5))
	s.limit(policy.ScopePeer, atMost(5))
	s.limit(policy.ScopeIP, atMost(2))
	trips := &tripSpy{}
	rdb.AddHook(trips)
	who := enforce.Subjects{Group: "g1", User: "u1", Peer: "u2", IP: "192.0.2.1"}
	s.want(who, policy.ScopeGroup, policy.Allowed)
	who.Group = "g2"
	s.want(who, policy.ScopeGroup, policy.Allowed)
	trips.sent = 0
	who.Group = "g1"
	for range 3 {
		s.want(who, policy.ScopeIP, policy.RefusedLimit)
	}
	same(t, "round trips of three attempts", 3, trips.sent)
}

type tripSpy struct{ sent int }

func (s *tripSpy) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *tripSpy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { s.sent++; return next(ctx, cmds) }
}

func (s *tripSpy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { s.sent++; return next(ctx, cmd) }
}

// TestTogetherNothingIsChargedInVain: many at once, of whom the address lets three pass; on one server no other count has
// more than those three.
func TestTogetherNothingIsChargedInVain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		s := newScopes(t, rdb)
		s.limit(policy.ScopeUser, atMost(50))
		s.limit(policy.ScopeIP, atMost(3))
		var asking sync.WaitGroup
		for i := range 40 {
			asking.Go(func() {
				_, err := s.client.CheckAll(t.Context(), enforce.Subjects{Action: "message", Group: name(i), User: "u1", IP: "192.0.2.1"})
				if err != nil {
					t.Error(err)
				}
			})
		}
		asking.Wait()
		s.remains(enforce.Subjects{User: "u1"}, 47)
		same(t, "stats", enforce.Stats{Allowed: 4, Refused: 37}, s.client.Stats()) // with the look at what remains
	})
}

// TestTogetherAfterScriptFlush: and where the server takes no call about several slots, the same is asked in steps.
func TestTogetherAfterScriptFlush(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := server.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	s := newScopes(t, rdb)
	s.limit(policy.ScopeUser, atMost(3))
	for remaining := int64(2); remaining >= 0; remaining-- {
		if err := rdb.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		s.want(enforce.Subjects{User: "u1"}, policy.ScopeUser, policy.Allowed, remaining)
	}
}

// TestTogetherOnANodeOfACluster: a client of one server that turns out to have slots.
func TestTogetherOnANodeOfACluster(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--cluster-enabled", "yes", "--databases", "1")
	rdb := server.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	if err := rdb.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	until(t, "the node answers", func() bool { return rdb.Set(t.Context(), "up", "1", 0).Err() == nil })
	s := newScopes(t, rdb)
	s.limit(policy.ScopeUser, atMost(3))
	s.limit(policy.ScopeIP, atMost(1))
	who := enforce.Subjects{Group: "g1", User: "u1", IP: "192.0.2.1"}
	s.want(who, policy.ScopeGroup, policy.Allowed)
	who.Group = "g2"
	s.want(who, policy.ScopeIP, policy.RefusedLimit)
	s.remains(enforce.Subjects{User: "u1"}, 2)
}

// TestTogetherAsInSteps: random policies of group and scopes, and random attempts; both ways answer the same, and leave the
// same behind but for moments.
func TestTogetherAsInSteps(t *testing.T) {
	t.Parallel()
	rdb := redistest.Real(t)
	r := rand.New(rand.NewPCG(4, 11))
	for round := range 8 {
		rdb.FlushDB(t.Context())
		ways := []*scopes{newScopes(t, rdb), newScopes(t, apart{rdb})}
		for i, s := range ways {
			prefix := fmt.Sprintf("way%d", i)
			s.keys, s.client = enforce.NewKeys(prefix), enforce.New(enforce.Config{Redis: s.rdb, Prefix: prefix, Timeout: time.Minute})
			s.pub = enforce.NewPublisher(rdb, s.keys)
		}
		for at, scope := range []policy.Scope{policy.ScopeUser, policy.ScopePeer, policy.ScopeIP} {
			if p, limits := randomScope(r, int64(at)); limits {
				ways[0].limit(scope, p)
				ways[1].limit(scope, p)
			}
		}
		for range 15 {
			who := randomSubjects(r)
			a, b := ways[0].ask(who), ways[1].ask(who)
			if diff := cmp.Diff(timeless(a), timeless(b)); diff != "" {
				t.Fatalf("round %d, %+v (-together +in steps):\n%s", round, who, diff)
			}
		}
	}
}

// randomScope has times far longer than the test runs, and other ones for each scope.
func randomScope(r *rand.Rand, at int64) (policy.Compiled, bool) {
	p := atMost(1+r.Int64N(6), func(c *policy.Compiled) {
		c.PeriodMS, c.CountRefused = 3_600_000+at*600_000, r.IntN(4) == 0
		if r.IntN(4) == 0 {
			c.BanForMS = 7_200_000 + at*600_000
		}
		if r.IntN(5) == 0 {
			c.Mode = policy.Soft
		}
		if r.IntN(5) == 0 {
			c.MinIntervalMS = 1_800_000 + at*600_000
		}
		switch r.IntN(5) {
		case 0:
			c.Algorithm = policy.TokenBucket
		case 1:
			c.Algorithm, c.Queue = policy.LeakyBucket, true
		case 2:
			c.Algorithm, c.Align = policy.FixedWindow, policy.AlignFirst
		}
	})
	return p, r.IntN(5) > 0
}

func randomSubjects(r *rand.Rand) enforce.Subjects {
	who := enforce.Subjects{Action: "message", User: name(r.IntN(2)), Cost: r.Int64N(3), Peek: r.IntN(6) == 0}
	if r.IntN(3) > 0 {
		who.Group = name(r.IntN(20))
	}
	if r.IntN(2) > 0 {
		who.Peer = "peer"
	}
	if r.IntN(2) > 0 {
		who.IP = "192.0.2.1"
	}
	return who
}

// timeless is an answer with its wait in minutes.
func timeless(a enforce.Answer) any {
	d := a.Decision.Decision
	d.WaitMS = (d.WaitMS + 59_999) / 60_000
	return struct {
		Scope    policy.Scope
		Decision policy.Decision
	}{a.Scope, d}
}
