package ui

import (
	"net/url"
	"slices"

	"github.com/pacekeeper/pacekeeper/policy"
)

// inputView is one field that people type into. Kind is clamped or error where Note says so. Unit is what stands inside
// the field; Units is the choice of a length. Slider has bounds and step for a mouse or a thumb.
type inputView struct {
	ID, Label, Hint, Value, Unit string
	Note, Kind                   string
	Off, Slider                  bool
	Min, Max, Step, At           string
	Units                        []optionView
}

// optionView is one choice.
type optionView struct {
	Value, Text string
	Chosen      bool
}

// selectView is a choice of one. Note is "" where what is chosen is in force.
type selectView struct {
	ID, Label, Hint, Note, Kind string
	Options                     []optionView
	Off                         bool
}

// switchView is a box to tick. It is hidden where there is nothing to choose.
type switchView struct {
	ID, Label, Note string
	On, Hidden, Off bool
}

// drawing is what the views of a settings page are drawn from: what the form says, and what becomes of it.
type drawing struct {
	base
	form      url.Values
	system    *policy.System
	preset    policy.Document // the defaults in force
	effective policy.Effective
	notes     map[string]string // what is held back, by pointer
	faults    map[string]string // what cannot be read, by id
	off       bool
}

// noted gives a field its fault, or what is held back of it: never both.
func (d drawing) noted(id string, pointers ...string) (note, kind string) {
	if fault := d.faults[id]; fault != "" {
		return fault, "error"
	}
	for _, pointer := range pointers {
		if note := d.notes[pointer]; note != "" {
			return note, "clamped"
		}
	}
	return "", ""
}

func (d drawing) input(id, label, hint string, pointers ...string) inputView {
	v := inputView{ID: id, Label: d.Say(label), Hint: hint, Value: d.form.Get(id), Off: d.off}
	v.Note, v.Kind = d.noted(id, pointers...)
	return v
}

// secondsInput is a number of seconds with a slider.
func (d drawing) secondsInput(id string, within policy.Range, usual int64, pointers ...string) inputView {
	v := d.input(id, "gap", d.rangeHint(within, usual, seconds, "range_seconds", "range_seconds_only"), pointers...)
	v.Unit = d.Say("unit_seconds")
	step := int64(500)
	if within.Min%500 != 0 {
		step = 100
	}
	ms, ok := milliseconds(v.Value)
	return v.withSlider(within, usual, step, ms, ok, seconds)
}

// countInput is a whole number with a slider.
func (d drawing) countInput(id, label string, within policy.Range, usual int64, pointers ...string) inputView {
	v := d.input(id, label, d.rangeHint(within, usual, plain, "range_count", "range_count_only"), pointers...)
	n, ok := count(v.Value)
	return v.withSlider(within, usual, 1, n, ok, plain)
}

// sliderReach is the longest way that a slider is of use for, in steps.
const sliderReach = 200

func (v inputView) withSlider(within policy.Range, usual, step, value int64, ok bool, show func(int64) string) inputView {
	if (within.Max-within.Min)/step > sliderReach {
		return v
	}
	if !ok {
		value = usual
	}
	v.Slider, v.Min, v.Max, v.Step = true, show(within.Min), show(within.Max), show(step)
	v.At = show(min(max(value, within.Min), within.Max))
	return v
}

// rangeHint says what a field takes, and what is usual unless nothing is.
func (d drawing) rangeHint(within policy.Range, usual int64, show func(int64) string, usually, only string) string {
	if usual == 0 {
		return d.Say(only, show(within.Min), show(within.Max))
	}
	return d.Say(usually, show(within.Min), show(within.Max), show(usual))
}

// lengthInput is a number with a unit.
func (d drawing) lengthInput(id, label string, within policy.Range, usual int64, pointers ...string) inputView {
	words := func(ms int64) string { return policy.DurationText(ms, d.Lang) }
	v := d.input(id, label, d.rangeHint(within, usual, words, "range_count", "range_count_only"), pointers...)
	v.Units = d.units(d.form.Get(unitField(id)))
	return v
}

// banInput is a length, or until the day's end.
func (d drawing) banInput(id string, within policy.Range, usual int64, pointers ...string) inputView {
	v := d.lengthInput(id, "ban", within, usual, pointers...)
	v.Units = append(v.Units, optionView{endOfDay, d.Say("until_end_of_day"), d.form.Get(unitField(id)) == endOfDay})
	return v
}

func (d drawing) units(chosen string) []optionView {
	options := make([]optionView, 0, len(units()))
	for _, u := range units() {
		options = append(options, optionView{u.code, d.Say(u.word), u.code == chosen})
	}
	return options
}

// choice offers the words, and the chosen one even where it is no longer among them.
func (d drawing) choice(id, label, prefix string, words []string, pointers ...string) selectView {
	v := selectView{ID: id, Label: d.Say(label), Off: d.off}
	v.Note, v.Kind = d.noted(id, pointers...)
	chosen := d.form.Get(id)
	if chosen != "" && !slices.Contains(words, chosen) {
		words = append(slices.Clone(words), chosen)
	}
	for _, word := range words {
		v.Options = append(v.Options, optionView{word, d.Say(prefix + word), word == chosen})
	}
	return v
}

// box is a switch; free says whether bounds leave it to the group.
func (d drawing) box(id, label string, free bool, pointers ...string) switchView {
	on := d.form.Get(id) != ""
	v := switchView{ID: id, Label: d.Say(label), On: on, Hidden: on && !free, Off: d.off}
	v.Note, _ = d.noted(id, pointers...)
	return v
}
