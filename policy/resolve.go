package policy

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// The kinds of Clamp.Bound.
const (
	BoundMin       = "min"
	BoundMax       = "max"
	BoundForbidden = "forbidden"
)

// Resolve lays a document over the defaults and clamps it: what is in force, and what of the document's own requests is
// not. Absent settings follow the defaults; arrays, window and ban are taken whole. A switch that bounds forbid (null,
// enabled: false, soft) leaves the defaults' value of that key in force; a role that operators have removed exempts nobody
// until it returns. Actions that are not registered are ignored. What it returns may share memory with the document.
func (s *System) Resolve(d Document) (Effective, []Clamp) {
	r := resolver{}
	if len(d.Actions) == 0 {
		return r.shared(s, &d), r.clamps
	}
	actions := r.actions(s, d.Actions)
	e := r.shared(s, &d)
	e.Actions = actions
	return e, r.clamps
}

// shared resolves what all actions share; the actions are those of the defaults.
func (r *resolver) shared(s *System, d *Document) Effective {
	e := s.base
	if d.TimeZone.Set {
		e.TimeZone = d.TimeZone.Value
	}
	if d.ExemptRoles.Set {
		e.ExemptRoles = withOwner(r.roles(d.ExemptRoles.Value, s.roles))
	}
	if d.Penalties.Ladder.Set {
		e.Ladder = r.ladder(d.Penalties.Ladder.Value, &s.Bounds)
	}
	if f := d.Penalties.ForgiveOneEveryMS; f.Set {
		e.ForgiveOneEveryMS = r.hold(f.Value, s.Bounds.ForgiveOneEveryMS, "/penalties/forgive_one_every_ms")
	}
	if len(d.Notices) > 0 {
		e.Notices = overlayNotices(s.base.Notices, d.Notices)
	}
	return e
}

// withOwner is the effective form of exempt roles: sorted, with owner.
func withOwner(roles []string) []string {
	all := make([]string, 0, len(roles)+1)
	all = append(all, roles...)
	if !slices.Contains(all, RoleOwner) {
		all = append(all, RoleOwner)
	}
	slices.Sort(all)
	return all
}

// roles holds back what is no role any more.
func (r *resolver) roles(stated, known []string) []string {
	kept := make([]string, 0, len(stated))
	for i, role := range stated {
		if slices.Contains(known, role) {
			kept = append(kept, role)
			continue
		}
		r.add(Clamp{Path: "/exempt_roles/" + strconv.Itoa(i), Requested: role, Bound: BoundForbidden})
	}
	return kept
}

func overlayNotices(base, over map[string]map[string]string) map[string]map[string]string {
	if len(base) == 0 {
		return over
	}
	all := maps.Clone(base)
	for language, texts := range over {
		merged := make(map[string]string, 2)
		maps.Copy(merged, base[language])
		maps.Copy(merged, texts)
		all[language] = merged
	}
	return all
}

// resolver collects what is held back.
type resolver struct {
	clamps []Clamp
	silent bool // nobody asks for them
}

// hold clamps one number. The path is given in parts, put together only where there is something to report.
func (r *resolver) hold(v int64, within Range, path ...string) int64 {
	switch {
	case r.silent:
		return within.hold(v)
	case v < within.Min:
		r.add(Clamp{strings.Join(path, ""), v, within.Min, BoundMin, within.Min})
		return within.Min
	case v > within.Max:
		r.add(Clamp{strings.Join(path, ""), v, within.Max, BoundMax, within.Max})
		return within.Max
	}
	return v
}

func (r *resolver) add(c Clamp) {
	if !r.silent {
		r.clamps = append(r.clamps, c)
	}
}

func (r *resolver) forbid(action, key string, requested, effective any) {
	r.add(Clamp{"/actions/" + action + key, requested, effective, BoundForbidden, nil})
}

// actions resolves the actions of a document in the order of the registry, so that reports are deterministic.
func (r *resolver) actions(s *System, stated map[string]ActionDocument) map[string]Action {
	all := maps.Clone(s.base.Actions)
	for i := range s.Actions {
		name := s.Actions[i].Name
		if d, ok := stated[name]; ok {
			all[name] = r.action(name, &d, s.base.Actions[name], s.bounds[name])
		}
	}
	return all
}

// action resolves one action over a base that is within the bounds.
func (r *resolver) action(name string, d *ActionDocument, base Action, b *ActionBounds) Action {
	a := base
	a.FromGroup = true
	if d.Enabled.Set {
		a.Enabled = d.Enabled.Value
		if !a.Enabled && !b.mayDisable(SwitchAction) {
			a.Enabled = true
			r.forbid(name, "/enabled", false, true)
		}
	}
	if d.Mode.Set {
		a.Mode = d.Mode.Value
		if a.Mode == Soft && !b.mayDisable(SwitchSoft) {
			a.Mode = base.Mode
			r.forbid(name, "/mode", string(Soft), string(a.Mode))
		}
	}
	a.MinIntervalMS = r.interval(name, d.MinIntervalMS, base, b)
	a.Window = r.window(name, d.Window, base, b)
	if a.MinIntervalMS == 0 && a.Window == nil && !b.mayDisable(SwitchAction) {
		r.keepOneLimit(name, &a, base)
	}
	if d.Ban.Set {
		a.Ban = r.ban(name, d.Ban, b)
	}
	if d.OnFailure.Set {
		a.OnFailure = d.OnFailure.Value
	}
	a.Group = r.group(name, d.Group, base, b)
	return a
}

func (r *resolver) interval(name string, s Setting[int64], base Action, b *ActionBounds) int64 {
	switch {
	case !s.Set:
		return base.MinIntervalMS
	case !s.Null:
		return r.hold(s.Value, b.MinIntervalMS, "/actions/", name, "/min_interval_ms")
	case b.mayDisable(SwitchInterval):
		return 0
	}
	r.forbid(name, "/min_interval_ms", nil, base.MinIntervalMS)
	return base.MinIntervalMS
}

// keepOneLimit brings back a limit where both are off and bounds do not allow that. The base has at least one, so the
// document has stated null for it.
func (r *resolver) keepOneLimit(name string, a *Action, base Action) {
	if base.Window != nil {
		a.Window = base.Window
		r.forbid(name, "/window", nil, windowJSON(base.Window))
		return
	}
	a.MinIntervalMS = base.MinIntervalMS
	r.forbid(name, "/min_interval_ms", nil, base.MinIntervalMS)
}

// ladder holds a ladder to the number of steps that bounds allow (the lowest are in force) and each mute to its range.
func (r *resolver) ladder(stated []Step, b *Bounds) []Step {
	steps := slices.Clone(stated)
	if most := b.LadderStepsMax; int64(len(steps)) > most {
		r.add(Clamp{"/penalties/ladder", int64(len(steps)), most, BoundMax, most})
		steps = steps[:most]
	}
	for i := range steps {
		if steps[i].Do == Mute {
			steps[i].ForMS = r.mute(i, steps[i].ForMS, b.MuteMS)
		}
	}
	return steps
}

func (r *resolver) mute(i int, forMS int64, within Range) int64 {
	if within.hold(forMS) == forMS {
		return forMS
	}
	return r.hold(forMS, within, "/penalties/ladder/", strconv.Itoa(i), "/for_ms")
}

func (b *ActionBounds) mayDisable(what string) bool { return slices.Contains(b.MayDisable, what) }
