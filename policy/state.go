package policy

// Cause says why a member is muted.
type Cause string

// The causes of a mute. A lifted mute keeps its start, so that late writes of the same mute are known and ignored.
const (
	CauseNone      Cause = ""
	CauseLadder    Cause = "ladder"    // a step of the ladder with do: mute
	CauseReview    Cause = "review"    // a step with do: review; holds until decided, at most ReviewHoldMS
	CauseRemove    Cause = "remove"    // a step with do: remove; refuses for RemoveHoldMS
	CauseModerator Cause = "moderator" // set by a person; beats exemptions
	CauseLifted    Cause = "lifted"    // was ended early; never in force
)

// The fixed figures of strikes and of remembering.
const (
	StrikeGapMS   = 1000           // an attempt closer than this to the last counted strike adds none
	MaxMomentMS   = 99999999999999 // the latest moment that a record may hold: the year 5138
	minNeedMS     = 1000           // a written key lives at least 1.2 times this
	liftedNeedMS  = 60_000         // a lifted mute remembers its start this long, for writes that arrive late
	futureAgeMS   = 3_200_000_000  // a log entry of this age or more (mod 2^32) is one from later than now
	maxCount      = 65_535         // attempts that a window or a bucket can hold
	factoryPeriod = 30_000         // stands in for a damaged period
	factoryClock  = 600_000        // stands in for a damaged forgive_one_every_ms
)

// ActionState is what Redis remembers of one member's attempts at one action: accepted times, never "next allowed".
// The zero ActionState is a member who has not been seen.
type ActionState struct {
	LastMS     int64    // the last accepted attempt, ms since the epoch; 0 = none
	BanStartMS int64    // when the ban was taken; it names the ban
	BanEndMS   int64    // when it ends; 0 with a start = lifted
	Shape      Shape    // which of what follows is kept; the rest is zero
	Log        []uint32 // ShapeLog: recorded attempts, oldest first, ms since the epoch mod 2^32
	Refused    bool     // ShapeLog: the newest of Log may be a refused attempt (count_refused), later than LastMS
	AtMS       int64    // ms since the epoch: ShapeFirst the window's start, ShapeCalendar its end, ShapeBucket see Count
	Count      int64    // attempts in the window; ShapeBucket: drops in the bucket, the next of which is on its way since AtMS
	Buckets    []Bucket // ShapeCounter: oldest first
}

// Shape says how an algorithm's count is remembered. A policy with another algorithm takes what it finds for nothing.
type Shape uint8

// The shapes. They are part of the packed state: their numbers stay.
const (
	ShapeLog      Shape = 0
	ShapeFirst    Shape = 1
	ShapeCalendar Shape = 2
	ShapeCounter  Shape = 3
	ShapeBucket   Shape = 4 // of token and leaky buckets, which are each other's mirror
)

// Bucket is a part of a sliding counter's period: Count attempts from Start (ms since the epoch mod 2^32) on.
type Bucket struct {
	Start uint32
	Count int64
}

// MemberRecord is what Redis remembers of one member of one group over all speech actions. The zero MemberRecord is a
// member without strikes and mutes.
type MemberRecord struct {
	Strikes      int64 // 0 to MaxStrikes, as they stood when last counted; see StrikesAt
	LastStrikeMS int64 // the last counted strike; 0 = none
	HeldUntilMS  int64 // where the forgiveness clock starts
	MuteStartMS  int64 // when the mute was taken; it names the mute
	MuteEndMS    int64 // when it ends
	Cause        Cause
	Step         int64 // 1-based step of the ladder behind the mute; 0 = none
}

// MuteRecord is one mute as it is stored in Postgres and put into Redis. All moments are ms since the epoch.
type MuteRecord struct {
	StartMS int64
	EndMS   int64
	Cause   Cause
	Step    int64
}

// StrikesAt answers the strikes that are left at a moment: one is forgiven after each forgiveMS since HeldUntilMS.
func (m MemberRecord) StrikesAt(nowMS, forgiveMS int64) int64 {
	if forgiveMS <= 0 {
		forgiveMS = factoryClock
	}
	if nowMS <= m.HeldUntilMS {
		return m.Strikes
	}
	return max(0, m.Strikes-(nowMS-m.HeldUntilMS)/forgiveMS)
}

// Muted says whether the record's mute is in force at a moment.
func (m MemberRecord) Muted(nowMS int64) bool { return m.Cause != CauseLifted && m.MuteEndMS > nowMS }

