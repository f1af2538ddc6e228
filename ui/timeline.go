package ui

import (
	"fmt"
	"net/url"
	"strconv"

	"github.com/pacekeeper/pacekeeper/policy"
)

// previewView is one member over 60 seconds under what the form says, decided by the same code as the chat's own.
type previewView struct {
	Patterns []optionView
	Of       []optionView // the action shown
	Caption  string
	Bite     string // which of the two limits bites first, "" where there is one
	Marks    []markView
	Bands    []bandView
	Ticks    []tickView
	Bubbles  []bubbleView
}

// markView is one try: ok, no (refused) or mt (tried while muted or banned).
type markView struct {
	Kind string
	X    string
	Path string
	Note bool // the first refusal: where the member reads the notice
}

// bandView is a time in which the member is muted or banned.
type bandView struct {
	X, Width, TextX, Text string
}

type tickView struct{ X, Text string }

// bubbleView is what a refused member reads.
type bubbleView struct{ Lang, Text, Name string }

// The picture's measures: 60 s over 330 units, from 14.
const (
	beatLeft  = 14
	beatScale = 5.5 // units a second
)

func beatX(ms int64) string {
	return strconv.FormatFloat(beatLeft+float64(ms)*beatScale/1000, 'f', 1, 64)
}

// preview decides the chosen traffic over the chosen action.
func (d drawing) preview(names []string) previewView {
	pattern, action := chosen(d.form, "pattern", policy.TrafficBurst), names[0]
	traffic, known := policy.Traffic(pattern)
	if !known {
		pattern = policy.TrafficBurst
		traffic, _ = policy.Traffic(pattern)
	}
	v := previewView{Ticks: d.ticks()}
	for _, p := range []string{policy.TrafficCalm, policy.TrafficBurst, policy.TrafficSpammer} {
		v.Patterns = append(v.Patterns, optionView{p, d.Say("traffic_" + p), p == pattern})
	}
	for _, name := range names {
		if name == d.form.Get("of") {
			action = name
		}
	}
	for _, name := range names {
		v.Of = append(v.Of, optionView{name, d.actionName(name), name == action})
	}
	tried := d.system.Preview(d.effective, action, traffic)
	v.Caption, v.Bite = d.caption(tried), d.bite(action)
	v.draw(d, tried)
	v.Bubbles = d.bubbles(action)
	return v
}

func chosen(form url.Values, name, otherwise string) string {
	if value := form.Get(name); value != "" {
		return value
	}
	return otherwise
}

func (d drawing) ticks() []tickView {
	var ticks []tickView
	for at := int64(0); at <= policy.PreviewSpanMS; at += 10_000 {
		text := plain(at / 1000)
		if at == policy.PreviewSpanMS {
			text += " " + d.Say("unit_seconds")
		}
		ticks = append(ticks, tickView{beatX(at), text})
	}
	return ticks
}

// draw places tries and bands.
func (v *previewView) draw(d drawing, tried []policy.Tried) {
	refused := false
	for _, one := range tried {
		mark := markView{Kind: markKind(one.Code), X: beatX(one.AtMS)}
		x := beatLeft + float64(one.AtMS)*beatScale/1000
		switch mark.Kind {
		case "no":
			mark.Path = fmt.Sprintf("M%.1f 78l8 8m0-8l-8 8", x-4)
			mark.Note, refused = !refused && x > 76, true
		case "mt":
			mark.Path = fmt.Sprintf("M%.1f 78v8", x)
		}
		v.Marks = append(v.Marks, mark)
		if one.HeldMS > 0 {
			v.Bands = append(v.Bands, d.band(one))
		}
	}
}

func (d drawing) band(one policy.Tried) bandView {
	end := min(one.AtMS+one.HeldMS, policy.PreviewSpanMS)
	band := bandView{X: beatX(one.AtMS), Width: strconv.FormatFloat(float64(end-one.AtMS)*beatScale/1000, 'f', 1, 64)}
	if end-one.AtMS < 14_000 {
		return band
	}
	band.TextX = strconv.FormatFloat(beatLeft+8+float64(one.AtMS)*beatScale/1000, 'f', 1, 64)
	band.Text = d.Say("held_for", policy.DurationText(one.HeldMS, d.Lang))
	return band
}

func markKind(code policy.DecisionCode) string {
	switch code {
	case policy.RefusedMuted, policy.RefusedBanned, policy.RefusedReview, policy.RefusedRemoved:
		return "mt"
	case policy.RefusedInterval, policy.RefusedLimit, policy.RefusedDegraded:
		return "no"
	case policy.Allowed, policy.AllowedExempt, policy.AllowedWarned, policy.Delay, policy.AllowedDegraded:
	}
	return "ok"
}

// caption counts what the picture shows.
func (d drawing) caption(tried []policy.Tried) string {
	n := map[string]int{}
	for _, one := range tried {
		n[markKind(one.Code)]++
	}
	key := "caption"
	switch {
	case n["mt"] > 0:
		key = "caption_held"
	case n["no"] == 0:
		key = "caption_all"
	}
	return d.Say(key, n["ok"], len(tried), n["no"], n["mt"])
}

// bite says which limit stops a member first.
func (d drawing) bite(action string) string {
	a := d.effective.Actions[action]
	if a.MinIntervalMS == 0 || a.Window == nil || a.Window.Limit == 0 {
		return ""
	}
	gap, period := policy.DurationText(a.MinIntervalMS, d.Lang), policy.DurationText(a.Window.PeriodMS, d.Lang)
	if most := a.Window.PeriodMS / a.MinIntervalMS; most > a.Window.Limit {
		return d.Say("bite_window", gap, most, period, a.Window.Limit)
	}
	return d.Say("bite_gap", gap, a.Window.Limit, period)
}

// bubbles are the notices of the first refusal, in every language.
func (d drawing) bubbles(action string) []bubbleView {
	p := d.system.Compile(d.effective, action, 0, 0)
	refusal := policy.Decision{Code: policy.RefusedInterval, WaitMS: p.MinIntervalMS}
	if p.MinIntervalMS == 0 {
		refusal = policy.Decision{Code: policy.RefusedLimit, WaitMS: p.PeriodMS}
	}
	return []bubbleView{
		{htmlLang(english), policy.Notice(policy.English, d.effective.Notices, refusal, p), d.Say("in_english")},
		{htmlLang(chinese), policy.Notice(policy.Chinese, d.effective.Notices, refusal, p), d.Say("in_chinese")},
	}
}
