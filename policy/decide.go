package policy

import "slices"

// DecisionCode is the stable number of an answer. Codes up to CodeDegraded let the attempt pass.
type DecisionCode int64

// The codes of decisions (design: the check). Scripts answer all but the two degraded ones, which the client makes.
const (
	Allowed         DecisionCode = 0
	AllowedExempt   DecisionCode = 1
	AllowedWarned   DecisionCode = 2 // soft mode: hard would have refused
	Delay           DecisionCode = 3 // leaky queue: WaitMS is the delay
	AllowedDegraded DecisionCode = 4
	RefusedInterval DecisionCode = 10
	RefusedLimit    DecisionCode = 11
	RefusedMuted    DecisionCode = 12
	RefusedBanned   DecisionCode = 13
	RefusedRemoved  DecisionCode = 14
	RefusedReview   DecisionCode = 15
	RefusedDegraded DecisionCode = 16
)

// Attempt is one try at an action.
type Attempt struct {
	NowMS         int64    // ms since the epoch, > 0
	Cost          int64    // 0 = peek: answer what cost 1 would be answered, change nothing; < 0 is refused
	Roles         []string // the member's roles; unknown ones are ignored
	ExemptUntilMS int64    // of the named exemption; 0 = not named, math.MaxInt64 = no end
}

// Decision is the answer to an Attempt, all integers; the zero Decision is a plain allow without a window.
type Decision struct {
	Code      DecisionCode
	WaitMS    int64 // when refused ≥ 1, sufficient and necessary; with AllowedWarned what hard would have said
	Remaining int64 // attempts left in the window
	Limit     int64 // of the window; 0 = none was looked at
	Strikes   int64 // of speech actions, after forgiveness
	Step      int64 // 1-based step of the ladder that this very call took; 0 = none
	Version   int64 // of the policy; 0 = the defaults
}

// Allowed says whether the attempt passes.
func (d Decision) Allowed() bool { return d.Code <= AllowedDegraded }

// String names the code as the contract does, e.g. refused_interval.
func (c DecisionCode) String() string {
	names := map[DecisionCode]string{
		Allowed: "allowed", AllowedExempt: "allowed_exempt", AllowedWarned: "allowed_warned", Delay: "delay",
		AllowedDegraded: "allowed_degraded", RefusedInterval: "refused_interval", RefusedLimit: "refused_limit",
		RefusedMuted: "refused_muted", RefusedBanned: "refused_banned", RefusedRemoved: "refused_removed",
		RefusedReview: "refused_review", RefusedDegraded: "refused_degraded",
	}
	if name, ok := names[c]; ok {
		return name
	}
	return "unknown"
}

// Event is what a counted strike or a new ban leaves behind for Postgres. Mute and ban moments are 0 where this very
// call did not start one.
type Event struct {
	AtMS        int64
	Code        DecisionCode
	Strikes     int64
	Step        int64
	Cause       Cause
	MuteStartMS int64
	MuteEndMS   int64
	BanStartMS  int64
	BanEndMS    int64
}

// Decide is DecideInGroup for a policy without a limit of the whole group, and with nothing remembered of one.
func Decide(p Compiled, st ActionState, m MemberRecord, a Attempt) (Decision, ActionState, MemberRecord, *Event) {
	d, st, _, m, e := DecideInGroup(p, st, ActionState{}, m, a)
	return d, st, m, e
}

// DecideInGroup is the reference for enforce/check.lua: what the script answers and leaves behind, cell by cell. st is the
// member's state, all what is remembered of the whole group at this action. Values in, values out; the arguments are not
// changed. The event is nil unless a strike was counted or a ban taken.
func DecideInGroup(
	p Compiled, st, all ActionState, m MemberRecord, a Attempt,
) (Decision, ActionState, ActionState, MemberRecord, *Event) {
	t := trial{p: p.repaired(), st: st, all: all, m: m, a: a}
	t.decide()
	return t.d, t.st, t.all, t.m, t.e
}

// trial is one attempt on its way to a decision.
type trial struct {
	p       Compiled
	st, all ActionState // the member's, the whole group's
	m       MemberRecord
	a       Attempt
	f, g    finding // what the member's limits say, and the group's
	d       Decision
	e       *Event
}

