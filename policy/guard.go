package policy

import "maps"

// OperatorOnly says whether a group admin may save after in place of before: actions that operators edit (edited_by)
// must be left out or stated as they stand. The error is CodeForbidden with a pointer to each setting that differs.
func (s *System) OperatorOnly(before, after Document) error {
	var fields []FieldError
	for _, spec := range s.Actions {
		stated, named := after.Actions[spec.Name]
		if !named || s.bounds[spec.Name].EditedBy != EditedByOperator {
			continue
		}
		for _, key := range statedDifferently(before.Actions[spec.Name], stated) {
			fields = append(fields, FieldError{
				"/actions/" + spec.Name + "/" + key, "forbidden", spec.Name + " is set by the operators of the platform",
			})
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return &Error{Code: CodeForbidden, Message: "some actions are set by the operators of the platform", Fields: fields}
}

// statedDifferently are the keys that b states otherwise than a.
func statedDifferently(a, b ActionDocument) (keys []string) {
	for _, setting := range [...]struct {
		key       string
		different bool
	}{
		{"enabled", b.Enabled.Set && a.Enabled != b.Enabled},
		{"mode", b.Mode.Set && a.Mode != b.Mode},
		{"min_interval_ms", b.MinIntervalMS.Set && a.MinIntervalMS != b.MinIntervalMS},
		{"window", b.Window.Set && a.Window != b.Window},
		{"ban", b.Ban.Set && a.Ban != b.Ban},
		{"on_failure", b.OnFailure.Set && a.OnFailure != b.OnFailure},
		{"group", b.Group.Set && a.Group != b.Group},
	} {
		if setting.different {
			keys = append(keys, setting.key)
		}
	}
	return keys
}

// KeepOperatorActions is after with the actions that operators edit (edited_by) as they stand in before: what a group
// admin's PUT, PATCH, restore or DELETE saves.
func (s *System) KeepOperatorActions(before, after Document) Document {
	kept := maps.Clone(after.Actions)
	if kept == nil {
		kept = make(map[string]ActionDocument)
	}
	for _, spec := range s.Actions {
		if s.bounds[spec.Name].EditedBy != EditedByOperator {
			continue
		}
		if stands, named := before.Actions[spec.Name]; named {
			kept[spec.Name] = stands
		} else {
			delete(kept, spec.Name)
		}
	}
	if len(kept) == 0 {
		kept = nil
	}
	after.Actions = kept
	return after
}
