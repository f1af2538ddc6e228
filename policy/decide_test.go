package policy_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/policy"
)

const start = int64(1_764_547_200_000)

func basic() policy.Compiled {
	return policy.Compiled{
		Enabled: true, Speech: true, Mode: policy.Hard, MinIntervalMS: 2000, Limit: 8, PeriodMS: 30_000,
		ForgiveOneEveryMS: 600_000, ExemptRoles: []string{"admin", "owner"},
		Ladder: []policy.Step{
			{After: 3, Do: policy.Mute, ForMS: 60_000},
			{After: 4, Do: policy.Mute, ForMS: 300_000},
			{After: 5, Do: policy.Mute, ForMS: 3_600_000},
			{After: 6, Do: policy.Review},
		},
	}
}

func randomLimits(r *rand.Rand) policy.Compiled {
	p := basic()
	p.MinIntervalMS = []int64{0, 100, 2000}[r.IntN(3)]
	p.Limit = []int64{0, 1, 3, 8}[r.IntN(4)]
	p.PeriodMS = []int64{1000, 10_000, 30_000}[r.IntN(3)]
	p.CountRefused = r.IntN(4) == 0
	p.BanForMS = []int64{0, 0, 7000}[r.IntN(3)]
	p.BanToEndOfDay = p.BanForMS == 0 && r.IntN(8) == 0
	p.Speech = r.IntN(2) == 0
	p.Algorithm = policy.Algorithms()[r.IntN(5)]
	switch p.Algorithm {
	case policy.FixedWindow:
		p.Align = policy.AlignFirst
		if r.IntN(2) == 0 {
			p.Align, p.PeriodMS = policy.AlignCalendar, []int64{60_000, 3_600_000, 86_400_000}[r.IntN(3)]
		}
	case policy.SlidingCounter:
		p.Buckets = []int64{1, 3, 10}[r.IntN(3)]
	case policy.LeakyBucket:
		p.Queue = r.IntN(2) == 0
		fallthrough
	case policy.TokenBucket:
		p.PeriodMS = []int64{1, 400, 3750}[r.IntN(3)]
	case policy.SlidingWindow:
	}
	return p
}

// TestWaitsAreSufficientAndNecessary: at exactly wait_ms later the same call passes, 1 ms earlier it does not.
func TestWaitsAreSufficientAndNecessary(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		p := randomLimits(r)
		var st policy.ActionState
		var m policy.MemberRecord
		now := start
		for range 60 {
			now += r.Int64N(1 + []int64{0, 200, 3000, 40_000}[r.IntN(4)])
			a := policy.Attempt{NowMS: now, Cost: 1 + r.Int64N(2)}
			if p.Limit == 1 {
				a.Cost = 1
			}
			var d policy.Decision
			d, st, m, _ = policy.Decide(p, st, m, a)
			if d.Allowed() {
				continue
			}
			if d.WaitMS < 1 {
				t.Fatalf("refused without a wait: %+v", d)
			}
			for _, early := range []int64{0, 1} {
				a.NowMS = now + d.WaitMS - early
				if again, _, _, _ := policy.Decide(p, st, m, a); again.Allowed() == (early == 1) && a.NowMS > now {
					t.Fatalf("policy %+v\n%+v at %d, then %+v %d ms before the wait ends", p, d, now, again, early)
				}
			}
		}
	}
}

// TestLimitHoldsInEveryWindow keeps the whole history beside the evaluator.
func TestLimitHoldsInEveryWindow(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		p := randomLimits(r)
		p.Algorithm, p.Limit = policy.SlidingWindow, max(p.Limit, 1)
		var st policy.ActionState
		var m policy.MemberRecord
		var accepted []int64
		now := start
		for range 200 {
			now += r.Int64N(1 + []int64{0, 50, 1000, 20_000}[r.IntN(4)])
			var d policy.Decision
			d, st, m, _ = policy.Decide(p, st, m, policy.Attempt{NowMS: now, Cost: 1})
			if d.Allowed() {
				accepted = append(accepted, now)
			}
			inside := 0
			for i := len(accepted) - 1; i >= 0 && accepted[i] > now-p.PeriodMS; i-- {
				inside++
			}
			if int64(inside) > p.Limit {
				t.Fatalf("%d accepted in a window of %d", inside, p.Limit)
			}
			if n := len(accepted); n > 1 && accepted[n-1]-accepted[n-2] < p.MinIntervalMS {
				t.Fatalf("two accepted %d ms apart, interval %d", accepted[n-1]-accepted[n-2], p.MinIntervalMS)
			}
			free := d.Code == policy.RefusedLimit && d.Step == 0 && !p.CountRefused && p.BanForMS == 0
			if free && int64(inside) < p.Limit {
				t.Fatalf("refused with %d of %d in the window", inside, p.Limit)
			}
		}
	}
}

