package enforce_test

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
)

// benchLoad is one kind of check: what is there before each round, and the call.
type benchLoad struct {
	name   string
	seed   func(round int)
	check  func(pipe redis.Pipeliner, round, member int)
	answer policy.DecisionCode // the code of each answer; -1 = a peer's
}

// benchPolicies are the policies by action: the default's, a wide window, and one for each algorithm, 8 per 30 s.
func benchPolicies() map[string]policy.Compiled {
	of := func(change func(*policy.Compiled)) policy.Compiled {
		p := p0()
		change(&p)
		return p
	}
	return map[string]policy.Compiled{
		"message": p0(),
		"slow":    of(func(p *policy.Compiled) { p.MinIntervalMS = 60_000 }), // so that a busy machine is not too slow
		"wide":    of(func(p *policy.Compiled) { p.Limit, p.PeriodMS = 50, 60_000 }),
		"first":   of(func(p *policy.Compiled) { p.Algorithm, p.Align = policy.FixedWindow, policy.AlignFirst }),
		"calendar": of(func(p *policy.Compiled) {
			p.Algorithm, p.Align, p.PeriodMS, p.TimeZone = policy.FixedWindow, policy.AlignCalendar, 86_400_000, "Europe/Berlin"
			p.Offsets = policy.Offsets{UTCOffsetMS: 3_600_000, NextOffsetAtMS: 9_000_000_000_000, NextOffsetMS: 7_200_000}
		}),
		"counter": of(func(p *policy.Compiled) { p.Algorithm, p.Buckets = policy.SlidingCounter, 10 }),
		"token":   of(func(p *policy.Compiled) { p.Algorithm, p.PeriodMS = policy.TokenBucket, 3750 }),
		"queue":   of(func(p *policy.Compiled) { p.Algorithm, p.PeriodMS, p.Queue = policy.LeakyBucket, 20_000, true }),
	}
}

func (c *cpuBench) publish() {
	pub := enforce.NewPublisher(c.rdb, c.keys)
	for action, p := range benchPolicies() {
		for g := range 16 {
			group := benchGroup(g)
			if _, err := pub.Publish(context.Background(), enforce.Shard(group), []enforce.Publication{
				{Key: c.keys.Policy(action, group), Order: 1, Hash: enforce.PolicyHash(p)},
			}); err != nil {
				c.b.Fatal(err)
			}
		}
	}
}

func benchGroup(member int) string { return "g" + strconv.Itoa(1000+member%16) }
func benchUser(member int) string  { return "u" + strconv.Itoa(1_000_000+member) }

// loads are the kinds of checks. The first two are the peer's, which the others are held against.
func (c *cpuBench) loads() []benchLoad {
	tuple, packed := loadScript(c.b, c.rdb, "check"), loadScript(c.b, c.rdb, "packed")
	passes, refuses := c.peer(8), c.peer(1)
	loads := []benchLoad{
		{"redis_rate", passes.seed, passes.check, -1},
		{"redis_rate_refused", refuses.seed, refuses.check, -1},
		{"allowed", c.seedWith("message", 7, 4000), c.plain(packed, "message"), policy.Allowed},
		{"allowed_tuple", c.seedWith("message", 7, 4000), c.plain(tuple, "message"), policy.Allowed},
		{"allowed_roles", c.seedWith("message", 7, 4000), c.roles(packed, "member"), policy.Allowed},
		{"allowed_50", c.seedWith("wide", 49, 1200), c.plain(packed, "wide"), policy.Allowed},
		{"first_message", c.seedNone, c.plain(packed, "message"), policy.Allowed},
		{"exempt_role", c.seedWith("message", 7, 4000), c.roles(packed, "bot"), policy.AllowedExempt},
		{"strike", c.seedRefused(2000), c.plain(packed, "slow"), policy.RefusedInterval},
		{"refused_again", c.seedRefused(-900), c.plain(packed, "slow"), policy.RefusedInterval},
		{"muted", c.seedMuted, c.plain(packed, "message"), policy.RefusedMuted},
	}
	for _, action := range []string{"first", "calendar", "counter", "token"} {
		loads = append(loads, benchLoad{action, c.seedBy(action), c.plain(packed, action), policy.Allowed})
	}
	return append(loads, benchLoad{"queue", c.seedBy("queue"), c.plain(packed, "queue"), policy.Delay})
}

