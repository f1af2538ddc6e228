package ui

// faulted are the faults of a form by field.
type faulted map[string]string

// FaultOf is the fault of a field, for its note; without a text where there is none.
func (f faulted) FaultOf(field string) faultView { return faultView{field, f[field]} }

// byField puts faults in their places; the first of a field counts.
func byField(faults []faultView) faulted {
	all := faulted{}
	for _, f := range faults {
		if all[f.Field] == "" {
			all[f.Field] = f.Text
		}
	}
	return all
}

// filterView is one field of the audit log's filters.
type filterView struct {
	ID, Label, Value, Hint, Fault string
	Date                          bool
}

// Field is one of the filters that people type.
func (v auditView) Field(name string) filterView {
	f := filterView{ID: name, Label: v.Say("filter_by_" + name), Value: v.Filter.Get(name), Fault: v.Fault[name], Date: name == "from" || name == "to"}
	if name == "changed" {
		f.Hint = "/actions/message/window"
	}
	return f
}