// TestC12_LooseningNeverRefuses: what a policy allows, every looser one allows in the same state.
func TestC12_LooseningNeverRefuses(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		p := randomLimits(r)
		var st policy.ActionState
		var m policy.MemberRecord
		now := start
		for range 60 {
			now += r.Int64N(1 + []int64{0, 200, 3000, 40_000}[r.IntN(4)])
			a := policy.Attempt{NowMS: now, Cost: 1}
			looser := p
			looser.MinIntervalMS -= r.Int64N(p.MinIntervalMS + 1)
			if p.Align != policy.AlignCalendar {
				looser.PeriodMS -= r.Int64N(p.PeriodMS)
			}
			if p.Limit > 0 {
				looser.Limit += r.Int64N(50)
			}
			strict, next, record, _ := policy.Decide(p, st, m, a)
			loose, _, _, _ := policy.Decide(looser, st, m, a)
			if strict.Allowed() && !loose.Allowed() {
				t.Fatalf("%+v allows, %+v refuses: %+v", p, looser, loose)
			}
			st, m = next, record
		}
	}
}

// TestC17_WhoViolatesAtTheFirstMomentClimbs every step to review, whatever the ladder.
func TestC17_WhoViolatesAtTheFirstMomentClimbs(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		p := basic()
		p.Ladder = nil
		after := int64(1)
		for range 1 + r.IntN(5) {
			after += 1 + r.Int64N(3)
			p.Ladder = append(p.Ladder, policy.Step{After: after, Do: policy.Mute, ForMS: 1000 + r.Int64N(1e8)})
		}
		p.Ladder = append(p.Ladder, policy.Step{After: after + 1, Do: policy.Review})
		p.ForgiveOneEveryMS = 10_000 + r.Int64N(1e6)
		var st policy.ActionState
		var m policy.MemberRecord
		var steps []int64
		now := start
		for range after + 1 {
			for range 2 { // one message that passes, one that is too soon, once strikes count again
				var d policy.Decision
				d, st, m, _ = policy.Decide(p, st, m, policy.Attempt{NowMS: now, Cost: 1})
				now += 1
				if d.Code == policy.RefusedInterval {
					steps = append(steps, d.Step)
					now += max(d.WaitMS-1, policy.StrikeGapMS)
				}
			}
		}
		want := make([]int64, 0, after+1)
		for strikes := range after + 1 {
			step := int64(0)
			for i, s := range p.Ladder {
				if s.After <= strikes+1 {
					step = int64(i) + 1
				}
			}
			want = append(want, step)
		}
		if !slices.Equal(steps, want) {
			t.Fatalf("steps %v, want %v (ladder %+v)", steps, want, p.Ladder)
		}
	}
}

// TestEveryStateNeedsABoundedTime: what is written is remembered at least a second and not for ever.
func TestEveryStateNeedsABoundedTime(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10))
	longest := policy.MaxStrikes*int64(policy.MaxForgiveMS) + policy.MaxMuteMS
	for range 200 {
		p := randomLimits(r)
		var st policy.ActionState
		var m policy.MemberRecord
		now := start
		for range 50 {
			now += r.Int64N(4000) - 500
			_, st, m, _ = policy.Decide(p, st, m, policy.Attempt{NowMS: now, Cost: 1})
			for _, need := range []int64{st.NeedMS(p, now), m.NeedMS(now, p.ForgiveOneEveryMS)} {
				if need < 1000 || need > longest {
					t.Fatalf("needs %d ms", need)
				}
			}
		}
	}
}

func TestClockSteppingBackNeverProlongsAWait(t *testing.T) {
	t.Parallel()
	p := basic()
	p.Speech = false
	var st policy.ActionState
	for i := range int64(8) {
		_, st, _, _ = policy.Decide(p, st, policy.MemberRecord{}, policy.Attempt{NowMS: start + i*2000, Cost: 1})
	}
	back := start - 3_600_000
	d, st, _, _ := policy.Decide(p, st, policy.MemberRecord{}, policy.Attempt{NowMS: back, Cost: 1})
	if d.Code != policy.RefusedLimit || d.WaitMS != p.PeriodMS {
		t.Fatalf("after an hour back: %+v, want the period", d)
	}
	if d, _, _, _ = policy.Decide(p, st, policy.MemberRecord{}, policy.Attempt{NowMS: back + p.PeriodMS, Cost: 1}); !d.Allowed() {
		t.Fatalf("a period later: %+v", d)
	}
}

