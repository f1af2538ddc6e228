package policy

import "strings"

// NoRole stands for exempt roles where no role is exempt; no role is called so.
const NoRole = "-"

// resolveScopes clamps what the defaults state of scopes.
func (s *System) resolveScopes() {
	for _, scope := range SystemScopes() {
		for i := range s.Actions {
			name := s.Actions[i].Name
			d, stated := s.Defaults.Scopes[scope][name]
			if !stated {
				continue
			}
			if s.scopes == nil {
				s.scopes = map[Scope]map[string]Action{}
			}
			if s.scopes[scope] == nil {
				s.scopes[scope] = map[string]Action{}
			}
			s.scopes[scope][name] = s.resolveScope(scope, name, &d)
		}
	}
}

// resolveScope clamps one action of a scope. Bounds bind it as they do the limit of a whole group: how many may pass has no
// other end than what can be counted, for more than a member may share a scope. What a scope leaves out, or switches off, is
// no limit there, whatever groups may disable.
func (s *System) resolveScope(scope Scope, name string, d *ActionDocument) Action {
	wide := s.bounds[name].ofGroup()
	wide.MayDisable = append([]string{SwitchInterval, SwitchWindow, SwitchAction}, wide.MayDisable...)
	base := Action{Enabled: true, Mode: Hard, OnFailure: s.base.Actions[name].OnFailure}
	if w := d.Window; w.Set && !w.Null { // where bounds forbid its algorithm, the same figures by one that they allow
		base.Window = wide.figuresOf(w.Value)
	}
	r := resolver{}
	a := r.action(name, d, base, &wide)
	a.FromGroup = false
	for _, c := range r.clamps {
		c.Path = "/scopes/" + string(scope) + strings.TrimPrefix(c.Path, "/actions")
		s.DefaultsClamped = append(s.DefaultsClamped, c)
	}
	return a
}

// figuresOf is about the same as a window, by an algorithm that bounds allow.
func (b *ActionBounds) figuresOf(w Window) *Window {
	most, period, pace := w.Most(), w.PeriodMS, w.RefillMS+w.LeakMS
	if period == 0 {
		period = min(most, MaxLimit) * min(pace, MaxPeriodMS)
	} else {
		pace = (period + most - 1) / most
	}
	return b.allowedWindow(most, period, pace)
}

// Scoped is what is in force of an action in a scope of the system; false = it is not limited there.
func (s *System) Scoped(scope Scope, action string) (Action, bool) {
	a, stated := s.scopes[scope][action]
	return a, stated
}

// CompileScope makes the form that scripts read of an action in a scope of the system; false = it is not limited there.
// Strikes, mutes and exempt roles belong to groups: it has none. Its version is that of the defaults.
func (s *System) CompileScope(scope Scope, action string) (Compiled, bool) {
	a, stated := s.Scoped(scope, action)
	if !stated {
		return Compiled{}, false
	}
	e := Effective{TimeZone: s.base.TimeZone, Actions: map[string]Action{action: a}, ExemptRoles: []string{NoRole}}
	c := s.Compile(e, action, s.DefaultsVersion, s.Order(0))
	c.Speech, c.Ladder, c.ForgiveOneEveryMS = false, nil, 0
	return c, true
}

// ScopesChanges are what differs between the scopes in force of two systems, as the defaults would state them.
func ScopesChanges(before, after *System) []ImpactChange {
	stated := func(s *System) Document { return Document{Scopes: s.scopesInForce()} }
	return explain(Document{Scopes: after.Defaults.Scopes}, stated(before), stated(after), before.DefaultsClamped, after.DefaultsClamped)
}

// scopesInForce states everything that is in force in scopes.
func (s *System) scopesInForce() map[Scope]map[string]ActionDocument {
	all := make(map[Scope]map[string]ActionDocument, len(s.scopes))
	for scope, actions := range s.scopes {
		all[scope] = make(map[string]ActionDocument, len(actions))
		for name, a := range actions {
			d := a.document()
			d.Group = ActionDocument{}.Group // no scope has one
			d.MinIntervalMS, d.Window, d.Ban = orAbsent(d.MinIntervalMS), orAbsent(d.Window), orAbsent(d.Ban)
			all[scope][name] = d
		}
	}
	return all
}

// orAbsent leaves out what is none: in a scope that is the same.
func orAbsent[T any](s Setting[T]) Setting[T] {
	if s.Null {
		return Setting[T]{}
	}
	return s
}

// CompareDefaults says which way a change of the defaults goes, for groups that state nothing and in the system's scopes.
func CompareDefaults(before, after *System) Comparison {
	c := comparer{Compare(before.DefaultsEffective(), after.DefaultsEffective())}
	for _, scope := range SystemScopes() {
		for _, name := range after.ActionNames() {
			path := "/scopes/" + string(scope) + "/" + name
			a, was := before.Scoped(scope, name)
			b, is := after.Scoped(scope, name)
			if was != is {
				c.note(path, was && a.limits(), is && b.limits())
			} else {
				c.action(path, &a, &b)
			}
		}
	}
	return c.Comparison
}

// limits says whether anything can be refused.
func (a Action) limits() bool {
	return a.Enabled && a.Mode == Hard && (a.MinIntervalMS > 0 || a.Window != nil)
}