func (t *trial) decide() {
	t.d.Version = t.p.Version
	if t.p.Speech {
		t.d.Strikes = t.m.StrikesAt(t.a.NowMS, t.p.ForgiveOneEveryMS)
	}
	if t.p.Enabled && t.p.Group.Limit > 0 {
		t.g = measure(t.p.OfGroup(), &t.all, t.a)
	}
	if t.p.exempts(t.a.Roles) {
		t.exempted()
		return
	}
	t.f = measure(t.p, &t.st, t.a)
	t.tell()
	named := t.a.ExemptUntilMS > t.a.NowMS
	valid := t.f.validCost && (t.g.tally == nil || t.g.validCost)
	if code, wait := t.held(named); wait > 0 {
		if !named && t.p.Mode != Soft && valid {
			wait = max(wait, t.f.wait(), t.g.windowWait)
		}
		t.d.Code, t.d.WaitMS = code, wait
		return
	}
	switch delay := max(t.f.delay, t.g.delay); {
	case !t.p.Enabled:
	case !valid:
		t.d.Code, t.d.WaitMS = RefusedLimit, t.costliest()
	case t.f.passes() && t.g.windowWait == 0 && (delay == 0 || !named):
		t.accept(delay)
	case named:
		t.d.Code = AllowedExempt
		t.chargeGroup()
		t.tell()
	default:
		t.refuse()
	}
}

// tell puts the limit that is nearest into the decision: the member's, unless less is left of the group's.
func (t *trial) tell() {
	t.d.Limit, t.d.Remaining = t.f.limit, t.f.remaining()
	if t.g.tally != nil && (t.f.tally == nil || t.g.remaining() < t.d.Remaining) {
		t.d.Limit, t.d.Remaining = t.g.limit, t.g.remaining()
	}
}

// costliest is the wait of a call that asks for more than a limit holds.
func (t *trial) costliest() int64 {
	if !t.f.validCost {
		return max(1, t.f.period)
	}
	return t.g.period
}

// chargeGroup counts what passes, also the exempt's, for whom it may be more than the limit has left.
func (t *trial) chargeGroup() {
	if t.g.tally == nil || t.a.Cost <= 0 {
		return
	}
	t.g.charge(t.a.Cost)
	t.all = t.g.state(t.all, t.a.NowMS)
	t.all.LastMS, t.all.Refused = t.a.NowMS, false
}

// repaired puts factory values where a damaged policy would be unlimited or never forgive, and bounds the log.
func (p Compiled) repaired() Compiled {
	p.Limit = min(p.Limit, MaxLimit)
	if p.Limit > 0 && p.PeriodMS <= 0 {
		p.PeriodMS = factoryPeriod
	}
	if p.ForgiveOneEveryMS <= 0 {
		p.ForgiveOneEveryMS = factoryClock
	}
	p.Buckets = min(max(p.Buckets, 1), MaxBuckets)
	if p.shape() != ShapeLog {
		p.PeriodMS = min(p.PeriodMS, MaxPeriodMS)
	}
	p.Offsets = p.Offsets.repaired()
	return p
}

func (p Compiled) exempts(roles []string) bool {
	return slices.ContainsFunc(roles, func(role string) bool { return slices.Contains(p.ExemptRoles, role) })
}

// exempted answers for an exempt role: only a moderator's mute holds it, and nothing is recorded but in the group's count.
func (t *trial) exempted() {
	if t.p.Speech && t.m.Cause == CauseModerator && t.m.Muted(t.a.NowMS) {
		t.d.Code, t.d.WaitMS = RefusedMuted, t.m.MuteEndMS-t.a.NowMS
		return
	}
	t.d.Code = AllowedExempt
	t.chargeGroup()
}

// held finds the mute or ban in force with the longer wait; a named exemption sets aside all but a moderator's mute.
func (t *trial) held(named bool) (DecisionCode, int64) {
	code, wait, now := Allowed, int64(0), t.a.NowMS
	if t.p.Speech && t.m.Muted(now) && (!named || t.m.Cause == CauseModerator) {
		code, wait = muteCode(t.m.Cause), t.m.MuteEndMS-now
	}
	if ban := t.st.BanEndMS - now; !named && ban > wait {
		code, wait = RefusedBanned, ban
	}
	return code, wait
}

