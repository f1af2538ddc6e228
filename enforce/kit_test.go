package enforce_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
)

const (
	base  = int64(1_764_547_200_000) // the t = 0 of the cases
	group = "g1"
	user  = "u1"
)

// kit is one group under test whose clock the test sets.
type kit struct {
	t     *testing.T
	rdb   redis.UniversalClient
	keys  enforce.Keys
	pub   *enforce.Publisher
	order int64
}

func newKit(t *testing.T, rdb redis.UniversalClient, p policy.Compiled) *kit {
	t.Helper()
	keys := enforce.NewKeys("")
	k := &kit{t: t, rdb: rdb, keys: keys, pub: enforce.NewPublisher(rdb, keys)}
	k.publish(p)
	return k
}

// now is the clock of Redis, in ms since the epoch.
func (k *kit) now() int64 {
	k.t.Helper()
	now, err := k.rdb.Time(k.t.Context()).Result()
	if err != nil {
		k.t.Fatal(err)
	}
	return now.UnixMilli()
}

// p0 is the default policy of the cases.
func p0() policy.Compiled {
	p := policy.FactoryPolicy("message")
	p.ExemptRoles = []string{"admin", "bot", "owner"}
	return p
}

func noInterval() policy.Compiled {
	p := p0()
	p.MinIntervalMS = 0
	return p
}

// publish writes the group's message policy as the next version.
func (k *kit) publish(p policy.Compiled) {
	k.t.Helper()
	k.order++
	p.Order, p.Version = k.order, k.order
	results, err := k.pub.Publish(k.t.Context(), enforce.Shard(group), []enforce.Publication{
		{Key: k.keys.Policy("message", group), Order: k.order, Hash: enforce.PolicyHash(p)},
	})
	if err != nil || results[0] != enforce.Written {
		k.t.Fatalf("publish = %v, %v", results, err)
	}
}

// scriptKeys are all KEYS of check.lua for the member.
func (k *kit) scriptKeys() []string {
	const action = "message"
	shard := enforce.Shard(group)
	return []string{
		k.keys.Policy(action, group), k.keys.Default(shard, action), k.keys.State(action, group, user),
		k.keys.Member(group, user), k.keys.Exempt(group), k.keys.Muted(group), k.keys.Events(shard),
	}
}

// at sends one message at a moment.
func (k *kit) at(ms int64) policy.Decision {
	k.t.Helper()
	d, err := enforce.DecodeReply(k.rdb.Eval(
		k.t.Context(), enforce.CheckScript(), k.scriptKeys(), user, "", 1, base+ms))
	if err != nil {
		k.t.Fatalf("check at %d: %v", ms, err)
	}
	return d
}

// want fails unless the message at a moment is answered so: code, and wait where it is given.
func (k *kit) want(ms int64, code policy.DecisionCode, wait ...int64) policy.Decision {
	k.t.Helper()
	d := k.at(ms)
	if d.Code != code || len(wait) > 0 && d.WaitMS != wait[0] {
		k.t.Fatalf("at %d: got %v wait %d, want %v wait %v (%+v)", ms, d.Code, d.WaitMS, code, wait, d)
	}
	return d
}

// member reads the record in Redis.
func (k *kit) member() policy.MemberRecord {
	k.t.Helper()
	m, err := k.pub.ReadMember(k.t.Context(), group, user)
	if err != nil {
		k.t.Fatal(err)
	}
	return m
}

// ttls fails if one of the keys lives for ever.
func (k *kit) ttls(keys ...string) {
	k.t.Helper()
	for _, key := range keys {
		if ttl := k.rdb.TTL(k.t.Context(), key).Val(); ttl == -1 {
			k.t.Fatalf("%s has no time to live", key)
		}
	}
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func name(n int) string { return fmt.Sprintf("u%d", n) }
