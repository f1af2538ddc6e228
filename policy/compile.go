package policy

// Compile makes the form that scripts read of one action. Ladder and forgiveness bind speech actions alone and are
// empty for others. An action that is not registered has the factory's policy.
func (s *System) Compile(e Effective, action string, version, order int64) Compiled {
	a, ok := e.Actions[action]
	if !ok {
		c := FactoryPolicy(action)
		c.Version, c.Order = version, order
		return c
	}
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
	if a.Window != nil {
		c.Limit, c.PeriodMS, c.CountRefused = a.Window.Limit, a.Window.PeriodMS, a.Window.CountRefused
	}
	if a.Ban != nil {
		c.BanForMS = a.Ban.ForMS
	}
	if c.Speech {
		c.Ladder, c.ForgiveOneEveryMS = e.Ladder, e.ForgiveOneEveryMS
	}
	return c
}

// CompileDefault makes the form that scripts read where a group has no policy of its own: version 0, the order of the
// system's counters.
func (s *System) CompileDefault(action string) Compiled {
	return s.Compile(s.base, action, 0, s.Order(0))
}

// Published are the actions of which Redis holds a policy for a group with this document, sorted: those it names; every
// speech action if it states penalties; every action if it states exempt roles. It depends on the document and the
// registry alone, never on bounds or defaults, so that none of their changes has to withdraw anything.
func (s *System) Published(d Document) []string {
	if len(d.Actions) == 0 && !d.ExemptRoles.Set && !d.Penalties.stated() {
		return nil
	}
	names := make([]string, 0, len(s.Actions))
	for _, spec := range s.Actions {
		_, named := d.Actions[spec.Name]
		if named || d.ExemptRoles.Set || spec.Speech && d.Penalties.stated() {
			names = append(names, spec.Name)
		}
	}
	return names
}

func (p PenaltiesDocument) stated() bool { return p.Ladder.Set || p.ForgiveOneEveryMS.Set }
