package policy

// Compile makes the form that scripts read of one action. Ladder and forgiveness bind speech actions alone and are
// empty for others, and so is the time zone where nothing depends on days; At gives its offsets. An action that is not
// registered has the factory's policy.
func (s *System) Compile(e Effective, action string, version, order int64) Compiled {
	a, ok := e.Actions[action]
	if !ok {
		c := FactoryPolicy(action)
		c.Version, c.Order = version, order
		return c
	}
	return s.compiled(&e, &a, action, version, order)
}

func (s *System) compiled(e *Effective, a *Action, action string, version, order int64) Compiled {
	c := Compiled{
		Action:        action,
		Version:       version,
		Order:         order,
		Enabled:       a.Enabled,
		Speech:        s.speech[action],
		Mode:          a.Mode,
		MinIntervalMS: a.MinIntervalMS,
		OnFailure:     a.OnFailure,
		ExemptRoles:   e.ExemptRoles,
	}
	if w := a.Window; w != nil {
		c.Algorithm, c.Align, c.Limit, c.PeriodMS = w.Algorithm, w.Align, w.Most(), w.PaceMS()
		c.Buckets, c.Queue, c.CountRefused = w.Buckets, w.Queue, w.CountRefused
	}
	if a.Ban != nil {
		c.BanForMS, c.BanToEndOfDay = a.Ban.ForMS, a.Ban.EndOfDay
	}
	if w := a.Group; w != nil {
		c.Group = CompiledWindow{w.Algorithm, w.Align, w.Most(), w.PaceMS(), w.Buckets, w.Queue, w.CountRefused}
	}
	if c.Align == AlignCalendar || c.Group.Align == AlignCalendar || c.BanToEndOfDay {
		c.TimeZone = e.TimeZone
	}
	if c.Speech {
		c.Ladder, c.ForgiveOneEveryMS = e.Ladder, e.ForgiveOneEveryMS
	}
	return c
}

// Compiler compiles the actions of one document without the report and the whole picture that Resolve makes: what it
// compiles is what Compile makes of that. Not safe for concurrent use.
type Compiler struct {
	system *System
	stated map[string]ActionDocument
	shared Effective // of the defaults: Actions
}

// Compiler makes one for a document. What it compiles may share memory with the document.
func (s *System) Compiler(d Document) Compiler {
	r := resolver{silent: true}
	return Compiler{system: s, stated: d.Actions, shared: r.shared(s, &d)}
}

// Notices are the document's notices over those of the defaults.
func (c *Compiler) Notices() map[string]map[string]string { return c.shared.Notices }

// Compile is Compile of what Resolve makes of the document.
func (c *Compiler) Compile(action string, version, order int64) Compiled {
	base, registered := c.system.base.Actions[action]
	d, stated := c.stated[action]
	if !stated || !registered {
		return c.system.Compile(c.shared, action, version, order)
	}
	r := resolver{silent: true}
	a := r.action(action, &d, base, c.system.bounds[action])
	return c.system.compiled(&c.shared, &a, action, version, order)
}

// CompileDefault makes the form that scripts read where a group has no policy of its own: version 0, the order of the
// system's counters.
func (s *System) CompileDefault(action string) Compiled {
	return s.Compile(s.base, action, 0, s.Order(0))
}

// Published are the actions of which Redis holds a policy for a group with this document, sorted: those it names; every
// speech action if it states penalties; every action if it states exempt roles or a time zone, on which days depend. It
// depends on the document and the
// registry alone, never on bounds or defaults, so that none of their changes has to withdraw anything.
func (s *System) Published(d Document) []string {
	all := d.ExemptRoles.Set || d.TimeZone.Set
	if len(d.Actions) == 0 && !all && !d.Penalties.stated() {
		return nil
	}
	names := make([]string, 0, len(s.Actions))
	for _, spec := range s.Actions {
		_, named := d.Actions[spec.Name]
		if named || all || spec.Speech && d.Penalties.stated() {
			names = append(names, spec.Name)
		}
	}
	return names
}

func (p PenaltiesDocument) stated() bool { return p.Ladder.Set || p.ForgiveOneEveryMS.Set }
