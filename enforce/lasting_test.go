//nolint:thelper // the functions given to Each are the tests themselves; as helpers they would hide the failing line
package enforce_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

// lasting leaves keys without a time to live: two states (one with a ban of two hours), a record with a mute of an hour, a list.
func lasting(t *testing.T, rdb redis.UniversalClient, keys enforce.Keys) map[string]time.Duration {
	t.Helper()
	now := rdb.Time(t.Context()).Val().UnixMilli()
	banned := enforce.EncodeState(policy.ActionState{LastMS: now, BanStartMS: now, BanEndMS: now + 7_200_000})
	plain := enforce.EncodeState(policy.ActionState{LastMS: now, Log: []uint32{uint32(now)}})
	muted := enforce.EncodeMember(policy.MemberRecord{
		Strikes: 3, LastStrikeMS: now, HeldUntilMS: now + 3_600_000, MuteStartMS: now, MuteEndMS: now + 3_600_000, Cause: policy.CauseLadder,
	})
	for key, value := range map[string][]byte{
		keys.State("like", "g1", "u1"): banned, keys.State("message", "g2", "u1"): plain, keys.Member("g1", "u2"): muted,
	} {
		if err := rdb.Set(t.Context(), key, value, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	rdb.ZAdd(t.Context(), keys.Muted("g1"), redis.Z{Score: float64(now + 3_600_000), Member: "u2"})
	rdb.HSet(t.Context(), keys.Policy("message", "g1"), "order", 1) // of those that last by design
	rdb.Set(t.Context(), keys.State("message", "g1", "u3"), plain, time.Minute)
	rdb.Set(t.Context(), "pk:somebody:state:else", "1", 0)
	return map[string]time.Duration{
		keys.State("like", "g1", "u1"): 2 * time.Hour, keys.State("message", "g2", "u1"): 30 * time.Second,
		keys.Member("g1", "u2"): 90 * time.Minute, keys.Muted("g1"): time.Hour,
	}
}

func sweep(t *testing.T, pub *enforce.Publisher, s enforce.LastingSweep) map[string]enforce.Lasting {
	t.Helper()
	found, err := pub.SweepLasting(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestSweepMendsKeysWithoutTTL(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) { sweepMends(t, rdb) })
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		sweepMends(t, redistest.StartCluster(t).Client(t))
	})
}

func sweepMends(t *testing.T, rdb redis.UniversalClient) {
	t.Helper()
	keys := enforce.NewKeys("")
	pub := enforce.NewPublisher(rdb, keys)
	needs := lasting(t, rdb, keys)
	want := map[string]enforce.Lasting{
		enforce.KindState: {Seen: 3, Lasting: 2}, enforce.KindMember: {Seen: 1, Lasting: 1}, enforce.KindMuted: {Seen: 1, Lasting: 1},
	}
	same(t, "found", want, sweep(t, pub, enforce.LastingSweep{}))
	for kind, n := range want {
		n.Mended = n.Lasting
		want[kind] = n
	}
	same(t, "mended", want, sweep(t, pub, enforce.LastingSweep{Mend: true}))
	for key, need := range needs {
		if ttl := rdb.TTL(t.Context(), key).Val(); ttl < need*115/100 || ttl > need*240/100 {
			t.Errorf("%s lives %v, must remember %v", key, ttl, need)
		}
	}
	same(t, "afterwards", enforce.Lasting{Seen: 3}, sweep(t, pub, enforce.LastingSweep{Mend: true})[enforce.KindState])
}

func TestSweepSamplesAndRests(t *testing.T) {
	t.Parallel()
	rdb := redistest.Real(t)
	keys := enforce.NewKeys("")
	pub := enforce.NewPublisher(rdb, keys)
	pipe := rdb.Pipeline()
	for i := range 5000 {
		pipe.Set(t.Context(), keys.State("message", name(i), "u1"), "", 0)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := sweep(t, pub, enforce.LastingSweep{Sample: 1000})[enforce.KindState]; n.Seen < 1000 || n.Seen > 2500 || n.Lasting != n.Seen {
		t.Errorf("a sample of 1,000 names: %+v", n)
	}
	tired, rests := errors.New("tired"), 0
	found, err := pub.SweepLasting(t.Context(), enforce.LastingSweep{Rest: func(context.Context) error {
		if rests++; rests == 2 {
			return tired
		}
		return nil
	}})
	if n := found[enforce.KindState]; !errors.Is(err, tired) || n.Seen == 0 || n.Seen == 5000 {
		t.Errorf("ended after two calls: %+v, %v", n, err)
	}
}
