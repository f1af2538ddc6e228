package policy

import (
	"math"
	"slices"
)

// Comparison says which way a change of an effective policy goes. Looser and Tighter hold JSON pointers into the document,
// sorted: settings under which something passes, or is punished less, that was refused or punished before, and the other
// way round. A setting may stand in both. Without an entry in Tighter, all that passed before passes after; without one
// in Looser, all that passes after passed before. The zero Comparison is a change that does neither.
type Comparison struct {
	Looser, Tighter []string
}

// Loosens says whether any setting became looser.
func (c Comparison) Loosens() bool { return len(c.Looser) > 0 }

// Tightens says whether any setting became tighter.
func (c Comparison) Tightens() bool { return len(c.Tighter) > 0 }

// Compare judges each setting that both policies have by itself: a smaller interval, a window that allows more, a shorter
// or no ban, the soft mode, an action switched off, an exempt role more, a milder step at any number of strikes, quicker
// forgiveness and on_failure: allow are looser. Limits of an action that refuses nothing, before or after, are not looked
// at; time zone and notices bind nobody. Two different windows of which not both slide are judged looser and tighter, for
// neither is sure to allow all that the other does.
func Compare(before, after Effective) Comparison {
	var c comparer
	for name, a := range before.Actions {
		if b, both := after.Actions[name]; both {
			c.action("/actions/"+name, &a, &b)
		}
	}
	c.roles(before.ExemptRoles, after.ExemptRoles)
	c.ladder(before.Ladder, after.Ladder)
	c.note("/penalties/forgive_one_every_ms",
		after.ForgiveOneEveryMS < before.ForgiveOneEveryMS, after.ForgiveOneEveryMS > before.ForgiveOneEveryMS)
	slices.Sort(c.Looser)
	slices.Sort(c.Tighter)
	return c.Comparison
}

type comparer struct{ Comparison }

func (c *comparer) note(path string, looser, tighter bool) {
	if looser {
		c.Looser = append(c.Looser, path)
	}
	if tighter {
		c.Tighter = append(c.Tighter, path)
	}
}

// action compares what an action refuses. path is its pointer; parts are joined only where there is something to note.
func (c *comparer) action(path string, a, b *Action) {
	if a.OnFailure != b.OnFailure {
		c.note(path+"/on_failure", b.OnFailure == Allow, b.OnFailure == Refuse)
	}
	switch {
	case a.Enabled != b.Enabled:
		c.note(path+"/enabled", !b.Enabled, b.Enabled)
		return
	case !a.Enabled:
		return
	case a.Mode != b.Mode:
		c.note(path+"/mode", b.Mode == Soft, b.Mode == Hard)
		return
	case a.Mode == Soft:
		return
	}
	if a.MinIntervalMS != b.MinIntervalMS {
		c.note(path+"/min_interval_ms", b.MinIntervalMS < a.MinIntervalMS, b.MinIntervalMS > a.MinIntervalMS)
	}
	if looser, tighter := !b.Window.within(a.Window), !a.Window.within(b.Window); looser || tighter {
		c.note(path+"/window", looser, tighter)
	}
	if looser, tighter := !b.Group.within(a.Group), !a.Group.within(b.Group); looser || tighter {
		c.note(path+"/group", looser, tighter)
	}
	before, after := a.Ban.lengths(), b.Ban.lengths()
	if before != after {
		c.note(path+"/ban", after.Min < before.Max, after.Max > before.Min)
	}
}

// within says whether all that w lets pass, wide lets pass too. What w lets pass at most in the period of the wider
// window is w.Limit in each ⌈wide.PeriodMS / w.PeriodMS⌉ of its own periods, namely in bursts one period apart. nil lets
// everything pass.
func (w *Window) within(wide *Window) bool {
	switch {
	case wide == nil:
		return true
	case w == nil:
		return false
	case *w == *wide:
		return true
	case w.Algorithm != SlidingWindow || wide.Algorithm != SlidingWindow:
		return false
	case wide.CountRefused && !w.CountRefused:
		return false
	}
	return wide.Limit >= w.Limit*((wide.PeriodMS-1)/w.PeriodMS+1)
}

// lengths are for how long a ban may hold; nil does not. One to the end of the day holds from nothing to a day of 25 hours.
func (b *Ban) lengths() Range {
	switch {
	case b == nil:
		return Range{}
	case b.EndOfDay:
		return Range{0, 25 * hour}
	}
	return Range{b.ForMS, b.ForMS}
}

func (c *comparer) roles(before, after []string) {
	if slices.Equal(before, after) {
		return
	}
	lacks := func(roles []string) func(string) bool {
		return func(role string) bool { return !slices.Contains(roles, role) }
	}
	c.note("/exempt_roles", slices.ContainsFunc(after, lacks(before)), slices.ContainsFunc(before, lacks(after)))
}

// ladder compares the step that each number of strikes leads to. It changes at the steps of either ladder alone.
func (c *comparer) ladder(before, after []Step) {
	if slices.Equal(before, after) {
		return
	}
	looser, tighter := false, false
	for _, steps := range [...][]Step{before, after} {
		for i := range steps {
			a, b := severityAt(before, steps[i].After), severityAt(after, steps[i].After)
			looser = looser || b.rank < a.rank || b.holdMS < a.holdMS
			tighter = tighter || b.rank > a.rank || b.holdMS > a.holdMS
		}
	}
	c.note("/penalties/ladder", looser, tighter)
}

// severity orders penalties: nothing, mutes by their length, review, removal. One that is graver in kind and holds shorter,
// such as a review of 7 days after a mute of 30, is both milder and harsher.
type severity struct{ rank, holdMS int64 }

func severityAt(ladder []Step, strikes int64) (s severity) {
	for _, step := range ladder {
		if step.After > strikes {
			break
		}
		switch step.Do {
		case Mute:
			s = severity{1, step.ForMS}
		case Review:
			s = severity{2, ReviewHoldMS}
		case Remove:
			s = severity{3, math.MaxInt64}
		}
	}
	return s
}
