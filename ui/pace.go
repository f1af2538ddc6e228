package ui

import (
	"github.com/pacekeeper/pacekeeper/policy"
)

// paceAction is the action that the page edits.
const paceAction = "message"

// pace is what the page shows and edits of a document: the requested message limits, defaults where it states none.
// A nil value is none: no limit.
type pace struct {
	gap    *int64 // milliseconds
	count  *int64
	period *int64 // milliseconds
}

// paceField describes one field of the form, once: how it is read, shown, stored and bounded.
type paceField struct {
	name, label, unit  string // label and unit are keys of the catalogue; unit "" = a bare number
	clamped, rangeHint string // keys of the catalogue
	wrong              string // key of the catalogue
	path               string // JSON pointer into the document
	parse              func(string) (int64, bool)
	show               func(int64) string
	value              func(*pace) **int64
	bounds             func(policy.ActionBounds) policy.Range
	effective          func(policy.Action) int64 // 0 = none
}

func paceFields() []paceField {
	return []paceField{
		{
			name: "gap", label: "gap", unit: "unit_seconds", clamped: "clamped_seconds", rangeHint: "range_seconds", wrong: "enter_seconds",
			path:  "/actions/message/min_interval_ms",
			parse: milliseconds, show: seconds,
			value:     func(p *pace) **int64 { return &p.gap },
			bounds:    func(b policy.ActionBounds) policy.Range { return b.MinIntervalMS },
			effective: func(a policy.Action) int64 { return a.MinIntervalMS },
		},
		{
			name: "count", label: "count", clamped: "clamped_count", rangeHint: "range_count", wrong: "enter_count",
			path:  "/actions/message/window/limit",
			parse: count, show: plain,
			value:     func(p *pace) **int64 { return &p.count },
			bounds:    func(b policy.ActionBounds) policy.Range { return b.WindowLimit },
			effective: func(a policy.Action) int64 { return windowOf(a).Limit },
		},
		{
			name: "period", label: "period", unit: "unit_seconds", clamped: "clamped_seconds", rangeHint: "range_seconds", wrong: "enter_seconds",
			path:  "/actions/message/window/period_ms",
			parse: milliseconds, show: seconds,
			value:     func(p *pace) **int64 { return &p.period },
			bounds:    func(b policy.ActionBounds) policy.Range { return b.WindowPeriodMS },
			effective: func(a policy.Action) int64 { return windowOf(a).PeriodMS },
		},
	}
}

func windowOf(a policy.Action) policy.Window {
	if a.Window == nil {
		return policy.Window{}
	}
	return *a.Window
}

// requestedPace reads what a document asks for messages, the defaults where it is silent.
func requestedPace(s *policy.System, d policy.Document) pace {
	interval, window := d.Actions[paceAction].MinIntervalMS, d.Actions[paceAction].Window
	if !interval.Set {
		interval = s.Defaults.Actions[paceAction].MinIntervalMS
	}
	if !window.Set {
		window = s.Defaults.Actions[paceAction].Window
	}
	var p pace
	if interval.Set && !interval.Null {
		p.gap = &interval.Value
	}
	if window.Set && !window.Null {
		p.count, p.period = &window.Value.Limit, &window.Value.PeriodMS
	}
	return p
}

// changed returns the fields that differ between two paces, and so what a person did to a form.
func changed(from, to pace) []paceField {
	var fields []paceField
	for _, f := range paceFields() {
		if !same(*f.value(&from), *f.value(&to)) {
			fields = append(fields, f)
		}
	}
	return fields
}

func same(a, b *int64) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// rebase applies what a person did between from and to onto current: his choices where he made one.
func rebase(from, to, current pace) pace {
	for _, f := range changed(from, to) {
		*f.value(&current) = *f.value(&to)
	}
	return current
}

// editPace states in d what differs from its requested pace, and nothing else: the rest keeps following the defaults.
func editPace(s *policy.System, d policy.Document, want pace) policy.Document {
	have := requestedPace(s, d)
	action := d.Actions[paceAction]
	if !same(have.gap, want.gap) && want.gap != nil {
		action.MinIntervalMS = policy.State(*want.gap)
	}
	if (!same(have.count, want.count) || !same(have.period, want.period)) && want.count != nil && want.period != nil {
		window := action.Window
		if !window.Set || window.Null {
			window = s.Defaults.Actions[paceAction].Window
		}
		if window.Value.Algorithm == "" {
			window.Value.Algorithm = policy.SlidingWindow
		}
		window.Value.Limit, window.Value.PeriodMS = *want.count, *want.period
		action.Window = policy.State(window.Value)
	}
	return withAction(d, paceAction, action)
}

// withAction returns d with one action replaced; d's own map is left alone.
func withAction(d policy.Document, name string, action policy.ActionDocument) policy.Document {
	if action == (policy.ActionDocument{}) {
		return d
	}
	actions := map[string]policy.ActionDocument{name: action}
	for other, a := range d.Actions {
		if other != name {
			actions[other] = a
		}
	}
	d.Actions = actions
	return d
}
