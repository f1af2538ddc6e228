//nolint:thelper // the functions given to Each are the tests themselves; as helpers they would hide the failing line
package enforce_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

func check(t *testing.T, c *enforce.Client, action, group, user string) enforce.Decision {
	t.Helper()
	d, err := c.Check(t.Context(), enforce.Request{Action: action, Group: group, User: user})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// parallel sends n messages at once, spread over several clients, and counts the codes.
func parallel(t *testing.T, rdb redis.UniversalClient, n int) map[policy.DecisionCode]int {
	t.Helper()
	clients := make([]*enforce.Client, 4)
	for i := range clients {
		clients[i] = enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
	}
	start, codes := make(chan struct{}), make(chan policy.DecisionCode, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			d, err := clients[i%len(clients)].Check(t.Context(), enforce.Request{Action: "message", Group: group, User: user})
			if err != nil {
				t.Error(err)
			}
			codes <- d.Code
		})
	}
	close(start)
	wg.Wait()
	close(codes)
	counts := map[policy.DecisionCode]int{}
	for code := range codes {
		counts[code]++
	}
	return counts
}

func TestC6_TenAtOnceAreOneStrike(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		p := p0()
		p.MinIntervalMS = policy.MaxIntervalMS // whatever the machine's load, the ten are too soon
		p.Ladder = []policy.Step{{After: 1, Do: policy.Mute, ForMS: 600_000}, {After: 2, Do: policy.Review}}
		k := newKit(t, rdb, p)
		if got := parallel(t, rdb, 10); got[policy.Allowed] != 1 || got[policy.RefusedInterval] != 1 || got[policy.RefusedMuted] != 8 {
			t.Fatalf("codes = %v, want 1 allowed, 1 refused with the mute, 8 muted", got)
		}
		if m := k.member(); m.Strikes != 1 || m.Step != 1 {
			t.Fatalf("record = %+v, want one strike and one step", m)
		}
	})
}

func TestC7_FiftyAtOnceAreEight(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		p := noInterval()
		p.PeriodMS, p.Ladder = policy.MaxPeriodMS, nil
		newKit(t, rdb, p)
		if got := parallel(t, rdb, 50); got[policy.Allowed] != 8 || got[policy.RefusedLimit] != 42 {
			t.Fatalf("codes = %v, want 8 allowed and 42 refused", got)
		}
	})
}

func TestC14_IdsAreNeverNumbers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		const bigUser, bigGroup = "9007199254740993", "15947634569000323"
		keys := enforce.NewKeys("")
		pub, client := enforce.NewPublisher(rdb, keys), enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
		p := p0()
		p.MinIntervalMS, p.Version, p.Order = policy.MaxIntervalMS, 1<<40-1, 1<<52
		p.Ladder = []policy.Step{{After: 1, Do: policy.Mute, ForMS: 60_000}}
		shard := enforce.Shard(bigGroup)
		if _, err := pub.Publish(t.Context(), shard, []enforce.Publication{
			{Key: keys.Policy("message", bigGroup), Order: p.Order, Hash: enforce.PolicyHash(p)},
		}); err != nil {
			t.Fatal(err)
		}
		check(t, client, "message", bigGroup, bigUser)
		d, err := client.Check(t.Context(), enforce.Request{
			Action: "message", Group: bigGroup, User: bigUser, Roles: []string{"member"},
		})
		if err != nil || d.Code != policy.RefusedInterval || d.Step != 1 || d.Version != 1<<40-1 {
			t.Fatalf("second message: %+v, %v", d, err)
		}
		events, err := pub.ReadEvents(t.Context(), map[uint8]string{shard: ""}, 10)
		if err != nil || len(events) != 1 {
			t.Fatalf("events = %v, %v", events, err)
		}
		same(t, "event", [3]string{"message", bigGroup, bigUser}, [3]string{events[0].Action, events[0].Group, events[0].User})
		same(t, "muted", []string{bigUser}, rdb.ZRange(t.Context(), keys.Muted(bigGroup), 0, -1).Val())
		same(t, "order", "4503599627370496", rdb.HGet(t.Context(), keys.Policy("message", bigGroup), "order").Val())
		same(t, "keys of the member", int64(2), rdb.Exists(t.Context(),
			"pk:"+enforce.ShardTag(shard)+":state:message|"+bigGroup+"|"+bigUser,
			"pk:"+enforce.ShardTag(shard)+":member:"+bigGroup+"|"+bigUser).Val())
	})
}

func TestC15_NoTwoShareAKey(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		client := enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
		members := [][2]string{
			{"!a/b🐈:example.org", "u"}, {"-1002471352452", "u"}, {"!a:b", "c"}, {"!a", "b:c"}, {"*", "*"}, {"!a", "*"}, {"*", "c"},
		}
		for _, m := range members {
			if d := check(t, client, "message", m[0], m[1]); d.Code != policy.Allowed {
				t.Fatalf("%v: the first message is %v", m, d.Code)
			}
		}
		for _, m := range members {
			if d := check(t, client, "message", m[0], m[1]); d.Code != policy.RefusedInterval {
				t.Fatalf("%v: the second message is %v", m, d.Code)
			}
		}
	})
}

