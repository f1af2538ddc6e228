package policy

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ImpactChange is one setting that another value would be in force of. Values are JSON values, as in Clamp; nil = none.
// Bound says what holds the group's own request back after the change, or else did before it: min, max, forbidden; empty
// where the group states nothing and follows the defaults.
type ImpactChange struct {
	Path            string // JSON pointer into the document
	Stated          bool   // the group's document states it
	Requested       any    // what it states
	EffectiveBefore any
	EffectiveAfter  any
	Bound           string
	Limit           any
}

// difference is a setting of which another value is in force.
type difference struct {
	path          string
	before, after any
}

// differ finds the differences of two effective policies in the document's order: all, or just whether there is one.
type differ struct {
	names *System // gives the order of the actions
	all   bool
	found []difference
}

func (f *differ) done() bool { return len(f.found) > 0 && !f.all }

func (f *differ) add(path string, before, after any) {
	f.found = append(f.found, difference{path, before, after})
}

func (f *differ) effective(a, b *Effective) {
	if a.TimeZone != b.TimeZone {
		f.add("/time_zone", a.TimeZone, b.TimeZone)
	}
	for i := range f.names.Actions {
		if f.done() {
			return
		}
		name := f.names.Actions[i].Name
		before, after := a.Actions[name], b.Actions[name]
		f.action(name, &before, &after)
	}
	if !slices.Equal(a.ExemptRoles, b.ExemptRoles) {
		f.add("/exempt_roles", a.ExemptRoles, b.ExemptRoles)
	}
	f.ladder(a.Ladder, b.Ladder)
	if a.ForgiveOneEveryMS != b.ForgiveOneEveryMS {
		f.add("/penalties/forgive_one_every_ms", a.ForgiveOneEveryMS, b.ForgiveOneEveryMS)
	}
	if !maps.EqualFunc(a.Notices, b.Notices, maps.Equal[map[string]string]) {
		f.add("/notices", a.Notices, b.Notices)
	}
}

func (f *differ) action(name string, a, b *Action) {
	if a.Enabled != b.Enabled {
		f.add("/actions/"+name+"/enabled", a.Enabled, b.Enabled)
	}
	if a.Mode != b.Mode {
		f.add("/actions/"+name+"/mode", string(a.Mode), string(b.Mode))
	}
	if a.MinIntervalMS != b.MinIntervalMS {
		f.add("/actions/"+name+"/min_interval_ms", orNone(a.MinIntervalMS), orNone(b.MinIntervalMS))
	}
	f.window(name, a.Window, b.Window)
	if before, after := a.Ban.length(), b.Ban.length(); before != after {
		f.add("/actions/"+name+"/ban/for_ms", orNone(before), orNone(after))
	}
	if a.OnFailure != b.OnFailure {
		f.add("/actions/"+name+"/on_failure", string(a.OnFailure), string(b.OnFailure))
	}
}

// orNone is nil for 0, which stands for none.
func orNone(v int64) any {
	if v == 0 {
		return nil
	}
	return v
}

// window tells two numbers apart where nothing else differs.
func (f *differ) window(name string, a, b *Window) {
	switch {
	case a == nil && b == nil, a != nil && b != nil && *a == *b:
		return
	case a == nil || b == nil || a.Algorithm != b.Algorithm || a.CountRefused != b.CountRefused:
		f.add("/actions/"+name+"/window", windowJSON(a), windowJSON(b))
		return
	}
	if a.Limit != b.Limit {
		f.add("/actions/"+name+"/window/limit", a.Limit, b.Limit)
	}
	if a.PeriodMS != b.PeriodMS {
		f.add("/actions/"+name+"/window/period_ms", a.PeriodMS, b.PeriodMS)
	}
}

// ladder tells the lengths of mutes apart where nothing else differs.
func (f *differ) ladder(a, b []Step) {
	if slices.Equal(a, b) {
		return
	}
	sameButLength := func(x, y Step) bool { return x.After == y.After && x.Do == y.Do }
	if !slices.EqualFunc(a, b, sameButLength) {
		f.add("/penalties/ladder", ladderJSON(a), ladderJSON(b))
		return
	}
	for i := range a {
		if a[i].ForMS != b[i].ForMS {
			f.add("/penalties/ladder/"+strconv.Itoa(i)+"/for_ms", a[i].ForMS, b[i].ForMS)
		}
	}
}

// ladderJSON is the value of a ladder in a report.
func ladderJSON(steps []Step) any {
	p := &printer{}
	p.ladder(steps)
	return json.RawMessage(p.out)
}

// explain puts what the document states beside each difference, and what holds that back.
func explain(found []difference, d *Document, before, after []Clamp) []ImpactChange {
	out := make([]ImpactChange, 0, len(found))
	for _, f := range found {
		c := ImpactChange{Path: f.path, EffectiveBefore: f.before, EffectiveAfter: f.after}
		c.Requested, c.Stated = d.stated(f.path)
		if held := holding(f.path, after, before); held != nil {
			c.Bound, c.Limit = held.Bound, held.Limit
		}
		out = append(out, c)
	}
	return out
}

// holding finds the clamp of a setting, of what it is part of, or of a part of it.
func holding(path string, reports ...[]Clamp) *Clamp {
	for _, clamps := range reports {
		for i := range clamps {
			if p := clamps[i].Path; p == path || strings.HasPrefix(p, path+"/") || strings.HasPrefix(path, p+"/") {
				return &clamps[i]
			}
		}
	}
	return nil
}

// stated is what a document states at a pointer that differ gives.
func (d *Document) stated(path string) (value any, stated bool) {
	keys := strings.Split(path, "/")[1:]
	switch {
	case keys[0] == "actions":
		a := d.Actions[keys[1]]
		return a.stated(strings.Join(keys[2:], "/"))
	case path == "/time_zone":
		return valueOf(d.TimeZone, func(v string) any { return v })
	case path == "/exempt_roles":
		return valueOf(d.ExemptRoles, func(v []string) any { return v })
	case path == "/penalties/ladder":
		return valueOf(d.Penalties.Ladder, ladderJSON)
	case path == "/penalties/forgive_one_every_ms":
		return valueOf(d.Penalties.ForgiveOneEveryMS, func(v int64) any { return v })
	case path == "/notices":
		return d.Notices, len(d.Notices) > 0
	}
	return valueOf(d.Penalties.Ladder, func(steps []Step) any {
		i, err := strconv.Atoi(keys[2])
		if err != nil || i >= len(steps) {
			return nil
		}
		return steps[i].ForMS
	})
}

func (a *ActionDocument) stated(key string) (value any, stated bool) {
	switch key {
	case "enabled":
		return valueOf(a.Enabled, func(v bool) any { return v })
	case "mode":
		return valueOf(a.Mode, func(v Mode) any { return string(v) })
	case "min_interval_ms":
		return valueOf(a.MinIntervalMS, func(v int64) any { return v })
	case "window":
		return valueOf(a.Window, func(v Window) any { return windowJSON(&v) })
	case "window/limit":
		return valueOf(a.Window, func(v Window) any { return v.Limit })
	case "window/period_ms":
		return valueOf(a.Window, func(v Window) any { return v.PeriodMS })
	case "ban/for_ms":
		return valueOf(a.Ban, func(v Ban) any { return v.ForMS })
	}
	return valueOf(a.OnFailure, func(v OnFailure) any { return string(v) })
}

// valueOf is a setting as a JSON value; nil for none and for what is not stated.
func valueOf[T any](s Setting[T], show func(T) any) (value any, stated bool) {
	if !s.Set || s.Null {
		return nil, s.Set
	}
	return show(s.Value), true
}
