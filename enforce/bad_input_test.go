//nolint:thelper // the functions given to Each are the tests themselves; as helpers they would hide the failing line
package enforce_test

import (
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

// TestAbsurdCostsAreRefused: what is no number of attempts up to the limit is refused with the period as wait, in both forms
// of the script and for each algorithm, and leaves nothing behind: no count, no strike, no ban.
func TestAbsurdCostsAreRefused(t *testing.T) {
	t.Parallel()
	costs := []any{
		"-1", "-9223372036854775808", "9223372036854775807", "9223372036854775808", "999999999999999", "10001", "9", "1.0", "1e1",
		"0x1", " 1", "1 ", "+1", "one", "nan", "inf", "\x00", "1\n", "٣", "0000000000000001",
	}
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		for _, p := range append(otherAlgorithms(), noInterval()) {
			p.Limit, p.BanForMS = 8, 60_000
			k := newKit(t, rdb, p)
			for _, cost := range costs {
				for form, script := range map[string]string{"tuple": enforce.CheckScript(), "packed": enforce.Sources()["packed"]} {
					d, err := enforce.DecodeReply(rdb.Eval(t.Context(), script, k.scriptKeys(), user, "", cost, base))
					want := policy.Decision{Code: policy.RefusedLimit, WaitMS: p.PeriodMS, Remaining: 8, Limit: 8, Version: k.order}
					if err != nil || d != want {
						t.Errorf("%s, cost %q, %s: %+v, %v; want %+v", p.Algorithm, cost, form, d, err, want)
					}
				}
			}
			same(t, "keys left behind", int64(0), rdb.Exists(t.Context(), k.scriptKeys()[2:]...).Val())
			rdb.FlushDB(t.Context())
		}
	})
}

// TestAbsurdCostsOfTheClient: the largest cost is refused and counted as a refusal; a negative one is an error, not asked.
func TestAbsurdCostsOfTheClient(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		client := enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
		for _, cost := range []int64{9, 1 << 31, 1 << 53, math.MaxInt64} {
			d, err := client.Check(t.Context(), enforce.Request{Action: "message", Group: group, User: user, Cost: cost})
			if err != nil || d.Code != policy.RefusedLimit || d.WaitMS != 30_000 {
				t.Errorf("cost %d: %+v, %v", cost, d.Decision, err)
			}
			all, err := client.CheckAll(t.Context(), enforce.Subjects{Action: "message", Group: group, User: user, Cost: cost, IP: "::1"})
			if err != nil || all.Code != policy.RefusedLimit || all.Scope != policy.ScopeGroup {
				t.Errorf("all of cost %d: %+v, %v", cost, all, err)
			}
		}
		if _, err := client.Check(t.Context(), enforce.Request{Action: "message", Group: group, User: user, Cost: math.MinInt64}); err == nil {
			t.Error("a negative cost was asked")
		}
		same(t, "stats", enforce.Stats{Refused: 8}, client.Stats())
		same(t, "keys", int64(0), rdb.DBSize(t.Context()).Val())
	})
}

// TestKeysOfAnotherTypeAreMissing spoils each key that a check may touch with each other type, one at a time: the client
// decides as if it were missing, is never degraded by it, and what it writes is whole and has a time to live.
func TestKeysOfAnotherTypeAreMissing(t *testing.T) {
	t.Parallel()
	kinds := map[string][]any{
		"string": {"SET", "", "x"}, "empty string": {"SET", "", ""}, "list": {"RPUSH", "", "x"}, "set": {"SADD", "", "x"},
		"sorted set": {"ZADD", "", "1", "x"}, "hash": {"HSET", "", "x", "x"}, "stream": {"XADD", "", "*", "x", "x"},
	}
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		p := p0()
		p.Limit, p.PeriodMS, p.BanForMS, p.MinIntervalMS = 2, 3_600_000, 7_200_000, 0
		p.Group = policy.CompiledWindow{Algorithm: policy.SlidingWindow, Limit: 100, PeriodMS: 3_600_000}
		k := newKit(t, rdb, p)
		keys := append(k.scriptKeys(), k.keys.GroupState("message", group), k.keys.Notice(group))
		for kind, command := range kinds {
			for at, key := range keys {
				rdb.FlushDB(t.Context())
				k.publish(p)
				rdb.Del(t.Context(), key)
				command[1] = key
				if err := rdb.Do(t.Context(), command...).Err(); err != nil {
					t.Fatal(err)
				}
				client := enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
				second := policy.Allowed
				if at == 0 {
					second = policy.RefusedInterval // the factory's policy
				}
				same(t, key+" is a "+kind, policy.Allowed, check(t, client, "message", group, user).Code)
				same(t, key+" is a "+kind, second, check(t, client, "message", group, user).Code)
				third := check(t, client, "message", group, user)
				if third.Allowed() || third.Degraded() || third.Strikes < 1 || third.Notice("en") == "" {
					t.Errorf("%s is a %s: %+v", key, kind, third.Decision)
				}
				k.ttls(k.scriptKeys()[2:4]...)
			}
		}
	})
}

// TestUnknownNamesDecideByTheFactorysPolicy: nobody has registered the action, saved the group, or knows the roles.
func TestUnknownNamesDecideByTheFactorysPolicy(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		client := enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
		req := enforce.Request{Action: "no-such-action", Group: "nobody", User: "u1", Roles: []string{"", "king", "~", "*", "OWNER", "own"}}
		for _, want := range []policy.DecisionCode{policy.Allowed, policy.RefusedInterval} {
			d, err := client.Check(t.Context(), req)
			if err != nil || d.Code != want || d.Limit != 8 || d.Version != 0 {
				t.Errorf("%+v, %v; want %v of 8", d.Decision, err, want)
			}
		}
		same(t, "stats", map[string]enforce.Stats{"no-such-action": {Allowed: 1, Refused: 1}}, client.StatsByAction())
	})
}
