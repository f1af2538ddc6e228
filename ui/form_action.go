package ui

import (
	"slices"

	"github.com/pacekeeper/pacekeeper/policy"
)

// kind says how a setting of an action is typed and shown.
type kind int

const (
	kindSeconds kind = iota // a number of seconds; canonical in ms
	kindLength              // a number and a unit; canonical in ms
	kindCount               // a whole number
	kindChoice              // one of a few words
	kindSwitch              // on or off; canonical "on" or ""
)

// actionField describes one setting of an action, once: how it is typed, shown, read from a document and written to it.
type actionField struct {
	name   string // of the form field behind "<action>-"
	label  string // key of the catalogue
	kind   kind
	path   string             // JSON pointer below /actions/<action>
	window bool               // part of the window, which a document states whole
	of     []policy.Algorithm // the algorithms that know this part of the window; nil = all
	get    func(policy.ActionDocument) string
	put    func(*policy.ActionDocument, string) // nil for parts of the window
}

func actionKey(action, name string) string { return action + "-" + name }

// actionFields are the settings of an action in the order of the page.
func actionFields() []actionField {
	fields := []actionField{
		{
			name: "enabled", label: "enabled", kind: kindSwitch, path: "/enabled",
			get: func(a policy.ActionDocument) string { return onOff(a.Enabled.Value) },
			put: func(a *policy.ActionDocument, v string) { a.Enabled = policy.State(v == switchOn) },
		},
		{
			name: "gap", label: "gap", kind: kindSeconds, path: "/min_interval_ms",
			get: func(a policy.ActionDocument) string { return number(a.MinIntervalMS.Value) },
			put: func(a *policy.ActionDocument, v string) { a.MinIntervalMS = orNone(v, whole(v)) },
		},
	}
	fields = append(fields, windowFields()...)
	return append(fields, []actionField{
		{
			name: "ban", label: "ban", kind: kindLength, path: "/ban/for_ms",
			get: func(a policy.ActionDocument) string { return banText(a.Ban.Value) },
			put: func(a *policy.ActionDocument, v string) { a.Ban = orNone(v, banOf(v)) },
		},
		{
			name: "mode", label: "mode", kind: kindChoice, path: "/mode",
			get: func(a policy.ActionDocument) string { return string(a.Mode.Value) },
			put: func(a *policy.ActionDocument, v string) { a.Mode = policy.State(policy.Mode(v)) },
		},
		{
			name: "failure", label: "on_failure", kind: kindChoice, path: "/on_failure",
			get: func(a policy.ActionDocument) string { return string(a.OnFailure.Value) },
			put: func(a *policy.ActionDocument, v string) { a.OnFailure = policy.State(policy.OnFailure(v)) },
		},
	}...)
}

// windowFields are the parts of a window, each with the algorithms that know it.
func windowFields() []actionField {
	fixed, counter := []policy.Algorithm{policy.FixedWindow}, []policy.Algorithm{policy.SlidingCounter}
	windows := []policy.Algorithm{policy.SlidingWindow, policy.FixedWindow, policy.SlidingCounter}
	buckets := []policy.Algorithm{policy.TokenBucket, policy.LeakyBucket}
	return []actionField{
		{
			name: "algo", label: "algo", kind: kindChoice, path: "/window/algorithm", window: true,
			get: func(a policy.ActionDocument) string { return string(a.Window.Value.Algorithm) },
		},
		{
			name: "align", label: "align", kind: kindChoice, path: "/window/align", window: true, of: fixed,
			get: func(a policy.ActionDocument) string { return string(a.Window.Value.Align) },
		},
		{
			name: "count", label: "count", kind: kindCount, path: "/window/limit", window: true, of: windows,
			get: func(a policy.ActionDocument) string { return number(a.Window.Value.Limit) },
		},
		{
			name: "period", label: "period", kind: kindLength, path: "/window/period_ms", window: true, of: windows,
			get: func(a policy.ActionDocument) string { return number(a.Window.Value.PeriodMS) },
		},
		{
			name: "buckets", label: "buckets", kind: kindCount, path: "/window/buckets", window: true, of: counter,
			get: func(a policy.ActionDocument) string { return number(a.Window.Value.Buckets) },
		},
		{
			name: "capacity", label: "capacity", kind: kindCount, path: "/window/capacity", window: true, of: buckets,
			get: func(a policy.ActionDocument) string { return number(a.Window.Value.Capacity) },
		},
		{
			name: "refill", label: "refill", kind: kindLength, path: "/window/refill_ms", window: true, of: buckets[:1],
			get: func(a policy.ActionDocument) string { return number(a.Window.Value.RefillMS) },
		},
		{
			name: "leak", label: "leak", kind: kindLength, path: "/window/leak_ms", window: true, of: buckets[1:],
			get: func(a policy.ActionDocument) string { return number(a.Window.Value.LeakMS) },
		},
		{
			name: "queue", label: "queue", kind: kindSwitch, path: "/window/queue", window: true, of: buckets[1:],
			get: func(a policy.ActionDocument) string { return onOff(a.Window.Value.Queue) },
		},
		{
			name: "refused", label: "count_refused", kind: kindSwitch, path: "/window/count_refused", window: true,
			get: func(a policy.ActionDocument) string { return onOff(a.Window.Value.CountRefused) },
		},
	}
}

