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
