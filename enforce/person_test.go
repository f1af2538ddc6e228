package enforce_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
)

func TestPersonIsForgotten(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		t.Helper()
		for _, user := range []string{"u1", `u*[a]?\^-`, "周岚"} {
			forgets(t, rdb, user)
		}
	})
}

func TestPersonIsForgottenOnACluster(t *testing.T) {
	t.Parallel()
	forgets(t, redistest.StartCluster(t).Client(t), "u*")
}

// forgets leaves traces of a user in many shards, beside those of others whom a careless glob would match, and of a group
// that is called as he is.
func forgets(t *testing.T, rdb redis.UniversalClient, user string) {
	t.Helper()
	ctx, keys := t.Context(), enforce.NewKeys("")
	p := enforce.NewPublisher(rdb, keys)
	others := []string{"u12", "xu1", "u", "u1x", "v" + user, user + "0"}
	groups := []string{"a", "b", "c", "d", "e", "f", "g", user}
	fail := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	before := map[string]string{}
	for _, group := range groups {
		for _, who := range append([]string{user}, others...) {
			fail(rdb.Set(ctx, keys.State("message", group, who), "s", 0).Err())
			fail(rdb.Set(ctx, keys.Member(group, who), "m", 0).Err())
			fail(rdb.ZAdd(ctx, keys.Muted(group), redis.Z{Score: 1, Member: who}).Err())
			fail(rdb.XAdd(ctx, &redis.XAddArgs{Stream: keys.Events(enforce.Shard(group)), Values: []string{
				"k", keys.State("message", group, who), "v", "1 11 1 0 0 0 0 0 0",
			}}).Err())
			if who != user {
				before[keys.State("message", group, who)], before[keys.Member(group, who)] = "s", "m"
			}
		}
		fail(rdb.HSet(ctx, keys.Policy("message", group), "order", "1").Err())
		fail(rdb.ZAdd(ctx, keys.Exempt(group), redis.Z{Score: 1, Member: user}, redis.Z{Score: 1, Member: "other"}).Err())
	}
	fail(rdb.Set(ctx, keys.State("login", "~user", user), "s", 0).Err())
	want := enforce.Traces{Records: 17, Sets: 16, Events: 8}
	for _, forget := range []bool{false, true} {
		got, err := p.Person(ctx, user, forget)
		fail(err)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s, forget %v: %s", user, forget, diff)
		}
	}
	if got, err := p.Person(ctx, user, true); err != nil || got.Any() {
		t.Errorf("left: %+v, %v", got, err)
	}
	for key, value := range before {
		if got := rdb.Get(ctx, key).Val(); got != value {
			t.Errorf("%s of somebody else is %q", key, got)
		}
	}
	for _, group := range groups {
		if n := rdb.ZCard(ctx, keys.Muted(group)).Val(); n != int64(len(others)) {
			t.Errorf("%d are muted in %s, want %d", n, group, len(others))
		}
		fail(rdb.Del(ctx, keys.Muted(group)).Err())
		if rdb.HGet(ctx, keys.Policy("message", group), "order").Val() != "1" {
			t.Errorf("the policy of %s is gone", group)
		}
	}
}
