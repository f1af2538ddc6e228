package policy

// fixedTally counts the attempts of one window. It remembers when the window began (align: first, so that another period
// binds at once) or when it ends (calendar, so that no later change of the zone's offset splits it).
type fixedTally struct {
	shape      Shape
	at, count  int64 // as stored; 0, 0 = no window is open
	limit      int64
	begin, end int64 // of the open window, or of the one that an attempt would open now
	now        int64
}

func fixedOf(p Compiled, st *ActionState, now int64) (t *fixedTally, repaired bool) {
	t = &fixedTally{shape: p.shape(), at: st.AtMS, count: st.Count, limit: p.Limit, begin: now, end: now + p.PeriodMS, now: now}
	latest := now
	if t.shape == ShapeCalendar {
		t.end = p.Offsets.unitEnd(now, p.PeriodMS)
		latest = t.end
	}
	if t.count > 0 && t.at > latest {
		t.at, repaired = latest, true
	}
	switch open := t.at > now || t.shape == ShapeFirst && now-t.at < p.PeriodMS; {
	case t.count == 0 || !open:
		t.at, t.count = 0, 0
	case t.shape == ShapeFirst:
		t.begin, t.end = t.at, t.at+p.PeriodMS
	default:
		t.end = t.at
	}
	return t, repaired
}

func (t *fixedTally) used() int64 { return t.count }

func (t *fixedTally) waitFor(cost int64) int64 {
	if t.count+cost <= t.limit {
		return 0
	}
	return t.end - t.now
}

func (t *fixedTally) charge(cost int64) {
	if t.count+cost == 0 {
		return
	}
	t.count = min(t.count+cost, maxCount)
	t.at = t.begin
	if t.shape == ShapeCalendar {
		t.at = t.end
	}
}

func (t *fixedTally) write(st *ActionState) { st.Shape, st.AtMS, st.Count = t.shape, t.at, t.count }

func (t *fixedTally) needMS() int64 {
	if t.count == 0 {
		return 0
	}
	return t.end - t.now
}
