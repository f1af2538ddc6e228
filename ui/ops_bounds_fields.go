package ui

import (
	"maps"
	"slices"
	"strings"

	"github.com/pacekeeper/pacekeeper/policy"
)

// The settings of bounds are values like those of a document, by keys of their own: <action>.<range>.min and .max,
// <action>.algo.<algorithm>, <action>.off.<switch>, <action>.by, and below those that belong to no action.
const (
	boundMute       = "mute"
	boundForgive    = "forgive"
	boundSteps      = "steps"
	boundExemptions = "exemptions"
	boundRoles      = "own-roles"
	lowest          = ".min"
	highest         = ".max"
	anyAction       = "*"
)

// boundField is one range of an action's bounds: how it is called and typed, and where it is kept.
type boundField struct {
	name     string // in keys
	label    string // of the catalogue
	pointer  string // its name in the bounds' JSON
	length   bool   // typed as a length, else as a whole number
	optional bool   // empty = the window's own bounds alone
	of       func(*policy.ActionBounds) *policy.Range
}

// boundFields are the ranges of an action in the order of the page.
func boundFields() []boundField {
	return []boundField{
		{"gap", "gap", "min_interval_ms", true, false, func(b *policy.ActionBounds) *policy.Range { return &b.MinIntervalMS }},
		{"count", "count", "window_limit", false, false, func(b *policy.ActionBounds) *policy.Range { return &b.WindowLimit }},
		{"period", "period", "window_period_ms", true, false, func(b *policy.ActionBounds) *policy.Range { return &b.WindowPeriodMS }},
		{"ban", "bound_ban", "ban_ms", true, false, func(b *policy.ActionBounds) *policy.Range { return &b.BanMS }},
		{"capacity", "capacity", "capacity", false, true, func(b *policy.ActionBounds) *policy.Range { return &b.Capacity }},
		{"refill", "refill", "refill_ms", true, true, func(b *policy.ActionBounds) *policy.Range { return &b.RefillMS }},
		{"leak", "leak", "leak_ms", true, true, func(b *policy.ActionBounds) *policy.Range { return &b.LeakMS }},
		{"buckets", "buckets", "buckets", false, true, func(b *policy.ActionBounds) *policy.Range { return &b.Buckets }},
	}
}

// boundSwitches are what groups may be allowed to switch off.
func boundSwitches() []string {
	return []string{policy.SwitchInterval, policy.SwitchWindow, policy.SwitchAction, policy.SwitchSoft}
}

// boundActions are the actions in the order of the page, those without bounds of their own last.
func boundActions(s *policy.System) []string { return append(orderedActions(s), anyAction) }

// boundValues are the settings of bounds.
func boundValues(s *policy.System, b policy.Bounds) values {
	v := values{
		boundSteps: number(b.LadderStepsMax), boundExemptions: number(b.ExemptionsMax), boundRoles: strings.Join(b.Roles, " "),
	}
	v.putRange(boundMute, b.MuteMS)
	v.putRange(boundForgive, b.ForgiveOneEveryMS)
	for _, action := range boundActions(s) {
		own := b.For(action)
		for _, f := range boundFields() {
			v.putRange(action+"."+f.name, *f.of(&own))
		}
		for _, a := range policy.Algorithms() {
			v[action+".algo."+string(a)] = onOff(slices.Contains(own.Algorithms, a))
		}
		for _, name := range boundSwitches() {
			v[action+".off."+name] = onOff(slices.Contains(own.MayDisable, name))
		}
		v[action+".by"] = own.EditedBy
	}
	return v
}

func (v values) putRange(key string, r policy.Range) {
	v[key+lowest], v[key+highest] = number(r.Min), number(r.Max)
}

func (v values) rangeAt(key string) policy.Range {
	return policy.Range{Min: whole(v[key+lowest]), Max: whole(v[key+highest])}
}

// editBounds applies to bounds what differs between two sets of values, and nothing else: an action without bounds of its
// own keeps following those of the rest.
func editBounds(s *policy.System, b policy.Bounds, from, to values) policy.Bounds {
	keys := changed(from, to)
	now := rebase(from, to, boundValues(s, b))
	b.Actions = maps.Clone(b.Actions)
	for _, action := range boundActions(s) {
		if slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, action+".") }) {
			b.Actions[action] = now.actionBounds(action)
		}
	}
	b.MuteMS, b.ForgiveOneEveryMS = now.rangeAt(boundMute), now.rangeAt(boundForgive)
	b.LadderStepsMax, b.ExemptionsMax = whole(now[boundSteps]), whole(now[boundExemptions])
	b.Roles = strings.Fields(now[boundRoles])
	return b
}

func (v values) actionBounds(action string) (b policy.ActionBounds) {
	for _, f := range boundFields() {
		*f.of(&b) = v.rangeAt(action + "." + f.name)
	}
	for _, a := range policy.Algorithms() {
		if v[action+".algo."+string(a)] != "" {
			b.Algorithms = append(b.Algorithms, a)
		}
	}
	for _, name := range boundSwitches() {
		if v[action+".off."+name] != "" {
			b.MayDisable = append(b.MayDisable, name)
		}
	}
	b.EditedBy = v[action+".by"]
	return b
}

// boundKind is how the value of a key is typed and shown: a length, a whole number, a switch, or words. Optional ones may
// be empty.
func boundKind(key string) (k kind, optional bool) {
	switch {
	case key == boundRoles, strings.HasSuffix(key, ".by"):
		return kindChoice, true
	case key == boundSteps, key == boundExemptions:
		return kindCount, false
	case strings.Contains(key, ".algo."), strings.Contains(key, ".off."):
		return kindSwitch, true
	case strings.HasPrefix(key, boundMute+"."), strings.HasPrefix(key, boundForgive+"."):
		return kindLength, false
	}
	_, rest, _ := strings.Cut(key, ".")
	name, _, _ := strings.Cut(rest, ".")
	for _, f := range boundFields() {
		if f.name == name && f.length {
			return kindLength, f.optional
		} else if f.name == name {
			return kindCount, f.optional
		}
	}
	return kindChoice, true
}

// boundShown is the value of a key as its field shows it.
func (b base) boundShown(key, value string) string {
	if k, _ := boundKind(key); k == kindLength && value != "" {
		return policy.DurationText(whole(value), b.Lang)
	}
	return value
}
