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

// Decide is the reference for enforce/check.lua: what the script answers and leaves behind, cell by cell. Values in,
// values out; the arguments are not changed. The event is nil unless a strike was counted or a ban taken.
func Decide(p Compiled, st ActionState, m MemberRecord, a Attempt) (Decision, ActionState, MemberRecord, *Event) {
	p = p.repaired()
	d := Decision{Version: p.Version}
	if p.Speech {
		d.Strikes = m.StrikesAt(a.NowMS, p.ForgiveOneEveryMS)
	}
	if p.exempts(a.Roles) {
		return exempted(p, m, a, d), st, m, nil
	}
	f := measure(p, &st, a)
	d.Limit, d.Remaining = f.limit, f.remaining()
	named := a.ExemptUntilMS > a.NowMS
	if code, wait := held(p, st, m, a.NowMS, named); wait > 0 {
		if !named && p.Mode != Soft && f.validCost {
			wait = max(wait, f.intervalWait, f.windowWait)
		}
		d.Code, d.WaitMS = code, wait
		return d, st, m, nil
	}
	switch {
	case !p.Enabled:
		return d, st, m, nil
	case !f.validCost:
		d.Code, d.WaitMS = RefusedLimit, max(1, f.period)
		return d, st, m, nil
	case f.passes() && (f.delay == 0 || !named):
		return accept(st, m, a, f, d)
	case named:
		d.Code = AllowedExempt
		return d, st, m, nil
	}
	return refuse(p, st, m, a, f, d)
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

// exempted answers for an exempt role: only a moderator's mute holds it, and nothing is recorded.
func exempted(p Compiled, m MemberRecord, a Attempt, d Decision) Decision {
	if p.Speech && m.Cause == CauseModerator && m.Muted(a.NowMS) {
		d.Code, d.WaitMS = RefusedMuted, m.MuteEndMS-a.NowMS
		return d
	}
	d.Code = AllowedExempt
	return d
}

// held finds the mute or ban in force with the longer wait; a named exemption sets aside all but a moderator's mute.
func held(p Compiled, st ActionState, m MemberRecord, now int64, named bool) (DecisionCode, int64) {
	code, wait := Allowed, int64(0)
	if p.Speech && m.Muted(now) && (!named || m.Cause == CauseModerator) {
		code, wait = muteCode(m.Cause), m.MuteEndMS-now
	}
	if ban := st.BanEndMS - now; !named && ban > wait {
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
func accept(st ActionState, m MemberRecord, a Attempt, f finding, d Decision) (Decision, ActionState, MemberRecord, *Event) {
	if f.delay > 0 {
		d.Code, d.WaitMS = Delay, f.delay
	}
	if a.Cost == 0 {
		return d, st, m, nil
	}
	f.charge(a.Cost)
	st = f.state(st, a.NowMS)
	st.LastMS, st.Refused = a.NowMS, false
	d.Remaining = f.remaining()
	return d, st, m, nil
}

// refuse answers an attempt that a limit refuses. It changes nothing but what count_refused, the repair of future
// times, a ban and a strike ask for.
func refuse(p Compiled, st ActionState, m MemberRecord, a Attempt, f finding, d Decision) (Decision, ActionState, MemberRecord, *Event) {
	byWindow := f.windowWait > 0
	if a.Cost > 0 && (p.CountRefused || f.changed) {
		cost := a.Cost
		if !p.CountRefused {
			cost = 0
		}
		f.charge(cost)
		f.refused = f.refused || p.CountRefused && p.shape() == ShapeLog
		st = f.state(st, a.NowMS)
		f.windowWait = f.waitFor(a.Cost)
		d.Remaining = f.remaining()
	}
	d.WaitMS = max(f.intervalWait, f.windowWait)
	if p.Mode == Soft {
		d.Code = AllowedWarned
		return d, st, m, nil
	}
	d.Code = RefusedInterval
	if byWindow && f.windowWait >= f.intervalWait {
		d.Code = RefusedLimit
	}
	if a.Cost == 0 {
		return d, st, m, nil
	}
	return penalise(p, st, m, a, f, d, byWindow)
}

// penalise takes the ban and the strike behind a refusal.
func penalise(
	p Compiled, st ActionState, m MemberRecord, a Attempt, f finding, d Decision, byWindow bool,
) (Decision, ActionState, MemberRecord, *Event) {
	e := Event{AtMS: a.NowMS, Code: d.Code}
	ban := p.banEnd(a.NowMS)
	banned := byWindow && ban > 0
	if banned {
		f.charge(0)
		st = f.state(st, a.NowMS)
		st.BanStartMS, st.BanEndMS = max(a.NowMS, f.banStart+1), ban
		e.BanStartMS, e.BanEndMS = st.BanStartMS, st.BanEndMS
		d.WaitMS = max(d.WaitMS, ban-a.NowMS)
	}
	struck := p.Speech && !m.struckWithin(a.NowMS)
	switch {
	case struck:
		m = m.struck(p, d.Strikes, a.NowMS, &e)
		d.Strikes, d.Step = m.Strikes, e.Step
		d.WaitMS = max(d.WaitMS, e.MuteEndMS-a.NowMS)
	case banned && p.Speech:
		m.Strikes, m.HeldUntilMS = d.Strikes, max(m.HeldUntilMS, e.BanEndMS)
	}
	if !struck && !banned {
		return d, st, m, nil
	}
	e.Strikes = d.Strikes
	return d, st, m, &e
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

// struckWithin says whether a strike was counted less than StrikeGapMS from now, on either side.
func (m MemberRecord) struckWithin(now int64) bool {
	gap := now - m.LastStrikeMS
	return m.LastStrikeMS > 0 && gap < StrikeGapMS && gap > -StrikeGapMS
}

// struck counts one strike over those left, takes the step it leads to, and notes both in the event.
func (m MemberRecord) struck(p Compiled, left, now int64, e *Event) MemberRecord {
	m.Strikes, m.LastStrikeMS = min(left+1, MaxStrikes), now
	for i, s := range p.Ladder {
		if s.After <= m.Strikes {
			e.Step = int64(i) + 1
		}
	}
	if e.Step > 0 {
		step := p.Ladder[e.Step-1]
		forMS, cause := step.hold()
		if m.Cause == CauseLifted {
			m.MuteEndMS = 0
		}
		// A new mute starts after the one before, whatever the clocks say: its start is what it is known by.
		m.MuteStartMS, m.MuteEndMS, m.Cause, m.Step = max(now, m.MuteStartMS+1), max(m.MuteEndMS, now+forMS), cause, e.Step
		e.Cause, e.MuteStartMS, e.MuteEndMS = cause, m.MuteStartMS, m.MuteEndMS
	}
	m.HeldUntilMS = max(now, m.HeldUntilMS, e.BanEndMS)
	if m.Cause != CauseLifted {
		m.HeldUntilMS = max(m.HeldUntilMS, m.MuteEndMS)
	}
	return m
}

// hold is how long a step holds, and the cause it leaves.
func (s Step) hold() (int64, Cause) {
	switch s.Do {
	case Review:
		return ReviewHoldMS, CauseReview
	case Remove:
		return RemoveHoldMS, CauseRemove
	case Mute:
	}
	return s.ForMS, CauseLadder
}