func TestC55_ScriptFlushAndRestart(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	client := enforce.New(enforce.Config{Redis: rdb, Timeout: 10 * time.Second})
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { // load
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_, _ = client.Check(context.Background(), enforce.Request{Action: "like", Group: group, User: name(i % 100)})
			}
		}
	}()
	for i := range 20 {
		if err := rdb.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if d := check(t, client, "message", group, name(i)); d.Code != policy.Allowed {
			t.Fatalf("after SCRIPT FLUSH: %+v", d)
		}
	}
	s.Restart(t)
	if d := check(t, client, "message", group, "after"); d.Code != policy.Allowed {
		t.Fatalf("after a restart: %+v", d)
	}
	if err := client.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(stop)
	<-done
}

func TestReadyRunsTheScriptAndChangesNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		client := enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
		if err := client.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		same(t, "keys", int64(0), rdb.DBSize(t.Context()).Val())
	})
}

func TestDegradedByLastKnownRule(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	keys := enforce.NewKeys("")
	pub := enforce.NewPublisher(rdb, keys)
	p := p0()
	p.OnFailure, p.Version = policy.Refuse, 7
	if _, err := pub.Publish(t.Context(), enforce.Shard(group), []enforce.Publication{
		{Key: keys.Policy("message", group), Order: 1, Hash: enforce.PolicyHash(p)},
	}); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	var told []policy.DecisionCode
	now := time.Unix(1_764_547_200, 0)
	client := enforce.New(enforce.Config{
		Redis: rdb, Timeout: 5 * time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil)), Now: func() time.Time { return now },
		OnDecision: func(_ enforce.Request, d enforce.Decision) { told = append(told, d.Code) },
	})
	check(t, client, "message", group, user)
	s.Stop()
	want := map[string]policy.DecisionCode{
		"message": policy.RefusedDegraded, "comment": policy.AllowedDegraded, "login": policy.RefusedDegraded,
		"sms": policy.RefusedDegraded, "coupon": policy.RefusedDegraded, "like": policy.AllowedDegraded,
	}
	for action, code := range want {
		if d := check(t, client, action, group, user); d.Code != code || !d.Allowed() && d.WaitMS < 1 {
			t.Fatalf("%s without Redis: %+v, want %v", action, d, code)
		}
	}
	same(t, "version", int64(7), check(t, client, "message", group, user).Version)
	same(t, "stats", enforce.Stats{Allowed: 1, DegradedAllowed: 2, DegradedRefused: 5}, client.Stats())
	same(t, "told", 8, len(told))
	if lines := strings.Count(log.String(), "level=WARN"); lines != 6 {
		t.Fatalf("%d lines for 7 decisions on 6 actions, want one an action and second:\n%s", lines, log.String())
	}
	if err := client.Ready(t.Context()); err == nil {
		t.Fatal("ready without Redis")
	}
}

// TestRuleFollowsThePolicy: a newer version is noticed by the answers, and read with the check behind it.
func TestRuleFollowsThePolicy(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	k := newKit(t, rdb, p0())
	client := enforce.New(enforce.Config{Redis: rdb, Timeout: 5 * time.Second})
	check(t, client, "message", group, user)
	p := p0()
	p.OnFailure = policy.Refuse
	k.publish(p)
	check(t, client, "message", group, user) // shows the new version
	check(t, client, "message", group, user) // reads the new rule
	s.Stop()
	same(t, "code", policy.RefusedDegraded, check(t, client, "message", group, user).Code)
}

func TestCheckRefusesMalformedRequests(t *testing.T) {
	t.Parallel()
	client := enforce.New(enforce.Config{Redis: redistest.Embedded(t)})
	for _, req := range []enforce.Request{
		{Action: "Message", Group: group, User: user},
		{Action: "message", Group: "a|b", User: user},
		{Action: "message", Group: group, User: ""},
		{Action: "message", Group: "~user", User: user},
		{Action: "message", Group: group, User: user, Cost: -1},
	} {
		var fault *policy.Error
		if _, err := client.Check(t.Context(), req); !errors.As(err, &fault) || fault.Code != policy.CodeInvalid {
			t.Errorf("%+v: %v, want invalid", req, err)
		}
	}
}

func TestCostAndPeek(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		newKit(t, rdb, noInterval())
		client := enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
		ask := func(cost int64, peek bool) policy.Decision {
			d, err := client.Check(t.Context(), enforce.Request{Action: "message", Group: group, User: user, Cost: cost, Peek: peek})
			if err != nil {
				t.Fatal(err)
			}
			return d.Decision
		}
		same(t, "5 of 8", policy.Decision{Remaining: 3, Limit: 8, Version: 1}, ask(5, false))
		same(t, "peek", policy.Decision{Remaining: 3, Limit: 8, Version: 1}, ask(0, true))
		same(t, "cost above the limit", policy.Decision{
			Code: policy.RefusedLimit, WaitMS: 30_000, Remaining: 3, Limit: 8, Version: 1,
		}, ask(9, false))
		if d := ask(4, false); d.Code != policy.RefusedLimit || d.Remaining != 3 || d.Strikes != 1 {
			t.Fatalf("4 more of 8: %+v", d)
		}
		same(t, "the rest", int64(0), ask(3, false).Remaining)
		if d := ask(0, true); d.Code != policy.RefusedLimit || d.Strikes != 1 {
			t.Fatalf("peek at a full window: %+v", d)
		}
	})
}
