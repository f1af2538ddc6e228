//nolint:thelper // the functions given to Each are the tests themselves; as helpers they would hide the failing line
package enforce_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

func codes(t *testing.T, c *enforce.Client, reqs ...enforce.Request) []policy.DecisionCode {
	t.Helper()
	decisions, err := c.CheckMany(t.Context(), reqs)
	if err != nil {
		t.Fatal(err)
	}
	list := make([]policy.DecisionCode, len(decisions))
	for i, d := range decisions {
		list[i] = d.Code
	}
	return list
}

func TestManyAfterScriptFlush(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client() // its own: the scripts of a server are everybody's
	t.Cleanup(func() { _ = rdb.Close() })
	client := enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
	req := enforce.Request{Action: "message", Group: "g1", User: "u1"}
	same(t, "at first", policy.Allowed, codes(t, client, req)[0])
	if err := rdb.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	same(t, "after SCRIPT FLUSH", policy.RefusedInterval, codes(t, client, req)[0])
}

func TestManyAreDecidedInTheirOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		client := enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
		reqs := []enforce.Request{
			{Action: "message", Group: "g1", User: "u1"},
			{Action: "message", Group: "g1", User: "u1"},
			{Action: "message", Group: "g2", User: "u1", Roles: []string{"bot"}},
			{Action: "message", Group: "g3", User: "u2", Cost: 9},
			{Action: "comment", Group: "g1", User: "u1"},
			{Action: "message", Group: "g4", User: "u1", Peek: true},
		}
		want := []policy.DecisionCode{
			policy.Allowed, policy.RefusedInterval, policy.AllowedExempt, policy.RefusedLimit, policy.Allowed, policy.Allowed,
		}
		same(t, "codes", want, codes(t, client, reqs...))
		same(t, "none", 0, len(codes(t, client)))
	})
}

func TestManyOfAMalformedRequestAreNotAsked(t *testing.T) {
	t.Parallel()
	rdb := redistest.Embedded(t)
	client := enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
	_, err := client.CheckMany(t.Context(), []enforce.Request{
		{Action: "message", Group: "g1", User: "u1"}, {Action: "message", Group: "a|b", User: "u1"},
	})
	var fault *policy.Error
	if !errors.As(err, &fault) || fault.Code != policy.CodeInvalid {
		t.Fatalf("%v, want invalid", err)
	}
	same(t, "keys", int64(0), rdb.DBSize(t.Context()).Val())
}

// scattered are requests of a hundred groups, and the addresses of the masters that they lie on.
func scattered(t *testing.T, rdb *redis.ClusterClient) ([]enforce.Request, []string) {
	t.Helper()
	reqs, homes := make([]enforce.Request, 100), make([]string, 100)
	for i := range reqs {
		reqs[i] = enforce.Request{Action: "like", Group: name(i), User: "u1"}
		master, err := rdb.MasterForKey(t.Context(), enforce.NewKeys("").Notice(reqs[i].Group))
		if err != nil {
			t.Fatal(err)
		}
		homes[i] = master.Options().Addr
	}
	return reqs, homes
}

// onlyHungDegrades hangs the first request's master: what lies there is degraded, and nothing else.
func onlyHungDegrades(t *testing.T, cluster *redistest.Cluster, client *enforce.Client, reqs []enforce.Request, homes []string) {
	t.Helper()
	hung := cluster.Home(t, enforce.NewKeys("").Notice(reqs[0].Group))
	hung.Freeze(t)
	t.Cleanup(func() { hung.Thaw(t) })
	for i, code := range codes(t, client, reqs...) {
		want := policy.Allowed
		if homes[i] == hung.Addr {
			want = policy.AllowedDegraded
		}
		if code != want {
			t.Fatalf("%s: %v, want %v", reqs[i].Group, code, want)
		}
	}
}

// TestManyOnACluster: one master hangs, and only what lies there is degraded.
func TestManyOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	rdb := cluster.Client(t, func(o *redis.ClusterOptions) { o.ReadTimeout, o.MaxRedirects = 2*time.Second, -1 })
	client := enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
	reqs, homes := scattered(t, rdb)
	for i, code := range codes(t, client, reqs...) {
		if code != policy.Allowed {
			t.Fatalf("%s: %v", reqs[i].Group, code)
		}
		reqs[i].User = "u2"
	}
	onlyHungDegrades(t, cluster, client, reqs, homes)
}

// TestPipelinedChecksAllowTheLimit: what shares round trips is decided one by one all the same.
func TestPipelinedChecksAllowTheLimit(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		p := noInterval()
		p.PeriodMS, p.Ladder = policy.MaxPeriodMS, nil
		newKit(t, rdb, p)
		client := enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute, Pipelining: true})
		var asking sync.WaitGroup
		for i := range 500 {
			asking.Go(func() {
				member := user
				if i%2 == 1 {
					member = "other" + name(i)
				}
				if _, err := client.Check(t.Context(), enforce.Request{Action: "message", Group: group, User: member}); err != nil {
					t.Error(err)
				}
			})
		}
		asking.Wait()
		same(t, "stats", enforce.Stats{Allowed: 258, Refused: 242}, client.Stats())
	})
}
