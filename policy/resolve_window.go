package policy

import "encoding/json"

// window resolves a window over a base that is within the bounds. An algorithm or an alignment that bounds forbid leaves
// the base's window in force.
func (r *resolver) window(name string, s Setting[Window], base Action, b *ActionBounds) *Window {
	switch {
	case !s.Set:
		return base.Window
	case !s.Null && b.allows(s.Value.Algorithm):
		return r.heldWindow(name, s.Value, base, b)
	case !s.Null:
		r.forbid(name, "/window/algorithm", string(s.Value.Algorithm), algorithmJSON(base.Window))
		return base.Window
	case b.mayDisable(SwitchWindow):
		return nil
	}
	r.forbid(name, "/window", nil, windowJSON(base.Window))
	return base.Window
}

// heldWindow clamps the numbers of a window.
func (r *resolver) heldWindow(name string, w Window, base Action, b *ActionBounds) *Window {
	if w.Align == AlignCalendar {
		if _, ok := b.calendar(w.PeriodMS); !ok {
			r.forbid(name, "/window/align", string(AlignCalendar), windowJSON(base.Window))
			return base.Window
		}
	}
	form := formOf(w.Algorithm)
	for _, key := range form.keys[:form.all] {
		switch key {
		case "limit":
			w.Limit = r.hold(w.Limit, b.WindowLimit, "/actions/", name, "/window/limit")
		case "period_ms":
			w.PeriodMS = r.period(name, w, b)
		case "buckets":
			w.Buckets = r.hold(w.Buckets, b.buckets(), "/actions/", name, "/window/buckets")
		case "capacity":
			w.Capacity = r.hold(w.Capacity, b.capacity(), "/actions/", name, "/window/capacity")
		case "refill_ms":
			w.RefillMS = r.hold(w.RefillMS, b.rate(b.RefillMS), "/actions/", name, "/window/refill_ms")
		case "leak_ms":
			w.LeakMS = r.hold(w.LeakMS, b.rate(b.LeakMS), "/actions/", name, "/window/leak_ms")
		}
	}
	return &w
}

// period clamps a period; a calendar's to the nearest unit of the calendar within the bounds.
func (r *resolver) period(name string, w Window, b *ActionBounds) int64 {
	if w.Align != AlignCalendar || b.WindowPeriodMS.hold(w.PeriodMS) == w.PeriodMS {
		return r.hold(w.PeriodMS, b.WindowPeriodMS, "/actions/", name, "/window/period_ms")
	}
	unit, _ := b.calendar(w.PeriodMS)
	c := Clamp{"/actions/" + name + "/window/period_ms", w.PeriodMS, unit, BoundMax, b.WindowPeriodMS.Max}
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