func muteCode(c Cause) DecisionCode {
	switch c {
	case CauseReview:
		return RefusedReview
	case CauseRemove:
		return RefusedRemoved
	case CauseNone, CauseLadder, CauseModerator, CauseLifted:
	}
	return RefusedMuted
}

// accept records the attempt. In a queue it is told when its turn comes.
func (t *trial) accept(delay int64) {
	if delay > 0 {
		t.d.Code, t.d.WaitMS = Delay, delay
	}
	if t.a.Cost == 0 {
		return
	}
	t.f.charge(t.a.Cost)
	t.st = t.f.state(t.st, t.a.NowMS)
	t.st.LastMS, t.st.Refused = t.a.NowMS, false
	t.chargeGroup()
	t.tell()
}

// refuse answers an attempt that a limit refuses. It changes nothing but what count_refused, the repair of future
// times, a ban and a strike ask for. The group's limit alone is no violation of the member's.
func (t *trial) refuse() {
	byMember, byWindow := t.f.wait() > 0, t.f.windowWait > 0
	t.countRefused()
	t.tell()
	windows := max(t.f.windowWait, t.g.windowWait)
	t.d.WaitMS = max(t.f.intervalWait, windows)
	if t.p.Mode == Soft {
		t.d.Code = AllowedWarned
		return
	}
	t.d.Code = RefusedInterval
	if (byWindow || !byMember || t.g.windowWait > 0) && windows >= t.f.intervalWait {
		t.d.Code = RefusedLimit
	}
	if t.a.Cost > 0 && byMember {
		t.penalise(byWindow)
	}
}

// countRefused writes refused attempts where they count, and times that were repaired.
func (t *trial) countRefused() {
	if t.a.Cost == 0 {
		return
	}
	if cost, write := refusedCost(t.p, &t.f, t.a.Cost); write {
		t.f.charge(cost)
		t.st = t.f.state(t.st, t.a.NowMS)
		t.f.windowWait = t.f.waitFor(t.a.Cost)
	}
	if cost, write := refusedCost(t.p.OfGroup(), &t.g, t.a.Cost); write && t.g.tally != nil {
		t.g.charge(cost)
		t.all = t.g.state(t.all, t.a.NowMS)
		t.g.windowWait = t.g.waitFor(t.a.Cost)
	}
}

// refusedCost is what a refused attempt counts for, and whether there is anything to write.
func refusedCost(p Compiled, f *finding, cost int64) (counts int64, write bool) {
	if p.CountRefused {
		f.refused = f.refused || p.shape() == ShapeLog
		return cost, true
	}
	return 0, f.changed
}

// penalise takes the ban and the strike behind a refusal.
func (t *trial) penalise(byWindow bool) {
	now := t.a.NowMS
	e := Event{AtMS: now, Code: t.d.Code}
	ban := t.p.banEnd(now)
	banned := byWindow && ban > 0
	if banned {
		t.f.charge(0)
		t.st = t.f.state(t.st, now)
		t.st.BanStartMS, t.st.BanEndMS = max(now, t.f.banStart+1), ban
		e.BanStartMS, e.BanEndMS = t.st.BanStartMS, t.st.BanEndMS
		t.d.WaitMS = max(t.d.WaitMS, ban-now)
	}
	struck := t.p.Speech && !t.m.struckWithin(now)
	switch {
	case struck:
		t.m = t.m.struck(t.p, t.d.Strikes, now, &e)
		t.d.Strikes, t.d.Step = t.m.Strikes, e.Step
		t.d.WaitMS = max(t.d.WaitMS, e.MuteEndMS-now)
	case banned && t.p.Speech:
		t.m.Strikes, t.m.HeldUntilMS = t.d.Strikes, max(t.m.HeldUntilMS, e.BanEndMS)
	}
	if struck || banned {
		e.Strikes = t.d.Strikes
		t.e = &e
	}
}

// banEnd is when a ban that is taken now ends; 0 = the policy has none.
func (p Compiled) banEnd(nowMS int64) int64 {
	switch {
	case p.BanToEndOfDay:
		return p.Offsets.unitEnd(nowMS, day)
	case p.BanForMS > 0:
		return nowMS + p.BanForMS
	}
	return 0
}
