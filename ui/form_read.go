package ui

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pacekeeper/pacekeeper/policy"
)

// faultView is one thing that cannot be read. Field is the id of the input it belongs to, "" for none.
type faultView struct{ Field, Text string }

// formReader turns a sent form into values. What cannot be read is a fault, and has no value.
type formReader struct {
	base
	form   url.Values
	system *policy.System
	was    values // what the form was opened with
	values values
	faults []faultView
}

// readForm reads every setting that the form holds.
func readForm(b base, form url.Values, s *policy.System, was values) *formReader {
	r := &formReader{base: b, form: form, system: s, was: was, values: values{}}
	for _, name := range orderedActions(s) {
		if slices.Contains(form["acts"], name) {
			r.action(name)
		}
	}
	if form.Has("ladder") {
		r.ladder()
		r.length(keyForgive, "forgive")
	}
	if form.Has("roles") {
		r.values[keyRoles] = rolesText(form["role"])
	}
	if form.Has(keyZone) {
		r.values[keyZone] = strings.TrimSpace(form.Get(keyZone))
	}
	for _, n := range noticeFields() {
		if form.Has(n.key()) {
			r.notice(n)
		}
	}
	return r
}

// fault notes what is wrong with a field, in words of the catalogue.
func (r *formReader) fault(id, key string, args ...any) {
	r.faults = append(r.faults, faultView{id, r.Say(key, args...)})
}

// switched says whether a limit is on: its box is ticked, or a number was typed where there was no limit.
func (r *formReader) switched(box, setting, number string) bool {
	return r.form.Get(box) != "" || r.was[setting] == "" && strings.TrimSpace(r.form.Get(number)) != ""
}

func (r *formReader) action(name string) {
	gap, window := actionKey(name, "gap"), actionKey(name, "window-on")
	hasGap := r.switched(gap+"-on", gap, gap)
	hasWindow := r.switched(window, actionKey(name, "algo"), actionKey(name, "count"))
	algorithm := r.form.Get(actionKey(name, "algo"))
	for _, f := range actionFields() {
		key := actionKey(name, f.name)
		switch {
		case f.window && (!hasWindow || !f.uses(algorithm)), f.name == "gap" && !hasGap:
			r.values[key] = ""
		case f.kind == kindSwitch:
			r.values[key] = onOff(r.form.Get(key) != "")
		case f.window && f.name != "algo" && !r.form.Has(key): // the algorithm was just chosen
			r.values[key] = suggest(r.was, name, f.name)
			r.values.put(r.form, key, r.values[key])
		case f.kind == kindChoice:
			r.choice(key, f.choices(r.system.Bounds.For(name)))
		case f.name == "ban" && r.form.Get(unitField(key)) == endOfDay:
			r.values[key] = endOfDay
		case f.name == "ban" && strings.TrimSpace(r.form.Get(key)) == "":
			r.values[key] = ""
		case f.kind == kindLength:
			r.length(key, f.label)
		default:
			r.number(key, f)
		}
	}
}

// choice takes one of the words, or what the form was opened with.
func (r *formReader) choice(key string, words []string) {
	word := r.form.Get(key)
	if word == "" && len(words) > 0 {
		word = words[0]
	}
	if !slices.Contains(words, word) && word != r.was[key] {
		r.fault(key, "refused_choice")
		return
	}
	r.values[key] = word
}

func (r *formReader) length(key, label string) {
	ms, ok := length(r.form.Get(key), r.form.Get(unitField(key)))
	if !ok {
		r.fault(key, "enter_number", r.Say(label))
		return
	}
	r.values[key] = number(ms)
}

func (r *formReader) number(key string, f actionField) {
	read := count
	if f.kind == kindSeconds {
		read = milliseconds
	}
	n, ok := read(r.form.Get(key))
	if !ok {
		wrong := "enter_number"
		if f.kind == kindCount {
			wrong = "enter_whole"
		}
		r.fault(key, wrong, r.Say(f.label))
		return
	}
	r.values[key] = number(n)
}

// notice reads one text. Whoever writes one has to say how long to wait; texts that stand are let be.
func (r *formReader) notice(n noticeField) {
	key := n.key()
	text := strings.TrimSpace(r.form.Get(key))
	switch {
	case text == r.was[key]:
	case utf8.RuneCountInString(text) > maxNotice:
		r.fault(key, "notice_long", maxNotice)
		return
	case text != "" && !strings.Contains(text, "{wait}"):
		r.fault(key, "notice_wait")
		return
	}
	r.values[key] = text
}

// fields fills a form with values, as readForm reads it.
func (v values) fields() url.Values {
	form := url.Values{}
	for key, value := range v {
		v.put(form, key, value)
	}
	return form
}

// put fills the fields of one setting.
func (v values) put(form url.Values, key, value string) {
	switch key {
	case keyLadder:
		putLadder(form, value)
		return
	case keyForgive:
		putLength(form, key, value)
		return
	case keyRoles:
		form["role"] = strings.Fields(value)
		return
	}
	_, name, _ := cutAction(key)
	for _, f := range actionFields() {
		if f.name == name {
			putAction(form, key, value, f)
			return
		}
	}
	form.Set(key, value)
}

func putAction(form url.Values, key, value string, f actionField) {
	switch f.name {
	case "gap":
		form.Set(key+"-on", onOff(value != ""))
	case "algo":
		form.Set(strings.TrimSuffix(key, "algo")+"window-on", onOff(value != ""))
	}
	switch f.kind {
	case kindSeconds:
		form.Set(key, orEmpty(value, seconds))
	case kindLength:
		if value == endOfDay {
			form.Set(key, "")
			form.Set(unitField(key), endOfDay)
			return
		}
		putLength(form, key, value)
	case kindCount, kindChoice, kindSwitch:
		form.Set(key, value)
	}
}

func orEmpty(canonical string, show func(int64) string) string {
	if canonical == "" {
		return ""
	}
	return show(whole(canonical))
}

// cutAction splits the key of an action's setting at its last hyphen; false for other keys. Names of actions may hold
// hyphens, those of settings do not.
func cutAction(key string) (action, name string, ok bool) {
	i := strings.LastIndexByte(key, '-')
	if i < 0 || strings.HasPrefix(key, "notice-") {
		return "", "", false
	}
	return key[:i], key[i+1:], true
}
