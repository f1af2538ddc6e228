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
	Enabled, GapOn, WindowOn  switchView
	Refused                   switchView
	Gap, Count, Period, Ban   inputView
	Algo, Mode, Failure       selectView
}

// Switches says whether any limit may be switched off.
func (f foldView) Switches() bool { return !f.Enabled.Hidden || !f.GapOn.Hidden || !f.WindowOn.Hidden }

// folds are the actions that the form edits.
func (d drawing) folds(names []string) []foldView {
	views := make([]foldView, 0, len(names))
	for i, name := range names {
		v := d.fold(name)
		v.Open = i == 0 || d.faulty(name)
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
	return foldView{
		Words: d.base, Action: name, Name: d.actionName(name), About: d.about(name), Line: d.line(name),
		Enabled:  d.box(key("enabled"), "enabled", may(policy.SwitchAction), at("/enabled")),
		GapOn:    d.box(key("gap-on"), "gap_on", may(policy.SwitchInterval)),
		WindowOn: d.box(key("window-on"), "window_on", may(policy.SwitchWindow)),
		Refused:  d.box(key("refused"), "count_refused", true),
		Gap:      d.secondsInput(key("gap"), b.MinIntervalMS, preset.MinIntervalMS.Value, at("/min_interval_ms")),
		Count:    d.countInput(key("count"), b.WindowLimit, preset.Window.Value.Limit, at("/window/limit"), at("/window")),
		Period:   d.lengthInput(key("period"), "period", b.WindowPeriodMS, preset.Window.Value.PeriodMS, at("/window/period_ms")),
		Ban:      d.lengthInput(key("ban"), "ban", b.BanMS, preset.Ban.Value.ForMS, at("/ban/for_ms"), at("/ban")),
		Algo:     d.choice(key("algo"), "algo", "algo_", algorithms(b), at("/window/algorithm")),
		Mode:     d.choice(key("mode"), "mode", "mode_", d.modes(may(policy.SwitchSoft)), at("/mode")),
		Failure:  d.choice(key("failure"), "on_failure", "failure_", failures()),
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
	for _, kind := range []string{f.Gap.Kind, f.Count.Kind, f.Period.Kind, f.Ban.Kind, f.Algo.Kind, f.Mode.Kind} {
		if kind == "clamped" {
			n++
		}
	}
	return n
}
