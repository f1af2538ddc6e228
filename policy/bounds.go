package policy

import "slices"

// Range is an inclusive range of integers.
type Range struct {
	Min, Max int64
}

// Bounds are the ranges that operators allow. They bind whoever saves, the defaults too.
type Bounds struct {
	Actions           map[string]ActionBounds // "*" for actions without an entry of their own
	MuteMS            Range
	ForgiveOneEveryMS Range
	LadderStepsMax    int64
	ExemptionsMax     int64    // entries a group
	Roles             []string // the operator's own roles, beyond owner admin bot vip member
}

// ActionBounds are the bounds of one action. MayDisable holds interval, window, action and soft; both limits off needs
// action as well. EditedBy is group or operator.
type ActionBounds struct {
	MinIntervalMS  Range
	WindowLimit    Range
	WindowPeriodMS Range
	Capacity       Range // of buckets, within WindowLimit; zero = that alone
	RefillMS       Range // within what period and limit make; zero = that alone
	LeakMS         Range // likewise
	Buckets        Range // zero = 1 to MaxBuckets
	BanMS          Range
	Algorithms     []Algorithm
	MayDisable     []string
	EditedBy       string
}

// ActionSpec is an entry of the actions registry. Strikes and mutes belong to speech actions only.
type ActionSpec struct {
	Name   string
	Speech bool
}

// allows says whether an algorithm may be used.
func (b *ActionBounds) allows(a Algorithm) bool { return slices.Contains(b.Algorithms, a) }

// capacity is the range of a bucket's capacity: a burst is as large as a window's.
func (b *ActionBounds) capacity() Range { return b.WindowLimit.narrowed(b.Capacity) }

// rate is the range of the time for one token or drop: what the longest period with the smallest limit allows, and the
// shortest with the largest.
func (b *ActionBounds) rate(own Range) Range {
	low := (b.WindowPeriodMS.Min + b.WindowLimit.Max - 1) / b.WindowLimit.Max
	return Range{low, max(low, b.WindowPeriodMS.Max/b.WindowLimit.Min)}.narrowed(own)
}

func (b *ActionBounds) buckets() Range { return Range{1, MaxBuckets}.narrowed(b.Buckets) }

// narrowed is the part of r within a range of its own, the zero Range being none; one that lies outside rules alone.
func (r Range) narrowed(own Range) Range {
	both := Range{max(r.Min, own.Min), min(r.Max, own.Max)}
	switch {
	case own == Range{}:
		return r
	case both.Min > both.Max:
		return own
	}
	return both
}

// calendarUnits are the periods that calendars have, in milliseconds.
func calendarUnits() []int64 { return []int64{minute, hour, day} }

// calendar is the unit of a calendar that is nearest within the bounds: the longest that is no longer, else the
// shortest; false = the bounds hold none.
func (b *ActionBounds) calendar(period int64) (unit int64, ok bool) {
	for _, u := range calendarUnits() {
		if b.WindowPeriodMS.hold(u) == u && (!ok || u <= period) {
			unit, ok = u, true
		}
	}
	return unit, ok
}
