package policy

import "encoding/json"

// window resolves a window over a base that is within the bounds. An algorithm or an alignment that bounds forbid leaves
// the base's window in force.
func (r *resolver) window(name string, s Setting[Window], base Action, b *ActionBounds) *Window {
	switch {
	case !s.Set:
		return base.Window
	case !s.Null && b.allows(s.Value.Algorithm):
		return r.heldWindow(name, "/window", s.Value, base.Window, b)
	case !s.Null:
		r.forbid(name, "/window/algorithm", string(s.Value.Algorithm), algorithmJSON(base.Window))
		return base.Window
	case b.mayDisable(SwitchWindow):
		return nil
	}
	r.forbid(name, "/window", nil, windowJSON(base.Window))
	return base.Window
}

// group resolves the limit of a whole group. It takes the bounds of the window, but for how many it may let pass: a group
// is larger than a member, so that has no other end than what can be counted.
func (r *resolver) group(name string, s Setting[GroupLimit], base Action, b *ActionBounds) *Window {
	w, wide := s.Value.Window, b.ofGroup()
	switch {
	case !s.Set:
		return base.Group
	case !s.Null && b.allows(w.Algorithm):
		return r.heldWindow(name, "/group/window", w, base.Group, &wide)
	case !s.Null:
		r.forbid(name, "/group/window/algorithm", string(w.Algorithm), algorithmJSON(base.Group))
		return base.Group
	case base.Group == nil || b.mayDisable(SwitchWindow):
		return nil
	}
	r.forbid(name, "/group", nil, windowJSON(base.Group))
	return base.Group
}

// ofGroup are the bounds of a limit of all members together, and of a scope.
func (b ActionBounds) ofGroup() ActionBounds {
	b.WindowLimit.Max, b.Capacity.Max = MaxLimit, min(b.Capacity.Max, 1)*MaxLimit
	return b
}

// heldWindow clamps the numbers of a window at a path below the action.
func (r *resolver) heldWindow(name, path string, w Window, base *Window, b *ActionBounds) *Window {
	if w.Align == AlignCalendar {
		if _, ok := b.calendar(w.PeriodMS); !ok {
			r.forbid(name, path+"/align", string(AlignCalendar), windowJSON(base))
			return base
		}
	}
	form := formOf(w.Algorithm)
	for _, key := range form.keys[:form.all] {
		switch key {
		case "limit":
			w.Limit = r.hold(w.Limit, b.WindowLimit, "/actions/", name, path, "/limit")
		case "period_ms":
			w.PeriodMS = r.period(name, path, w, b)
		case "buckets":
			w.Buckets = r.hold(w.Buckets, b.buckets(), "/actions/", name, path, "/buckets")
		case "capacity":
			w.Capacity = r.hold(w.Capacity, b.capacity(), "/actions/", name, path, "/capacity")
		case "refill_ms":
			w.RefillMS = r.hold(w.RefillMS, b.rate(b.RefillMS), "/actions/", name, path, "/refill_ms")
		case "leak_ms":
			w.LeakMS = r.hold(w.LeakMS, b.rate(b.LeakMS), "/actions/", name, path, "/leak_ms")
		}
	}
	return &w
}

// period clamps a period; a calendar's to the nearest unit of the calendar within the bounds.
func (r *resolver) period(name, path string, w Window, b *ActionBounds) int64 {
	if w.Align != AlignCalendar || b.WindowPeriodMS.hold(w.PeriodMS) == w.PeriodMS {
		return r.hold(w.PeriodMS, b.WindowPeriodMS, "/actions/", name, path, "/period_ms")
	}
	unit, _ := b.calendar(w.PeriodMS)
	c := Clamp{"/actions/" + name + path + "/period_ms", w.PeriodMS, unit, BoundMax, b.WindowPeriodMS.Max}
	if unit > w.PeriodMS {
		c.Bound, c.Limit = BoundMin, b.WindowPeriodMS.Min
	}
	r.add(c)
	return unit
}

func (r *resolver) ban(name string, s Setting[Ban], b *ActionBounds) *Ban {
	switch {
	case s.Null:
		return nil
	case s.Value.EndOfDay:
		return &Ban{EndOfDay: true}
	}
	return &Ban{ForMS: r.hold(s.Value.ForMS, b.BanMS, "/actions/", name, "/ban/for_ms")}
}

// windowJSON is the value of a window in a report.
func windowJSON(w *Window) any {
	if w == nil {
		return nil
	}
	p := &printer{}
	p.window(*w)
	return json.RawMessage(p.out)
}

func algorithmJSON(w *Window) any {
	if w == nil {
		return nil
	}
	return string(w.Algorithm)
}
