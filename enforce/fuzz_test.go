package enforce_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

// FuzzCheck feeds any bytes as programs, states, member record and ARGV: the script never fails, decides as the evaluator
// does, and leaves no key without a time to live.
func FuzzCheck(f *testing.F) {
	rdb := redistest.Real(f)
	state := enforce.EncodeState(policy.ActionState{LastMS: base - 500, BanStartMS: 1, BanEndMS: base + 5, Log: []uint32{1, 2}})
	member := enforce.EncodeMember(policy.MemberRecord{Strikes: 5, LastStrikeMS: base - 5000, HeldUntilMS: base, Cause: policy.CauseLadder})
	f.Add(enforce.EncodeProgram(p0()), []byte{}, state, []byte{}, member, "u1", "member,vip", "1")
	f.Add(enforce.EncodeProgram(noInterval()), []byte{}, []byte{}, []byte{}, []byte{}, "", "", "0")
	for _, p := range otherAlgorithms() {
		st := []policy.ActionState{{}, {LastMS: base - 500}, {LastMS: base - 500}}
		_, st[1], _, _ = policy.Decide(p, st[1], policy.MemberRecord{}, policy.Attempt{NowMS: base - 400, Cost: 3})
		_, st[2], _, _ = policy.Decide(p, st[1], policy.MemberRecord{}, policy.Attempt{NowMS: base - 300, Cost: 3})
		for _, s := range st {
			f.Add(enforce.EncodeProgram(p), []byte{}, enforce.EncodeState(s), []byte{}, member, "u1", "", "1")
			g := p0()
			g.Group = groupBy(p)
			f.Add(enforce.EncodeProgram(g), enforce.EncodeGroupProgram(g), state, enforce.EncodeState(s), member, "u1", "", "1")
			f.Add(enforce.EncodeProgram(g), []byte("0123456789"), []byte{}, enforce.EncodeState(s), []byte{}, "u1", "", "2")
		}
	}
	f.Add([]byte("abc"), []byte("abc"), []byte("\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), []byte{}, []byte("\x01"), "%", ",,", "1e3")
	keys := []string{"f{x}p", "f{x}d", "f{x}state|g|u", "f{x}m", "f{x}e", "f{x}z", "f{x}v", "f{x}state|g|~group"}
	f.Fuzz(func(t *testing.T, program, group, state, whole, member []byte, user, roles, cost string) {
		ctx := t.Context()
		pipe := rdb.TxPipeline()
		pipe.Del(ctx, keys...)
		pipe.HSet(ctx, keys[0], "program", program, "exempt_roles", "never\n", "group_program", group)
		pipe.Set(ctx, keys[2], state, 0)
		pipe.Set(ctx, keys[3], member, 0)
		pipe.Set(ctx, keys[7], whole, 0)
		reply := pipe.Eval(ctx, enforce.CheckScript(), keys, user, roles, cost, base)
		after, record, together := pipe.Get(ctx, keys[2]), pipe.Get(ctx, keys[3]), pipe.Get(ctx, keys[7])
		ttl := pipe.TTL(ctx, keys[2])
		if _, err := pipe.Exec(ctx); err != nil {
			t.Fatal(err)
		}
		got, err := enforce.DecodeReply(reply)
		if err != nil {
			t.Fatal(err)
		}
		p, ok := enforce.DecodeProgram(program, group)
		if !ok {
			p = policy.FactoryPolicy("message")
		}
		p.ExemptRoles = nil
		n := fuzzCost(cost)
		want, st, all, m, _ := policy.DecideInGroup(p, enforce.DecodeState(state), enforce.DecodeState(whole),
			enforce.DecodeMember(member), policy.Attempt{NowMS: base, Cost: n})
		if got.Code == policy.AllowedExempt {
			return // the fuzzer found the exempt role
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-evaluator +script)\n%s", diff)
		}
		stored, _ := after.Bytes()
		if diff := cmp.Diff(st, enforce.DecodeState(stored), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		stored, _ = together.Bytes()
		if diff := cmp.Diff(all, enforce.DecodeState(stored), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		stored, _ = record.Bytes()
		if diff := cmp.Diff(m, enforce.DecodeMember(stored)); diff != "" {
			t.Fatal(diff)
		}
		if n != 0 && ttl.Val() == -1 {
			t.Fatalf("the state lives for ever: %v", ttl.Val())
		}
	})
}

// otherAlgorithms are policies with room for 3 that do not slide.
func otherAlgorithms() []policy.Compiled {
	of := func(a policy.Algorithm, change func(*policy.Compiled)) policy.Compiled {
		p := noInterval()
		p.Algorithm, p.Limit, p.PeriodMS = a, 3, 2000
		change(&p)
		return p
	}
	return []policy.Compiled{
		of(policy.FixedWindow, func(p *policy.Compiled) { p.Align = policy.AlignFirst }),
		of(policy.FixedWindow, func(p *policy.Compiled) {
			p.Align, p.PeriodMS, p.BanToEndOfDay = policy.AlignCalendar, 86_400_000, true
		}),
		of(policy.SlidingCounter, func(p *policy.Compiled) { p.Buckets, p.CountRefused = 4, true }),
		of(policy.TokenBucket, func(*policy.Compiled) {}),
		of(policy.LeakyBucket, func(*policy.Compiled) {}),
		of(policy.LeakyBucket, func(p *policy.Compiled) { p.Queue = true }),
	}
}

// fuzzCost reads a cost as the script must.
func fuzzCost(text string) int64 {
	if text == "" {
		return 1
	}
	if len(text) > 15 {
		return -1
	}
	n := int64(0)
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int64(c-'0')
	}
	return n
}

// FuzzDecode: no bytes panic, and what was decoded survives a round trip.
func FuzzDecode(f *testing.F) {
	f.Add(enforce.EncodeProgram(p0()))
	f.Add(enforce.EncodeState(policy.ActionState{LastMS: base, BanStartMS: 1, Log: []uint32{1, 2}}))
	for _, p := range otherAlgorithms() {
		_, st, _, _ := policy.Decide(p, policy.ActionState{}, policy.MemberRecord{}, policy.Attempt{NowMS: base, Cost: 1})
		f.Add(enforce.EncodeProgram(p))
		f.Add(enforce.EncodeState(st))
	}
	f.Add(enforce.EncodeMember(policy.MemberRecord{Strikes: 255, MuteEndMS: 1<<48 - 1, Cause: policy.CauseLifted}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, ok := enforce.DecodeProgram(b, b); ok {
			again, _ := enforce.DecodeProgram(enforce.EncodeProgram(p), enforce.EncodeGroupProgram(p))
			same(t, "program", p, again)
			enforce.PolicyHash(p)
		}
		st := enforce.DecodeState(b)
		if diff := cmp.Diff(st, enforce.DecodeState(enforce.EncodeState(st)), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		m := enforce.DecodeMember(b)
		same(t, "member", m, enforce.DecodeMember(enforce.EncodeMember(m)))
	})
}

// groupBy is a policy's window as a limit of the whole group.
func groupBy(p policy.Compiled) policy.CompiledWindow {
	return policy.CompiledWindow{
		Algorithm: p.Algorithm, Align: p.Align, Limit: p.Limit, PeriodMS: p.PeriodMS, Buckets: p.Buckets, Queue: p.Queue,
		CountRefused: p.CountRefused,
	}
}