// TestHoldsStartLaterThanTheOnesBefore: a start is what a mute or a ban is known by, so it never recurs nor goes back,
// whatever the clocks of servers and Redis say; else a lift of the one before would count for the new one.
func TestHoldsStartLaterThanTheOnesBefore(t *testing.T) {
	t.Parallel()
	p := basic()
	p.BanForMS = 7000
	ahead := start + 10_000 // a server whose clock is 10 s ahead muted, and lifted
	before := start - 1
	st := policy.ActionState{LastMS: before, BanStartMS: ahead, Log: slices.Repeat([]uint32{uint32(before)}, 8)}
	m := policy.MemberRecord{Strikes: 2, HeldUntilMS: start, MuteStartMS: ahead, MuteEndMS: start, Cause: policy.CauseLifted}
	d, st, m, e := policy.Decide(p, st, m, policy.Attempt{NowMS: start + 1000, Cost: 1})
	if d.Step != 1 || e == nil || e.MuteStartMS != ahead+1 || e.BanStartMS != ahead+1 {
		t.Fatalf("decided %+v, event %+v; want both holds to start at %d", d, e, ahead+1)
	}
	if m.MuteEndMS != start+61_000 || st.BanEndMS != start+8000 {
		t.Errorf("the ends do not depend on the starts: mute %d, ban %d", m.MuteEndMS, st.BanEndMS)
	}
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	muted := func(c policy.Cause) policy.MemberRecord {
		return policy.MemberRecord{MuteStartMS: start, MuteEndMS: start + 5000, HeldUntilMS: start + 5000, Cause: c}
	}
	banned := policy.ActionState{BanStartMS: start, BanEndMS: start + 9000}
	soft, off, silent := basic(), basic(), basic()
	soft.Mode, off.Enabled, silent.Speech = policy.Soft, false, false
	tests := []struct {
		name  string
		p     policy.Compiled
		st    policy.ActionState
		m     policy.MemberRecord
		roles []string
		until int64
		code  policy.DecisionCode
		wait  int64
	}{
		{name: "exempt role beats a ladder mute", p: basic(), m: muted(policy.CauseLadder), roles: []string{"admin"}, code: 1},
		{name: "a moderator beats an exempt role", p: basic(), m: muted(policy.CauseModerator), roles: []string{"admin"}, code: 12, wait: 5000},
		{name: "a named exemption beats a ban", p: basic(), st: banned, until: math.MaxInt64, code: 0},
		{name: "an ended exemption does not", p: basic(), st: banned, until: start, code: 13, wait: 9000},
		{name: "the longer of mute and ban", p: basic(), st: banned, m: muted(policy.CauseLadder), code: 13, wait: 9000},
		{name: "review", p: basic(), m: muted(policy.CauseReview), code: 15, wait: 5000},
		{name: "remove", p: basic(), m: muted(policy.CauseRemove), code: 14, wait: 5000},
		{name: "a mute holds in soft mode", p: soft, m: muted(policy.CauseLadder), code: 12, wait: 5000},
		{name: "a ban holds where the action is off", p: off, st: banned, code: 13, wait: 9000},
		{name: "a mute is for speech alone", p: silent, m: muted(policy.CauseModerator), code: 0},
		{name: "a lifted mute holds nobody", p: basic(), m: muted(policy.CauseLifted), code: 0},
		{name: "an unknown role is ignored", p: basic(), m: muted(policy.CauseLadder), roles: []string{"king"}, code: 12, wait: 5000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d, _, _, _ := policy.Decide(tt.p, tt.st, tt.m, policy.Attempt{NowMS: start, Cost: 1, Roles: tt.roles, ExemptUntilMS: tt.until})
			if diff := cmp.Diff([2]int64{int64(tt.code), tt.wait}, [2]int64{int64(d.Code), d.WaitMS}); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

func TestHeldWaitCoversTheLimits(t *testing.T) {
	t.Parallel()
	p := basic()
	p.PeriodMS = 300_000
	st := policy.ActionState{LastMS: start}
	for range 8 {
		st.Log = append(st.Log, uint32(start%(1<<32)))
	}
	m := policy.MemberRecord{MuteStartMS: start, MuteEndMS: start + 60_000, Cause: policy.CauseLadder}
	d, _, _, _ := policy.Decide(p, st, m, policy.Attempt{NowMS: start + 1000, Cost: 1})
	if d.Code != policy.RefusedMuted || d.WaitMS != 299_000 {
		t.Fatalf("%+v, want muted until the window has room at 299,000", d)
	}
}
