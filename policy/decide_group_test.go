package policy_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/pacekeeper/pacekeeper/policy"
)

// room is what is remembered of a group and four of its members.
type room struct {
	all     policy.ActionState
	states  [4]policy.ActionState
	members [4]policy.MemberRecord
}

func (r *room) try(p policy.Compiled, member int, a policy.Attempt) (d policy.Decision) {
	d, r.states[member], r.all, r.members[member], _ = policy.DecideInGroup(p, r.states[member], r.all, r.members[member], a)
	return d
}

// withGroup puts a limit of the whole group, by any algorithm, beside random limits of the member.
func withGroup(r *rand.Rand) policy.Compiled {
	p, g := randomLimits(r), randomLimits(r)
	p.Group = windowOf(g)
	p.Group.Limit = []int64{1, 3, 8}[r.IntN(3)]
	p.Group.CountRefused = r.IntN(4) == 0
	return p
}

func windowOf(p policy.Compiled) policy.CompiledWindow {
	return policy.CompiledWindow{
		Algorithm: p.Algorithm, Align: p.Align, Limit: p.Limit, PeriodMS: p.PeriodMS, Buckets: p.Buckets, Queue: p.Queue,
		CountRefused: p.CountRefused,
	}
}

// TestTheGroupsLimitIsExactForAllTogether runs each algorithm beside its model, over members whom nothing else limits.
func TestTheGroupsLimitIsExactForAllTogether(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(31, 32))
	codes := map[policy.Algorithm]map[policy.DecisionCode]int{}
	for range 600 {
		g := withGroup(r)
		g.MinIntervalMS, g.Limit = 0, 0
		g.Group.CountRefused = false
		p := g
		p.Algorithm, p.Align, p.Limit, p.PeriodMS = p.Group.Algorithm, p.Group.Align, p.Group.Limit, p.Group.PeriodMS
		p.Buckets, p.Queue = p.Group.Buckets, p.Group.Queue
		if codes[p.Algorithm] == nil {
			codes[p.Algorithm] = map[policy.DecisionCode]int{}
		}
		m := modelOf(p)
		var all room
		now, wait := start+r.Int64N(1e9), int64(0)
		for range 100 {
			now += max(0, []int64{0, wait - 1, wait, wait + 1, r.Int64N(p.PeriodMS + 1), r.Int64N(50)}[r.IntN(6)])
			cost := 1 + r.Int64N(min(p.Limit, 3))
			ok, delay := m.fits(now, cost)
			d := all.try(g, r.IntN(4), policy.Attempt{NowMS: now, Cost: cost})
			if d.Allowed() != ok || ok && d.WaitMS != delay || d.Strikes > 0 || d.Limit != p.Limit {
				t.Fatalf("%+v\nat %d cost %d: %+v, the model says %v, delay %d", g.Group, now, cost, d, ok, delay)
			}
			if ok {
				m.accept(now, cost)
			}
			wait = d.WaitMS
			codes[p.Algorithm][d.Code]++
		}
	}
	for _, a := range policy.Algorithms() {
		if codes[a][policy.Allowed] < 500 || codes[a][policy.RefusedLimit] < 500 {
			t.Errorf("%s was hardly tried: %v", a, codes[a])
		}
	}
}

// TestNothingIsChargedWhereTheOtherScopeRefuses: what is refused by the member's limits leaves the group's count alone, and
// the other way round.
func TestNothingIsChargedWhereTheOtherScopeRefuses(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(33, 34))
	refused := map[policy.DecisionCode]int{}
	for range 600 {
		p := withGroup(r)
		p.CountRefused, p.Group.CountRefused, p.BanForMS, p.BanToEndOfDay = false, false, 0, false
		var all room
		now := start
		for range 60 {
			now += r.Int64N(1 + []int64{0, 200, 3000, 40_000}[r.IntN(4)])
			before, member := all, r.IntN(4)
			d := all.try(p, member, policy.Attempt{NowMS: now, Cost: 1})
			if d.Allowed() {
				continue
			}
			refused[d.Code]++
			if diff := cmp.Diff([]any{before.all, before.states}, []any{all.all, all.states}, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%+v\n%+v changed %s", p, d, diff)
			}
		}
	}
	if refused[policy.RefusedInterval] < 100 || refused[policy.RefusedLimit] < 100 {
		t.Errorf("hardly tried: %v", refused)
	}
}