// Put applies a mute that Postgres holds, and says whether it did: a record with a later start, or a lifted one with
// the same, stays. A moderator's end is set as asked; others (a rebuild) only ever prolong. Strikes are settled first,
// so that a new hold never brings forgiven ones back.
func (m MemberRecord) Put(r MuteRecord, forgiveMS, nowMS int64) (MemberRecord, bool) {
	if r.StartMS < m.MuteStartMS || r.StartMS == m.MuteStartMS && m.Cause == CauseLifted {
		return m, false
	}
	other := m.otherHold()
	m = m.settled(nowMS, forgiveMS)
	end := min(r.EndMS, MaxMomentMS)
	if r.Cause != CauseModerator && m.Cause != CauseLifted {
		end = max(end, m.MuteEndMS)
	}
	m.MuteStartMS, m.MuteEndMS, m.Cause, m.Step = r.StartMS, end, r.Cause, r.Step
	m.HeldUntilMS = max(m.LastStrikeMS, other, end)
	return m, true
}

// Lift ends the mute if it started at startMS or before, takes back the strike behind it, and answers the mute's start
// for Postgres to keep; 0 = there was none to lift. A mute that has already ended is only marked.
func (m MemberRecord) Lift(startMS, forgiveMS, nowMS int64) (MemberRecord, int64) {
	if m.MuteStartMS == 0 || m.MuteStartMS > startMS || m.Cause == CauseLifted {
		return m, 0
	}
	if m.MuteEndMS > nowMS {
		other := m.otherHold()
		m = m.settled(nowMS, forgiveMS)
		if m.Cause != CauseModerator && m.Strikes > 0 {
			m.Strikes--
		}
		m.MuteEndMS = nowMS
		m.HeldUntilMS = max(m.LastStrikeMS, other, nowMS)
	}
	m.Cause = CauseLifted
	return m, m.MuteStartMS
}

// otherHold is the part of the forgiveness clock that does not come from the mute: a speech ban's end.
func (m MemberRecord) otherHold() int64 {
	if m.HeldUntilMS == m.MuteEndMS {
		return 0
	}
	return m.HeldUntilMS
}

// settled subtracts what is forgiven and restarts the clock, if a strike was forgiven at all.
func (m MemberRecord) settled(nowMS, forgiveMS int64) MemberRecord {
	m.Strikes = m.StrikesAt(nowMS, forgiveMS)
	return m
}

// NeedMS is the longest that the record must be remembered from a moment on; its key lives 1.2 to 2.4 times that.
func (m MemberRecord) NeedMS(nowMS, forgiveMS int64) int64 {
	if forgiveMS <= 0 {
		forgiveMS = factoryClock
	}
	need := max(m.HeldUntilMS+m.Strikes*forgiveMS-nowMS, minNeedMS)
	if m.Cause == CauseLifted {
		return max(need, liftedNeedMS)
	}
	return max(need, m.MuteEndMS-nowMS)
}

// PutBan applies a ban that Postgres holds, and says whether it did: a state with a later start, or a lifted ban with
// the same, stays. It only ever prolongs.
func (s ActionState) PutBan(startMS, endMS int64) (ActionState, bool) {
	if startMS < s.BanStartMS || startMS == s.BanStartMS && s.BanEndMS == 0 {
		return s, false
	}
	s.BanStartMS, s.BanEndMS = startMS, max(s.BanEndMS, min(endMS, MaxMomentMS))
	return s, true
}

// LiftBan ends the ban if it started at startMS or before, and answers its start; 0 = there was none to lift.
func (s ActionState) LiftBan(startMS int64) (ActionState, int64) {
	if s.BanStartMS == 0 || s.BanStartMS > startMS || s.BanEndMS == 0 {
		return s, 0
	}
	s.BanEndMS = 0
	return s, s.BanStartMS
}

// NeedMS is the longest that the state must be remembered from a moment on under policy p.
func (s ActionState) NeedMS(p Compiled, nowMS int64) int64 {
	p = p.repaired()
	need := max(p.MinIntervalMS, s.BanEndMS-nowMS, minNeedMS)
	switch {
	case p.Limit == 0:
		return need
	case !p.Enabled: // what is counted is not looked at
		return max(need, p.PeriodMS)
	}
	t, _ := p.tallyOf(&s, nowMS, false)
	return max(need, t.needMS())
}

// keepsBan says whether the ban must survive a write: while it runs, and after it was lifted, so that late writes of
// the same ban are known.
func (s ActionState) keepsBan(nowMS int64) bool {
	return s.BanStartMS > 0 && (s.BanEndMS > nowMS || s.BanEndMS == 0)
}

// AfterBanLift is the record after a speech ban that started at startMS or before is lifted from s: the forgiveness
// clock is no longer held by the ban.
func (m MemberRecord) AfterBanLift(s ActionState, startMS, nowMS int64) MemberRecord {
	if _, start := s.LiftBan(startMS); start == 0 || m.HeldUntilMS != s.BanEndMS || s.BanEndMS <= nowMS {
		return m
	}
	m.HeldUntilMS = max(m.LastStrikeMS, nowMS)
	if m.Cause != CauseLifted {
		m.HeldUntilMS = max(m.HeldUntilMS, m.MuteEndMS)
	}
	return m
}
