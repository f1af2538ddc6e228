package enforce_test

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

// TestLostAnswersAreNotAskedAgain: the connection ends in the middle of the answers. The client of Redis would send all of
// them a second time, and each member would be refused, with a strike, for the message that was just counted.
func TestLostAnswersAreNotAskedAgain(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	direct := s.Client()
	t.Cleanup(func() { _ = direct.Close() })
	k := newKit(t, direct, p0())
	check(t, enforce.New(enforce.Config{Redis: direct}), "message", group, "warm")
	rdb := redis.NewClient(&redis.Options{Addr: cutOnce(t, s, 300), Protocol: 2, DisableIdentity: true})
	t.Cleanup(func() { _ = rdb.Close() })
	client := enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
	reqs := make([]enforce.Request, 20)
	for i := range reqs {
		reqs[i] = enforce.Request{Action: "message", Group: group, User: name(i)}
	}
	got := codes(t, client, reqs...)
	if got[0] != policy.Allowed || got[19] != policy.AllowedDegraded {
		t.Fatalf("%v: not cut in the middle", got)
	}
	for i := range reqs {
		if got[i] != policy.Allowed && got[i] != policy.AllowedDegraded {
			t.Fatalf("%d: %v", i, got[i])
		}
		if n := direct.Exists(t.Context(), k.keys.Member(group, name(i))).Val(); n != 0 {
			t.Fatalf("%d has a strike", i)
		}
	}
	same(t, "afterwards", policy.Allowed, check(t, client, "message", group, "next").Code)
}

// cutOnce is a way to the server whose first connection ends after so many bytes of answers.
func cutOnce(t *testing.T, s *redistest.Server, after int64) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	var second atomic.Bool
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("unix", s.Socket)
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
			go func() {
				if second.Swap(true) {
					_, _ = io.Copy(in, out)
				} else {
					_, _ = io.CopyN(in, out, after)
				}
				_ = in.Close()
			}()
		}
	}()
	return l.Addr().String()
}

// TestRolesHoldNoCommas: the script takes roles as one list; a name from outside must not become two of them.
func TestRolesHoldNoCommas(t *testing.T) {
	t.Parallel()
	rdb := redistest.Real(t)
	client := enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
	for i, roles := range [][]string{{"x,owner"}, {",owner"}, {"owner,"}, {"vip", "a,owner,b"}} {
		d, err := client.Check(t.Context(), enforce.Request{Action: "message", Group: group, User: name(i), Roles: roles})
		if err != nil || d.Code != policy.Allowed {
			t.Fatalf("%q: %v, %v", roles, d.Code, err)
		}
	}
	d, err := client.Check(t.Context(), enforce.Request{Action: "message", Group: group, User: user, Roles: []string{"a,b", "owner"}})
	if err != nil || d.Code != policy.AllowedExempt {
		t.Fatalf("%v, %v", d.Code, err)
	}
}

// TestThousandsOfUnknownPolicies: what is read of a policy is read once, whatever the number of its calls.
func TestThousandsOfUnknownPolicies(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	client := enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
	reqs := make([]enforce.Request, 2500)
	for i := range reqs {
		reqs[i] = enforce.Request{Action: "like", Group: group, User: name(i)}
	}
	for i, code := range codes(t, client, reqs...) {
		if code != policy.Allowed {
			t.Fatalf("%d: %v", i, code)
		}
	}
	stats := rdb.InfoMap(t.Context(), "commandstats").Val()["Commandstats"]["cmdstat_hgetall"]
	if want := "calls=3,"; len(stats) < len(want) || stats[:len(want)] != want {
		t.Fatalf("notices were read so: %q, want once for each thousand", stats)
	}
	same(t, "none", 0, len(codes(t, client)))
}

// TestManyThatAreLateAreLateOnce: the timeout ends a call of many; the next one asks Redis all the same.
func TestManyThatAreLateAreLateOnce(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	client := enforce.New(enforce.Config{Redis: rdb, Timeout: 300 * time.Millisecond})
	until(t, "the first check is answered", func() bool { return check(t, client, "like", group, user).Code == policy.Allowed })
	s.Freeze(t)
	reqs := make([]enforce.Request, 100)
	for i := range reqs {
		reqs[i] = enforce.Request{Action: "like", Group: group, User: name(i)}
	}
	for i, code := range codes(t, client, reqs...) {
		same(t, name(i), policy.AllowedDegraded, code)
	}
	same(t, "breaker open", false, client.Open(group))
	s.Thaw(t)
}

// TestFollowEndsWithItsContext: also while Redis is there and silent.
func TestFollowEndsWithItsContext(t *testing.T) {
	t.Parallel()
	rdb := redistest.Real(t)
	client := enforce.New(enforce.Config{Redis: rdb, Prefix: "followed"})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- client.Follow(ctx) }()
	channel := enforce.NewKeys("followed").Changed()
	until(t, "the client has subscribed", func() bool {
		return rdb.PubSubNumSub(t.Context(), channel).Val()[channel] == 1
	})
	stop()
	var err error
	until(t, "Follow ends", func() bool {
		select {
		case err = <-done:
			return true
		default:
			return false
		}
	})
	if err == nil {
		t.Fatal("Follow ended without a reason")
	}
}

// TestOneHungMasterIsTheTroubleOfItsShards: with the client of Redis as it comes, and the scripts gone from all others.
func TestOneHungMasterIsTheTroubleOfItsShards(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	rdb := cluster.Client(t)
	client := enforce.New(enforce.Config{Redis: rdb, Timeout: 2 * time.Second})
	reqs, homes := scattered(t, rdb)
	codes(t, client, reqs...)
	for i := range reqs {
		reqs[i].User = "u2"
	}
	if err := rdb.ForEachMaster(t.Context(), func(ctx context.Context, master *redis.Client) error {
		return master.ScriptFlush(ctx).Err()
	}); err != nil {
		t.Fatal(err)
	}
	onlyHungDegrades(t, cluster, client, reqs, homes)
}
