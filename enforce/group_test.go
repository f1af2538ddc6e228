//nolint:thelper // the functions given to Each are the tests themselves; as helpers they would hide the failing line
package enforce_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

// asked is what the client is answered for one message of a member.
func (k *kit) asked(member string, roles ...string) policy.Decision {
	k.t.Helper()
	d, err := enforce.New(enforce.Config{Redis: k.rdb}).Check(k.t.Context(), enforce.Request{
		Action: "message", Group: group, User: member, Roles: roles,
	})
	if err != nil {
		k.t.Fatal(err)
	}
	return d.Decision
}

func ofGroup(limit int64) policy.Compiled {
	p := p0()
	p.Group = policy.CompiledWindow{Algorithm: policy.SlidingWindow, Limit: limit, PeriodMS: 3_600_000, Buckets: 1}
	return p
}

// TestTheGroupsLimitIsSharedByAllMembers: each call is one member's first message; the exempt take of it too.
func TestTheGroupsLimitIsSharedByAllMembers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		k := newKit(t, rdb, ofGroup(3))
		if d := k.asked("a"); d.Code != policy.Allowed || d.Remaining != 2 || d.Limit != 3 {
			t.Fatalf("the first: %+v", d)
		}
		same(t, "an exempt role", policy.AllowedExempt, k.asked("b", "admin").Code)
		same(t, "too soon, and nothing counted", policy.RefusedInterval, k.asked("a").Code)
		same(t, "the third", policy.Allowed, k.asked("c").Code)
		d := k.asked("d")
		if d.Code != policy.RefusedLimit || d.Limit != 3 || d.Remaining != 0 || d.WaitMS < 3_590_000 || d.Strikes != 0 {
			t.Fatalf("the fourth: %+v", d)
		}
		same(t, "an exempt role, beyond it", policy.AllowedExempt, k.asked("b", "admin").Code)
		st, ttl := k.whole()
		if len(st.Log) != 3 || ttl < 1.2*3600 || ttl > 2.4*3600 {
			t.Fatalf("%d remembered for %.0f s", len(st.Log), ttl)
		}
		if n := rdb.Exists(t.Context(), k.keys.State("message", group, "d")).Val(); n != 0 {
			t.Fatal("the member was charged for what the group refused")
		}
		k.publish(ofGroup(5))
		same(t, "of more", policy.Allowed, k.asked("d").Code)
		k.publish(p0())
		same(t, "without", int64(8), k.asked("e").Limit)
	})
}

// whole is what is remembered of the whole group, and for how many seconds.
func (k *kit) whole() (policy.ActionState, float64) {
	k.t.Helper()
	key := k.keys.GroupState("message", group)
	b, err := k.rdb.Get(k.t.Context(), key).Bytes()
	if err != nil {
		k.t.Fatal(err)
	}
	return enforce.DecodeState(b), k.rdb.TTL(k.t.Context(), key).Val().Seconds()
}

// TestDamagedGroupLimitIsNeverUnlimited: what cannot be read is 100 per 30 s, and a key of the wrong type is empty.
func TestDamagedGroupLimitIsNeverUnlimited(t *testing.T) {
	t.Parallel()
	program := func(k *kit, text string) {
		k.rdb.HSet(k.t.Context(), k.keys.Policy("message", group), "group_program", text)
	}
	damage := map[string]func(k *kit){
		"missing":   func(k *kit) { k.rdb.HDel(k.t.Context(), k.keys.Policy("message", group), "group_program") },
		"short":     func(k *kit) { program(k, "x") },
		"no limit":  func(k *kit) { program(k, "\x01\x00\x00\x00123456") },
		"algorithm": func(k *kit) { program(k, "\xff123456789") },
	}
	for name, spoil := range damage {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
				p := ofGroup(3)
				p.Limit = 0
				k := newKit(t, rdb, p)
				spoil(k)
				k.rdb.LPush(t.Context(), k.keys.GroupState("message", group), "x")
				if d := k.asked("a"); d.Code != policy.Allowed || d.Limit != 100 || d.Remaining != 99 {
					t.Fatalf("decided %+v", d)
				}
				if st, ttl := k.whole(); len(st.Log) != 1 || ttl < 36 || ttl > 72 {
					t.Fatalf("%+v remembered for %.0f s", st, ttl)
				}
			})
		})
	}
}
