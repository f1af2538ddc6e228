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
	path   string // JSON pointer below /actions/<action>
	window bool   // part of the window, which a document states whole
	get    func(policy.ActionDocument) string
	put    func(*policy.ActionDocument, string) // nil for parts of the window
}

func actionKey(action, name string) string { return action + "-" + name }

// actionFields are the settings of an action in the order of the page.
func actionFields() []actionField {
	return []actionField{
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
		{
			name: "algo", label: "algo", kind: kindChoice, path: "/window/algorithm", window: true,
			get: func(a policy.ActionDocument) string { return string(a.Window.Value.Algorithm) },
		},
		{
			name: "count", label: "count", kind: kindCount, path: "/window/limit", window: true,
			get: func(a policy.ActionDocument) string { return number(a.Window.Value.Limit) },
		},
		{
			name: "period", label: "period", kind: kindLength, path: "/window/period_ms", window: true,
			get: func(a policy.ActionDocument) string { return number(a.Window.Value.PeriodMS) },
		},
		{
			name: "refused", label: "count_refused", kind: kindSwitch, path: "/window/count_refused", window: true,
			get: func(a policy.ActionDocument) string { return onOff(a.Window.Value.CountRefused) },
		},
		{
			name: "ban", label: "ban", kind: kindLength, path: "/ban/for_ms",
			get: func(a policy.ActionDocument) string { return number(a.Ban.Value.ForMS) },
			put: func(a *policy.ActionDocument, v string) { a.Ban = orNone(v, policy.Ban{ForMS: whole(v)}) },
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

func windowOf(name string, v values) policy.Setting[policy.Window] {
	algorithm := v[actionKey(name, "algo")]
	return orNone(algorithm, policy.Window{
		Algorithm: policy.Algorithm(algorithm), Limit: whole(v[actionKey(name, "count")]),
		PeriodMS: whole(v[actionKey(name, "period")]), CountRefused: v[actionKey(name, "refused")] == switchOn,
	})
}

// modes and failures are the choices that a document knows.
func modes() []string    { return []string{string(policy.Hard), string(policy.Soft)} }
func failures() []string { return []string{string(policy.Allow), string(policy.Refuse)} }

// choices are the words that a choice may be.
func (f actionField) choices(b policy.ActionBounds) []string {
	switch f.name {
	case "mode":
		return modes()
	case "failure":
		return failures()
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
