package ui

import (
	"net/url"

	"github.com/pacekeeper/pacekeeper/policy"
)

// boundsView is what groups may choose from: ranges and switches of every action and of the whole system, with what a
// change would do. Version is the one that a save starts from, Was what the form was opened with.
type boundsView struct {
	base
	opsHead
	publishView
	Version  int64
	Was      string
	Href     string
	Banner   *bannerView
	Conflict *conflictView
	Folds    []boundFold
	System   boundFold // of no action
	Single   []boundInput
}

// publishView is what stands around both forms: faults, the impact, the reason, the confirmation.
type publishView struct {
	Faults    []faultView
	Fault     faulted
	Impact    impactView
	Reason    string
	Sure      string // as typed
	SaveLabel string
	Dirty     int
}

// boundFold is one action with its ranges and switches.
type boundFold struct {
	Words      base
	Name, Line string
	Open       bool
	Rows, More []boundRow
	MoreOpen   bool
	Algos, Off []boundBox
	By         selectView
}

// boundRow is one range.
type boundRow struct {
	Label, Usual string
	Min, Max     boundInput
}

// boundInput is one field. Was is what it was when it was changed, "" if it was not.
type boundInput struct {
	ID, Label, Value, Was, Fault string
	Length, Off                  bool
}

// boundBox is one box to tick.
type boundBox struct {
	ID, Text string
	On, Off  bool
}

// boundsDrawing is what the form's views are drawn from.
type boundsDrawing struct {
	base
	form   url.Values
	was    values
	want   values
	faults faulted
	system *policy.System
	off    bool
}

// boundsForm fills a form with values, as readBounds reads it.
func (b base) boundsForm(v values) url.Values {
	form := url.Values{}
	for key, value := range v {
		form.Set(key, b.boundShown(key, value))
	}
	return form
}

func (d boundsDrawing) input(key string) boundInput {
	k, _ := boundKind(key)
	in := boundInput{
		ID: key, Label: d.boundName(key), Value: d.form.Get(key), Fault: d.faults[key], Length: k == kindLength, Off: d.off,
	}
	if want, read := d.want[key]; read && want != d.was[key] {
		in.Was = d.Say("was_value", d.boundText(key, d.was[key]))
	}
	return in
}

func (d boundsDrawing) row(key, label, usual string) boundRow {
	return boundRow{Label: label, Usual: usual, Min: d.input(key + lowest), Max: d.input(key + highest)}
}

func (d boundsDrawing) box(key, text string) boundBox {
	return boundBox{ID: key, Text: text, On: d.form.Get(key) != "", Off: d.off}
}

// fold is one action.
func (d boundsDrawing) fold(action string, open bool) boundFold {
	f := boundFold{Words: d.base, Name: d.boundAction(action), Open: open}
	usual := d.usual(action)
	for _, field := range boundFields() {
		row := d.row(action+"."+field.name, d.Say(field.label), usual[field.name])
		wrong := row.Min.Fault + row.Max.Fault + row.Min.Was + row.Max.Was
		if field.optional {
			f.More, f.MoreOpen = append(f.More, row), f.MoreOpen || wrong != ""
		} else {
			f.Rows = append(f.Rows, row)
		}
		f.Open = f.Open || wrong != ""
	}
	for _, a := range policy.Algorithms() {
		f.Algos = append(f.Algos, d.box(action+".algo."+string(a), d.Say("algo_"+string(a))))
	}
	for _, name := range boundSwitches() {
		f.Off = append(f.Off, d.box(action+".off."+name, d.Say("off_"+name)))
	}
	f.By = selectView{ID: action + ".by", Label: d.Say("bound_by"), Off: d.off}
	for _, by := range []string{policy.EditedByGroup, policy.EditedByOperator} {
		f.By.Options = append(f.By.Options, optionView{by, d.Say("by_" + by), by == d.form.Get(f.By.ID)})
	}
	f.Line = d.line(action)
	return f
}

// line says an action's bounds in a few words, as saved when the form was opened.
func (d boundsDrawing) line(action string) string {
	text := func(name string) string { return d.boundText(action+"."+name, d.was[action+"."+name]) }
	return d.Say("bound_line", text("gap.min"), text("gap.max"), text("count.min"), text("count.max"))
}

// usual are the defaults in force of an action's ranges.
func (d boundsDrawing) usual(action string) map[string]string {
	a, known := d.system.DefaultsEffective().Actions[action]
	if !known {
		return nil
	}
	length := func(ms int64) string {
		if ms == 0 {
			return d.Say("none")
		}
		return policy.DurationText(ms, d.Lang)
	}
	usual := map[string]string{"gap": length(a.MinIntervalMS), "count": d.Say("none"), "period": d.Say("none"), "ban": d.Say("none")}
	if a.Window != nil && a.Window.Limit > 0 {
		usual["count"], usual["period"] = plain(a.Window.Limit), length(a.Window.PeriodMS)
	}
	if a.Ban != nil && a.Ban.EndOfDay {
		usual["ban"] = d.Say("until_end_of_day")
	} else if a.Ban != nil {
		usual["ban"] = length(a.Ban.ForMS)
	}
	return usual
}

// draw fills the page's sections.
func (v *boundsView) draw(d boundsDrawing) {
	for i, action := range boundActions(d.system) {
		v.Folds = append(v.Folds, d.fold(action, i == 0))
	}
	forgive := policy.DurationText(d.system.DefaultsEffective().ForgiveOneEveryMS, d.Lang)
	v.System = boundFold{Words: d.base, Rows: []boundRow{
		d.row(boundMute, d.boundName(boundMute), ""), d.row(boundForgive, d.boundName(boundForgive), forgive),
	}}
	for _, key := range []string{boundSteps, boundExemptions, boundRoles} {
		v.Single = append(v.Single, d.input(key))
	}
}
