package policy

// finding is what the two limits say of one attempt.
type finding struct {
	tally                           tally // nil = no window
	limit, period                   int64
	intervalWait, windowWait, delay int64 // 0 = this limit lets it pass, at once
	last                            int64 // repaired: never later than now
	changed                         bool  // a time later than now was set to now
	validCost                       bool
	banStart                        int64 // of the ban before, even where a write drops it: starts never go back
	refused                         bool  // the newest of the log that is kept may be a refused attempt
}

// tally is what one algorithm counts, as it stands now: times later than now, from a clock that stepped back, are
// repaired; what is forgotten is gone.
type tally interface {
	used() int64              // attempts that count now
	waitFor(cost int64) int64 // ms until cost more fit; 0 = they do. cost is at most the limit
	charge(cost int64)        // cost more; 0 prepares what is there for being written
	write(st *ActionState)    // how it is stored
	needMS() int64            // for how long it must be remembered
}

// measure reads the limits. Times later than now come from a clock that stepped back: they count as now, so that no
// wait exceeds the interval or the period.
func measure(p Compiled, st *ActionState, a Attempt) finding {
	f := finding{last: st.LastMS, validCost: a.Cost >= 0, banStart: st.BanStartMS}
	if !p.Enabled {
		return f
	}
	if f.last > a.NowMS {
		f.last, f.changed = a.NowMS, true
	}
	if f.last > 0 {
		f.intervalWait = max(0, f.last+p.MinIntervalMS-a.NowMS)
	}
	if p.Limit > 0 {
		repaired := false
		f.limit, f.period = p.Limit, p.PeriodMS
		f.tally, repaired = p.tallyOf(st, a.NowMS, f.changed)
		f.changed = f.changed || repaired
		f.refused = st.Refused && p.shape() == ShapeLog
		f.validCost = f.validCost && a.Cost <= f.limit
	}
	if f.tally != nil && f.validCost {
		f.windowWait = f.tally.waitFor(max(a.Cost, 1))
		if p.Queue && p.shape() == ShapeBucket {
			f.delay = f.tally.needMS() // until all that is in the queue has left
		}
	}
	return f
}

// tallyOf reads what the policy's algorithm counts from a state, and says whether a time was repaired. What another
// algorithm has left behind counts for nothing: the count begins anew. skewed says that the last attempt is later than
// now, and that the log must be looked at for more such times.
func (p Compiled) tallyOf(st *ActionState, now int64, skewed bool) (t tally, repaired bool) {
	shape := p.shape()
	if st.Shape != shape {
		st = &ActionState{}
	}
	switch shape {
	case ShapeFirst, ShapeCalendar:
		return fixedOf(p, st, now)
	case ShapeCounter:
		return counterOf(p, st, now)
	case ShapeBucket:
		return bucketOf(p, st, now)
	case ShapeLog:
	}
	return logOf(p, st, now, skewed || st.Refused)
}

// OfGroup is the limit of the whole group as a policy of its own; zero Limit = it has none.
func (p Compiled) OfGroup() Compiled {
	g := p.Group
	return Compiled{
		Enabled: true, Algorithm: g.Algorithm, Align: g.Align, Limit: g.Limit, PeriodMS: g.PeriodMS, Buckets: g.Buckets,
		Queue: g.Queue, CountRefused: g.CountRefused, Offsets: p.Offsets,
	}.repaired()
}

// shape is how the policy's algorithm is remembered.
func (p Compiled) shape() Shape {
	switch {
	case p.Limit == 0:
		return ShapeLog
	case p.Algorithm == FixedWindow && p.Align == AlignCalendar:
		return ShapeCalendar
	case p.Algorithm == FixedWindow:
		return ShapeFirst
	case p.Algorithm == SlidingCounter:
		return ShapeCounter
	case p.Algorithm == TokenBucket, p.Algorithm == LeakyBucket:
		return ShapeBucket
	}
	return ShapeLog
}

// passes says whether both limits let the attempt pass. A log whose order is damaged may answer a wait below 0: that is none
// that an attempt passes by.
func (f *finding) passes() bool { return f.intervalWait == 0 && f.windowWait == 0 }

// wait is until both limits let the attempt pass.
func (f *finding) wait() int64 { return max(f.intervalWait, f.windowWait) }

func (f *finding) remaining() int64 {
	if f.tally == nil {
		return 0
	}
	return max(0, f.limit-f.tally.used())
}

// charge counts cost more.
func (f *finding) charge(cost int64) {
	if f.tally != nil {
		f.tally.charge(cost)
	}
}

func (f *finding) waitFor(cost int64) int64 {
	if f.tally == nil {
		return 0
	}
	return f.tally.waitFor(cost)
}

// state is the state as it is written.
func (f *finding) state(st ActionState, now int64) ActionState {
	next := ActionState{LastMS: f.last, Refused: f.refused}
	if st.keepsBan(now) {
		next.BanStartMS, next.BanEndMS = st.BanStartMS, st.BanEndMS
	}
	if f.tally != nil {
		f.tally.write(&next)
	}
	return next
}