const switchOn = "on"

func onOff(on bool) string {
	if on {
		return switchOn
	}
	return ""
}

// orNone states a value, or null where the canonical text is "".
func orNone[T any](text string, value T) policy.Setting[T] {
	if text == "" {
		return policy.None[T]()
	}
	return policy.State(value)
}

// editAction states the touched settings of one action. d.Actions may be written to.
func editAction(d policy.Document, name string, touched map[string]bool, to values) policy.Document {
	action, anything, window := d.Actions[name], false, false
	for _, f := range actionFields() {
		key := actionKey(name, f.name)
		switch {
		case !touched[key]:
		case f.window:
			anything, window = true, true
		default:
			anything = true
			f.put(&action, to[key])
		}
	}
	if window {
		action.Window = windowOf(name, to)
	}
	if !anything {
		return d
	}
	if d.Actions == nil {
		d.Actions = map[string]policy.ActionDocument{}
	}
	d.Actions[name] = action
	return d
}

// endOfDay is the canonical text of a ban that lasts until the day's end.
const endOfDay = "end_of_day"

func banText(b policy.Ban) string {
	if b.EndOfDay {
		return endOfDay
	}
	return number(b.ForMS)
}

func banOf(text string) policy.Ban {
	if text == endOfDay {
		return policy.Ban{EndOfDay: true}
	}
	return policy.Ban{ForMS: whole(text)}
}

// uses says whether an algorithm knows this part of a window.
func (f actionField) uses(algorithm string) bool {
	return f.of == nil || slices.Contains(f.of, policy.Algorithm(algorithm))
}

// windowOf is the window that values make, of what its algorithm knows.
func windowOf(name string, v values) policy.Setting[policy.Window] {
	algorithm := v[actionKey(name, "algo")]
	known := map[string]string{}
	for _, f := range actionFields() {
		if f.window && f.uses(algorithm) {
			known[f.name] = v[actionKey(name, f.name)]
		}
	}
	return orNone(algorithm, policy.Window{
		Algorithm: policy.Algorithm(algorithm), Limit: whole(known["count"]), PeriodMS: whole(known["period"]),
		Align: policy.Align(known["align"]), Buckets: whole(known["buckets"]), Capacity: whole(known["capacity"]),
		RefillMS: whole(known["refill"]), LeakMS: whole(known["leak"]), Queue: known["queue"] == switchOn,
		CountRefused: known["refused"] == switchOn,
	})
}

// suggest is what a part of the window begins with when its algorithm is chosen: as near as it can be to what was there.
func suggest(was values, action, name string) string {
	get := func(part string) int64 { return whole(was[actionKey(action, part)]) }
	most := max(get("count"), get("capacity"), 1)
	span := max(get("period"), most*max(get("refill"), get("leak")), 1000)
	switch name {
	case "count", "capacity":
		return number(most)
	case "period":
		return number(span)
	case "refill", "leak":
		return number(max(span/most, 1))
	case "buckets":
		return number(10)
	case "align":
		return string(policy.AlignFirst)
	}
	return ""
}

// modes and failures are the choices that a document knows.
func modes() []string { return []string{string(policy.Hard), string(policy.Soft)} }

func aligns() []string   { return []string{string(policy.AlignFirst), string(policy.AlignCalendar)} }
func failures() []string { return []string{string(policy.Allow), string(policy.Refuse)} }

// choices are the words that a choice may be.
func (f actionField) choices(b policy.ActionBounds) []string {
	switch f.name {
	case "mode":
		return modes()
	case "failure":
		return failures()
	case "align":
		return aligns()
	}
	return algorithms(b)
}

// algorithms are those that bounds allow.
func algorithms(b policy.ActionBounds) []string {
	names := make([]string, 0, len(b.Algorithms))
	for _, a := range b.Algorithms {
		names = append(names, string(a))
	}
	return names
}

// orderedActions are the registered actions as pages list them: what people know best first.
func orderedActions(s *policy.System) []string {
	first := []string{"message", "comment", "like", "upload"}
	names := slices.DeleteFunc(slices.Clone(first), func(name string) bool { return !s.Registered(name) })
	for _, name := range s.ActionNames() {
		if !slices.Contains(first, name) {
			names = append(names, name)
		}
	}
	return names
}