// TestWaitsInAGroupAreSufficientAndNecessary: as long as nobody else comes, the same call passes after its wait, and 1 ms
// earlier it does not; and a looser limit of the group never refuses what this one lets pass.
func TestWaitsInAGroupAreSufficientAndNecessary(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(35, 36))
	for range 1000 {
		p := withGroup(r)
		var all room
		now := start
		for range 60 {
			now += r.Int64N(1 + []int64{0, 200, 3000, 40_000}[r.IntN(4)])
			a, member := policy.Attempt{NowMS: now, Cost: 1}, r.IntN(4)
			if p.Limit != 1 && p.Group.Limit > 1 {
				a.Cost += r.Int64N(2)
			}
			looser, beside := p, all
			looser.Group.Limit += r.Int64N(50)
			if p.Group.Align != policy.AlignCalendar {
				looser.Group.PeriodMS -= r.Int64N(p.Group.PeriodMS)
			}
			loose, d := beside.try(looser, member, a), all.try(p, member, a)
			if d.Allowed() {
				if !loose.Allowed() {
					t.Fatalf("%+v allows, %+v refuses: %+v", p.Group, looser.Group, loose)
				}
				continue
			}
			for _, early := range []int64{0, 1} {
				a.NowMS = now + d.WaitMS - early
				later := all
				if again := later.try(p, member, a); d.WaitMS < 1 || again.Allowed() == (early == 1) && a.NowMS > now {
					t.Fatalf("policy %+v\n%+v at %d, then %+v %d ms before the wait ends", p, d, now, again, early)
				}
			}
		}
	}
}

// TestTheExemptAreChargedToTheGroup, and are never refused by it; a refusal by the group alone is no strike and no ban.
func TestTheExemptAreChargedToTheGroup(t *testing.T) {
	t.Parallel()
	p := basic()
	p.BanForMS = 60_000
	p.Group = policy.CompiledWindow{Algorithm: policy.SlidingWindow, Limit: 3, PeriodMS: 10_000}
	var all room
	for i, tt := range []struct {
		member int
		a      policy.Attempt
		want   policy.Decision
	}{
		{0, policy.Attempt{Cost: 1, Roles: []string{"admin"}}, policy.Decision{Code: policy.AllowedExempt}},
		{1, policy.Attempt{Cost: 1, ExemptUntilMS: math.MaxInt64}, policy.Decision{Remaining: 1, Limit: 3}},
		{1, policy.Attempt{Cost: 1, ExemptUntilMS: math.MaxInt64}, policy.Decision{Code: policy.AllowedExempt, Limit: 3}},
		{2, policy.Attempt{Cost: 1}, policy.Decision{Code: policy.RefusedLimit, WaitMS: 9_997, Limit: 3}},
		{0, policy.Attempt{Cost: 1, Roles: []string{"admin"}}, policy.Decision{Code: policy.AllowedExempt}},
		{2, policy.Attempt{Cost: 1}, policy.Decision{Code: policy.RefusedLimit, WaitMS: 9_996, Limit: 3}},
		{2, policy.Attempt{Cost: 4}, policy.Decision{Code: policy.RefusedLimit, WaitMS: 10_000, Limit: 3}},
		{2, policy.Attempt{}, policy.Decision{Code: policy.RefusedLimit, WaitMS: 9_994, Limit: 3}},
	} {
		tt.a.NowMS = start + int64(i)
		if diff := cmp.Diff(tt.want, all.try(p, tt.member, tt.a)); diff != "" {
			t.Errorf("call %d: %s", i, diff)
		}
	}
	if n := len(all.all.Log); n != 3 {
		t.Errorf("%d in the group's log of 3", n)
	}
}
