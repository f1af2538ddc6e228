package policy

import "slices"

// ImpactSetting is what documents ask of one number that has bounds. Its counts are of values: one a group, but of mutes
// as many as a ladder has. Groups that state none follow the defaults.
type ImpactSetting struct {
	Path          string // JSON pointer into the document; * = any step of the ladder
	Unit          string // milliseconds, attempts or steps
	Before, After Range  // what the bounds allow
	Stated        int64
	None          int64 // stated as null
	HeldBefore    int64 // of those stated, outside the bounds
	HeldAfter     int64

	edges  []int64 // where buckets begin, ascending from 0
	counts []int64 // of the bucket that begins at the same edge
}

// ImpactBucket counts the requested values of From to To, both included.
type ImpactBucket struct {
	From, To, Count int64
}

// Buckets are those that hold any value, ascending. One begins at each number with one significant digit and at each end
// of the bounds before and after, so that all values of a bucket are treated alike.
func (s *ImpactSetting) Buckets() []ImpactBucket {
	out := []ImpactBucket{}
	for i, count := range s.counts {
		if count == 0 {
			continue
		}
		to := int64(maxStored)
		if i+1 < len(s.edges) {
			to = s.edges[i+1] - 1
		}
		out = append(out, ImpactBucket{s.edges[i], to, count})
	}
	return out
}

func (s *ImpactSetting) add(v, n int64) {
	if s.edges == nil {
		s.edges = bucketEdges(s.Before, s.After)
		s.counts = make([]int64, len(s.edges))
	}
	i, begins := slices.BinarySearch(s.edges, v)
	if !begins {
		i--
	}
	s.counts[i] += n
	s.Stated += n
	if s.Before.hold(v) != v {
		s.HeldBefore += n
	}
	if s.After.hold(v) != v {
		s.HeldAfter += n
	}
}

func bucketEdges(bounds ...Range) []int64 {
	edges := make([]int64, 1, 1+9*16+2*len(bounds)) // the first is 0: a ladder may have no steps
	for power := int64(1); power <= maxStored; power *= 10 {
		for digit := int64(1); digit <= 9; digit++ {
			edges = append(edges, digit*power)
		}
	}
	for _, b := range bounds {
		edges = append(edges, b.Min, b.Max+1)
	}
	slices.Sort(edges)
	return slices.Compact(edges)
}

// actionImpact are the numbers of one action.
type actionImpact struct{ interval, limit, period, ban *ImpactSetting }

func (im *Impact) setting(path, unit string, before, after Range) *ImpactSetting {
	s := &ImpactSetting{Path: path, Unit: unit, Before: before, After: after}
	im.Settings = append(im.Settings, s)
	return s
}

func (im *Impact) action(name string) *actionImpact {
	before, after := im.before.bounds[name], im.after.bounds[name]
	path := "/actions/" + name
	return &actionImpact{
		interval: im.setting(path+"/min_interval_ms", "milliseconds", before.MinIntervalMS, after.MinIntervalMS),
		limit:    im.setting(path+"/window/limit", "attempts", before.WindowLimit, after.WindowLimit),
		period:   im.setting(path+"/window/period_ms", "milliseconds", before.WindowPeriodMS, after.WindowPeriodMS),
		ban:      im.setting(path+"/ban/for_ms", "milliseconds", before.BanMS, after.BanMS),
	}
}

// measure counts the numbers that a document states.
func (im *Impact) measure(d *Document, n int64) {
	for name := range d.Actions {
		if to := im.actions[name]; to != nil {
			a := d.Actions[name]
			to.measure(&a, n)
		}
	}
	if ladder := d.Penalties.Ladder; ladder.Set {
		im.steps.add(int64(len(ladder.Value)), n)
		for _, step := range ladder.Value {
			if step.Do == Mute {
				im.mutes.add(step.ForMS, n)
			}
		}
	}
	if f := d.Penalties.ForgiveOneEveryMS; f.Set {
		im.forgiveness.add(f.Value, n)
	}
}

func (to *actionImpact) measure(a *ActionDocument, n int64) {
	switch interval := a.MinIntervalMS; {
	case interval.Null:
		to.interval.None += n
	case interval.Set:
		to.interval.add(interval.Value, n)
	}
	switch window := a.Window; {
	case window.Null:
		to.limit.None += n
		to.period.None += n
	case window.Set && window.Value.Limit > 0: // buckets have neither
		to.limit.add(window.Value.Limit, n)
		to.period.add(window.Value.PeriodMS, n)
	}
	switch ban := a.Ban; {
	case ban.Null:
		to.ban.None += n
	case ban.Set && !ban.Value.EndOfDay:
		to.ban.add(ban.Value.ForMS, n)
	}
}
