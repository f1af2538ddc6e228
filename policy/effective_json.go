package policy

// JSON is an effective policy in the shape of a document, complete: null where there is none, and the texts of notices
// that the group or the defaults state.
func (e Effective) JSON() []byte { return e.Document().JSON() }

// document states every setting of an action.
func (a Action) document() ActionDocument {
	d := ActionDocument{
		Enabled:       State(a.Enabled),
		Mode:          State(a.Mode),
		MinIntervalMS: None[int64](),
		Window:        None[Window](),
		Ban:           None[Ban](),
		OnFailure:     State(a.OnFailure),
		Group:         None[GroupLimit](),
	}
	if a.MinIntervalMS > 0 {
		d.MinIntervalMS = State(a.MinIntervalMS)
	}
	if a.Window != nil {
		d.Window = State(*a.Window)
	}
	if a.Ban != nil {
		d.Ban = State(*a.Ban)
	}
	if a.Group != nil {
		d.Group = State(GroupLimit{*a.Group})
	}
	return d
}

// Document states everything that is in force. Resolving it gives the same policy, and nothing is clamped.
func (e Effective) Document() Document {
	d := Document{
		TimeZone:    State(e.TimeZone),
		Actions:     make(map[string]ActionDocument, len(e.Actions)),
		ExemptRoles: State(e.ExemptRoles),
		Penalties:   PenaltiesDocument{Ladder: State(e.Ladder), ForgiveOneEveryMS: State(e.ForgiveOneEveryMS)},
		Notices:     e.Notices,
	}
	for name, a := range e.Actions {
		d.Actions[name] = a.document()
	}
	return d
}

// Sources says of every registered action where its policy comes from: group, where the group's document names it, else
// default.
func (e Effective) Sources() map[string]string {
	sources := make(map[string]string, len(e.Actions))
	for name, a := range e.Actions {
		sources[name] = "default"
		if a.FromGroup {
			sources[name] = "group"
		}
	}
	return sources
}