// stateOf is a member with so many accepted, so far apart, before the interval; one more has just left the window.
func stateOf(accepted int, apartMS int64) []byte {
	now := time.Now().UnixMilli()
	st := policy.ActionState{LastMS: now - 3000}
	for i := range int64(accepted) + 1 {
		st.Log = append(st.Log, uint32(now-3000-apartMS*(int64(accepted)-i)))
	}
	return enforce.EncodeState(st)
}

func (c *cpuBench) seedOne(pipe redis.Pipeliner, member int) {
	pipe.Set(context.Background(), c.keys.State("message", benchGroup(member), benchUser(member)), stateOf(7, 4000), time.Minute)
}

func (c *cpuBench) each(seed func(pipe redis.Pipeliner, member int)) {
	pipe := c.rdb.Pipeline()
	for member := range benchMembers {
		seed(pipe, member)
	}
	c.exec(pipe)
}

func (c *cpuBench) seedWith(action string, accepted int, apartMS int64) func(int) {
	return func(int) {
		c.forget()
		c.each(func(pipe redis.Pipeliner, member int) {
			key := c.keys.State(action, benchGroup(member), benchUser(member))
			pipe.Set(context.Background(), key, stateOf(accepted, apartMS), time.Minute)
		})
	}
}

// seedBy leaves members whom the action's policy has let pass 3 times, 3 s ago.
func (c *cpuBench) seedBy(action string) func(int) {
	return func(int) {
		c.forget()
		_, st, _, _ := policy.Decide(benchPolicies()[action], policy.ActionState{}, policy.MemberRecord{},
			policy.Attempt{NowMS: time.Now().UnixMilli() - 3000, Cost: 5})
		c.each(func(pipe redis.Pipeliner, member int) {
			pipe.Set(context.Background(), c.keys.State(action, benchGroup(member), benchUser(member)), enforce.EncodeState(st), time.Minute)
		})
	}
}

// forget drops the members' records.
func (c *cpuBench) forget() {
	c.each(func(pipe redis.Pipeliner, member int) {
		pipe.Del(context.Background(), c.keys.Member(benchGroup(member), benchUser(member)))
	})
}

func (c *cpuBench) seedNone(int) {
	c.forget()
	c.each(func(pipe redis.Pipeliner, member int) {
		pipe.Del(context.Background(), c.keys.State("message", benchGroup(member), benchUser(member)))
	})
}

// seedRefused leaves members who sent just now, with one strike counted so long ago; less than 1,000 ms add none.
func (c *cpuBench) seedRefused(struckMS int64) func(int) {
	return func(int) {
		c.each(func(pipe redis.Pipeliner, member int) {
			now := time.Now().UnixMilli()
			st := policy.ActionState{LastMS: now, Log: []uint32{uint32(now)}}
			m := policy.MemberRecord{Strikes: 1, LastStrikeMS: now - struckMS, HeldUntilMS: now - struckMS}
			pipe.Set(context.Background(), c.keys.State("slow", benchGroup(member), benchUser(member)), enforce.EncodeState(st), time.Minute)
			pipe.Set(context.Background(), c.keys.Member(benchGroup(member), benchUser(member)), enforce.EncodeMember(m), time.Minute)
		})
	}
}

func (c *cpuBench) seedMuted(int) {
	c.each(func(pipe redis.Pipeliner, member int) {
		now := time.Now().UnixMilli()
		m := policy.MemberRecord{
			Strikes: 3, LastStrikeMS: now, HeldUntilMS: now + 60_000, MuteStartMS: now, MuteEndMS: now + 60_000,
			Cause: policy.CauseLadder, Step: 1,
		}
		pipe.Set(context.Background(), c.keys.Member(benchGroup(member), benchUser(member)), enforce.EncodeMember(m), time.Minute)
	})
}

func (c *cpuBench) plain(sha, action string) func(redis.Pipeliner, int, int) {
	return func(pipe redis.Pipeliner, _, member int) { c.evalSha(pipe, sha, action, member) }
}

func (c *cpuBench) roles(sha, role string) func(redis.Pipeliner, int, int) {
	return func(pipe redis.Pipeliner, _, member int) {
		c.evalSha(pipe, sha, "message", member, benchUser(member), role)
	}
}

func (c *cpuBench) evalSha(pipe redis.Pipeliner, sha, action string, member int, args ...any) {
	keys, _ := c.client.Call(enforce.Request{Action: action, Group: benchGroup(member), User: benchUser(member)})
	pipe.EvalSha(context.Background(), sha, keys, args...)
}
