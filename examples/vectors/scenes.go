package main

import "github.com/pacekeeper/pacekeeper/policy"

// base is the shipped policy of messages: 2 s between two, 8 per 30 s, and the ladder.
func base(changes ...func(*policy.Compiled)) policy.Compiled {
	p := policy.FactoryPolicy("message")
	for _, change := range changes {
		change(&p)
	}
	return p
}

// scenes are the cases that a client gets wrong first.
func (v *vectors) scenes() {
	for i := range int64(6) { // nothing is published: the factory's policy, and a member who is muted in the end
		v.call("message", "tea", "ann", 1000*i, 1)
	}
	v.call("message", "tea", "ann", 64_999, 1)
	v.call("message", "tea", "ann", 65_000, 1)
	for _, group := range []string{"群组", "!a/b🐈:example.org", "-1002471352452", "15947634569000323", "a:b", "*"} { // ids are bytes
		v.call("message", group, "9007199254740993", 0, 1)
		v.call("message", group, "9007199254740993", 1999, 1)
		v.call("message", group, "用户", 0, 1)
	}
	v.call("message", "roles", "bob", 0, 1, "admin")
	v.call("message", "roles", "bob", 0, 1, "vip", "bot")
	v.call("message", "roles", "bob", 0, 1, "vip", "no-such-role")
	v.call("message", "roles", "bob", 1, 1, "vip", "no-such-role")
	v.call("message", "costs", "bob", 0, 0)
	v.call("message", "costs", "bob", 0, 9)
	v.call("message", "costs", "bob", 0, 8)
	v.call("message", "costs", "bob", 2000, 1)
	v.call("message", "costs", "bob", 30_000, 0)
	v.exemptUser("named", "eve")
	for i := range int64(10) {
		v.call("message", "named", "eve", i, 1)
	}
	v.publish("like", "ban", base(func(p *policy.Compiled) {
		p.MinIntervalMS, p.Limit, p.PeriodMS, p.BanForMS, p.Speech, p.Ladder = 0, 2, 10_000, 3_600_000, false, nil
	}))
	for _, at := range []int64{0, 0, 0, 10_000, 3_600_000} {
		v.call("like", "ban", "bob", at, 1)
	}
}

// groupScenes are groups that limit what all members do together, by a window and by a bucket.
func (v *vectors) groupScenes() {
	together := func(algorithm policy.Algorithm, limit, period int64, more ...func(*policy.Compiled)) policy.Compiled {
		return base(append(more, func(p *policy.Compiled) {
			p.MinIntervalMS, p.Limit, p.PeriodMS = 0, 3, 10_000
			p.Group = policy.CompiledWindow{Algorithm: algorithm, Limit: limit, PeriodMS: period, Buckets: 1}
		})...)
	}
	v.publish("message", "together", together(policy.SlidingWindow, 5, 10_000))
	v.publish("message", "bucket", together(policy.TokenBucket, 4, 2000, func(p *policy.Compiled) { p.CountRefused = true }))
	for _, group := range []string{"together", "bucket"} {
		for i, user := range []string{"ann", "ann", "ann", "ann", "bob", "bob", "eve", "ann"} {
			v.call("message", group, user, int64(i), 1)
		}
		v.call("message", group, "eve", 8, 1, "admin") // the exempt pass and are counted
		v.call("message", group, "bob", 8, 0)
		v.call("message", group, "bob", 9, 6)
		for _, at := range []int64{2000, 2001, 9999, 10_000, 10_001, 10_008, 20_009} {
			v.call("message", group, "bob", at, 1)
		}
	}
}

// scopeScenes are limits of the system: a scope stands in the group's place, and the subject names the shard.
func (v *vectors) scopeScenes() {
	narrow := base(func(p *policy.Compiled) {
		p.MinIntervalMS, p.Limit, p.PeriodMS, p.Speech, p.Ladder = 1000, 2, 10_000, false, nil
	})
	subjects := []string{"ann", "用户", policy.PeerSubject("bob", "ann"), "203.0.113.7", "2001:db8::/64"}
	for i, scope := range []policy.Scope{policy.ScopeUser, policy.ScopeUser, policy.ScopePeer, policy.ScopeIP, policy.ScopeIP} {
		action := []string{"message", "comment"}[i%2]
		v.publishScope(action, scope, narrow, subjects[i])
		for _, at := range []int64{0, 999, 1000, 2000, 9999, 10_000} {
			v.call(action, scope.Place(), subjects[i], at, 1)
		}
	}
}

// variety is a policy for each algorithm and switch.
func variety() []policy.Compiled {
	fast := func(p *policy.Compiled) { p.MinIntervalMS, p.Limit, p.PeriodMS = 0, 5, 10_000 }
	bucket := func(p *policy.Compiled) { p.Limit, p.PeriodMS = 5, 1000 }
	as := func(a policy.Algorithm) func(*policy.Compiled) {
		return func(p *policy.Compiled) { p.Algorithm = a }
	}
	return []policy.Compiled{
		base(), base(fast), base(fast, func(p *policy.Compiled) { p.Mode = policy.Soft }),
		base(fast, func(p *policy.Compiled) { p.CountRefused = true }),
		base(func(p *policy.Compiled) { p.Enabled = false }),
		base(func(p *policy.Compiled) { p.Limit = 0 }),
		base(fast, as(policy.FixedWindow), func(p *policy.Compiled) { p.Align = policy.AlignFirst }),
		base(fast, as(policy.FixedWindow), func(p *policy.Compiled) { p.Align, p.PeriodMS = policy.AlignCalendar, 60_000 }),
		base(fast, as(policy.SlidingCounter), func(p *policy.Compiled) { p.Buckets = 5 }),
		base(fast, bucket, as(policy.TokenBucket)),
		base(fast, bucket, as(policy.LeakyBucket)),
		base(fast, bucket, as(policy.LeakyBucket), func(p *policy.Compiled) { p.Queue = true }),
	}
}
