package policy

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
