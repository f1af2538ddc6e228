package ui

import (
	"slices"

	"github.com/pacekeeper/pacekeeper/policy"
)

// foldView is one action: a line that says what is in force, and its settings behind it.
type foldView struct {
	Words                     base
	Action, Name, About, Line string
	Open                      bool
	Folded                    bool   // its settings are fetched when it is opened: the form does not hold them
	Was                       string // what its settings were when they were fetched
	Enabled, GapOn, WindowOn  switchView
	Switched                  []switchView // parts of the window
	Numbers                   []inputView  // the gap, and the numbers of the window as its algorithm knows them
	Ban                       inputView
	Algo, Align               selectView // Align has no options where the algorithm knows none
	Mode, Failure             selectView
	Href                      string // of the group
	Advanced                  bool   // the inner fold is open
}

// folds are the actions that a form edits: the first, and those that it is asked to hold or holds already. The others
// are a line each, so that the page stays light.
func (d drawing) folds(names []string, was values) []foldView {
	views := make([]foldView, 0, len(names))
	for i, name := range names {
		if i > 0 && d.form.Get("edit") != "all" && d.form.Get("open") != name && !slices.Contains(d.form["acts"], name) {
			views = append(views, foldView{Words: d.base, Action: name, Name: d.actionName(name), Line: d.line(name), Folded: true})
			continue
		}
		v := d.fold(name)
		v.Open = i == 0 || d.form.Get("open") == name || d.faulty(name)
		v.Was = was.of(name).packed()
		views = append(views, v)
	}
	return views
}

// faulty says whether something of an action needs a look: a fold that hides a fault is open.
func (d drawing) faulty(name string) bool {
	return slices.ContainsFunc(actionFields(), func(f actionField) bool { return d.faults[actionKey(name, f.name)] != "" })
}

func (d drawing) fold(name string) foldView {
	b, preset := d.system.Bounds.For(name), d.preset.Actions[name]
	key := func(field string) string { return actionKey(name, field) }
	at := func(path string) string { return "/actions/" + name + path }
	may := func(what string) bool { return slices.Contains(b.MayDisable, what) }
	v := foldView{
		Words: d.base, Action: name, Name: d.actionName(name), About: d.about(name), Line: d.line(name),
		Enabled:  d.box(key("enabled"), "enabled", may(policy.SwitchAction), at("/enabled")),
		GapOn:    d.box(key("gap-on"), "gap_on", may(policy.SwitchInterval)),
		WindowOn: d.box(key("window-on"), "window_on", may(policy.SwitchWindow)),
		Numbers:  []inputView{d.secondsInput(key("gap"), b.MinIntervalMS, preset.MinIntervalMS.Value, at("/min_interval_ms"))},
		Ban:      d.banInput(key("ban"), b.BanMS, preset.Ban.Value.ForMS, at("/ban/for_ms"), at("/ban")),
		Algo:     d.choice(key("algo"), "algo", "algo_", algorithms(b), at("/window/algorithm")),
		Mode:     d.choice(key("mode"), "mode", "mode_", d.modes(may(policy.SwitchSoft)), at("/mode")),
		Failure:  d.choice(key("failure"), "on_failure", "failure_", failures()),
	}
	d.window(&v, overlaidWindow(preset.Window.Value))
	return v
}

// overlaidWindow is a window as values, to know what is usual.
func overlaidWindow(w policy.Window) map[string]int64 {
	return map[string]int64{
		"count": w.Limit, "period": w.PeriodMS, "buckets": w.Buckets, "capacity": w.Capacity, "refill": w.RefillMS, "leak": w.LeakMS,
	}
}

// window adds the parts that the chosen algorithm knows.
func (d drawing) window(v *foldView, usual map[string]int64) {
	algorithm := d.form.Get(actionKey(v.Action, "algo"))
	if algorithm == "" {
		algorithm = string(policy.SlidingWindow)
	}
	for _, f := range actionFields() {
		if !f.window || f.name == "algo" || !f.uses(algorithm) {
			continue
		}
		key, pointer := actionKey(v.Action, f.name), "/actions/"+v.Action+f.path
		within := d.system.Bounds.Range(v.Action, f.path[len("/window/"):])
		switch f.kind {
		case kindChoice:
			v.Align = d.choice(key, f.label, "align_", aligns(), pointer)
		case kindSwitch:
			v.Switched = append(v.Switched, d.box(key, f.label, true))
		case kindCount:
			v.Numbers = append(v.Numbers, d.countInput(key, f.label, within, usual[f.name], pointer, "/actions/"+v.Action+"/window"))
		case kindLength, kindSeconds:
			v.Numbers = append(v.Numbers, d.lengthInput(key, f.label, within, usual[f.name], pointer))
		}
	}
}

// modes leaves out what bounds forbid; choice adds it where the group asks for it already.
func (d drawing) modes(soft bool) []string {
	if soft {
		return modes()
	}
	return modes()[:1]
}

// actionName is what people call an action; an operator's own action is called by its name.
func (b base) actionName(name string) string {
	if b.words[("action_"+name)] == nil {
		return name
	}
	return b.Say("action_" + name)
}

// about says what an action covers, "" for an operator's own.
func (b base) about(name string) string {
	if b.words["about_"+name] == nil {
		return ""
	}
	return b.Say("about_" + name)
}

// line is what is in force of an action, in a few words.
func (d drawing) line(name string) string {
	a := d.effective.Actions[name]
	gap := policy.DurationText(a.MinIntervalMS, d.Lang)
	text := d.Say("line_none")
	switch {
	case !a.Enabled:
		return d.Say("line_off")
	case a.Window == nil && a.MinIntervalMS > 0:
		text = d.Say("line_gap", gap)
	case a.Window != nil && a.Window.Capacity > 0:
		text = d.Say("line_bucket", a.Window.Capacity, policy.DurationText(a.Window.RefillMS+a.Window.LeakMS, d.Lang))
		if a.MinIntervalMS > 0 {
			text = d.Say("line_gap_and", gap, text)
		}
	case a.Window != nil && a.MinIntervalMS > 0:
		text = d.Say("line_both", gap, a.Window.Limit, policy.DurationText(a.Window.PeriodMS, d.Lang))
	case a.Window != nil:
		text = d.Say("line_window", a.Window.Limit, policy.DurationText(a.Window.PeriodMS, d.Lang))
	}
	if a.Mode == policy.Soft {
		return d.Say("line_soft", text)
	}
	return text
}

// held is how many values of the action are held back.
func (f foldView) held() (n int) {
	kinds := []string{f.Ban.Kind, f.Algo.Kind, f.Align.Kind, f.Mode.Kind}
	for _, i := range f.Numbers {
		kinds = append(kinds, i.Kind)
	}
	for _, kind := range kinds {
		if kind == "clamped" {
			n++
		}
	}
	return n
}
