package ui

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
)

// boundsReader turns a sent form into the settings of bounds. What cannot be read is a fault, and has no value.
type boundsReader struct {
	base
	form   url.Values
	values values
	faults []faultView
}

// readBounds reads every setting that the form was opened with.
func (b base) readBounds(form url.Values, was values) *boundsReader {
	r := &boundsReader{base: b, form: form, values: values{}}
	for key := range was {
		r.read(key)
	}
	for key := range was {
		if name, ok := strings.CutSuffix(key, lowest); ok {
			r.order(name)
		}
	}
	slices.SortFunc(r.faults, func(a, b faultView) int { return strings.Compare(a.Field, b.Field) })
	return r
}

func (r *boundsReader) read(key string) {
	text := strings.TrimSpace(r.form.Get(key))
	k, optional := boundKind(key)
	if text == "" && optional {
		r.values[key] = ""
		return
	}
	switch k {
	case kindSwitch:
		r.values[key] = switchOn
	case kindChoice:
		r.values[key] = strings.Join(strings.Fields(text), " ")
	case kindLength, kindSeconds:
		ms, ok := lengthOf(text)
		if !ok {
			r.fault(key, "enter_length", r.boundName(key))
			return
		}
		r.values[key] = number(ms)
	case kindCount:
		n, ok := count(text)
		if !ok {
			r.fault(key, "enter_whole", r.boundName(key))
			return
		}
		r.values[key] = number(n)
	}
}

// order holds both ends of a range against each other.
func (r *boundsReader) order(name string) {
	low, hasLow := r.values[name+lowest]
	high, hasHigh := r.values[name+highest]
	switch {
	case !hasLow || !hasHigh:
	case (low == "") != (high == ""):
		r.fault(name+lowest, "bound_both", r.boundName(name))
	case whole(low) > whole(high):
		r.fault(name+lowest, "bound_order", r.boundName(name))
	}
}

// fault notes what is wrong with a field, in words of the catalogue.
func (r *boundsReader) fault(id, key string, args ...any) {
	r.faults = append(r.faults, faultView{id, r.Say(key, args...)})
}

// boundName is what a setting of the bounds is called, with its end of the range where the key names one.
func (b base) boundName(key string) string {
	if name, ok := strings.CutSuffix(key, lowest); ok {
		return b.Say("bound_lowest", b.boundName(name))
	}
	if name, ok := strings.CutSuffix(key, highest); ok {
		return b.Say("bound_highest", b.boundName(name))
	}
	switch key {
	case boundMute, boundForgive, boundSteps, boundExemptions, boundRoles:
		return b.Say("bound_" + strings.ReplaceAll(key, "-", "_"))
	}
	action, name, _ := strings.Cut(key, ".")
	name, word, _ := strings.Cut(name, ".")
	switch name {
	case "algo":
		return b.Say("bound_allows", b.boundAction(action), b.Say("algo_"+word))
	case "off":
		return b.Say("bound_allows", b.boundAction(action), b.Say("off_"+word))
	case "by":
		return b.Say("name_of_action", b.boundAction(action), b.Say("bound_by"))
	}
	for _, f := range boundFields() {
		if f.name == name {
			return b.Say("name_of_action", b.boundAction(action), b.Say(f.label))
		}
	}
	return key
}

func (b base) boundAction(action string) string {
	if action == anyAction {
		return b.Say("all_other_actions")
	}
	return b.actionName(action)
}

// boundText is a value as people read it.
func (b base) boundText(key, value string) string {
	switch k, _ := boundKind(key); {
	case k == kindSwitch && value != "":
		return b.Say("switch_on")
	case value == "":
		return b.Say("none")
	case strings.HasSuffix(key, ".by"):
		return b.Say("by_" + value)
	}
	return b.boundShown(key, value)
}

// boundFaults are what the policy refuses of bounds, at the fields that they belong to.
func (b base) boundFaults(fault *policy.Error, was values) []faultView {
	faults := make([]faultView, 0, len(fault.Fields))
	for _, refused := range fault.Fields {
		key := boundKeyAt(refused.Pointer, was)
		if key == "" {
			faults = append(faults, faultView{"", b.refusal(refused)})
			continue
		}
		faults = append(faults, faultView{key, b.Say("bound_outside", b.boundName(key))})
	}
	return faults
}

// boundKeyAt is the key of the setting that a pointer into bounds names; "" for none.
func boundKeyAt(pointer string, known values) string {
	pointer = strings.TrimPrefix(pointer, "/")
	for path, key := range map[string]string{
		"mute_ms": boundMute, "forgive_one_every_ms": boundForgive, "ladder_steps_max": boundSteps, "exemptions_max": boundExemptions,
		"roles": boundRoles,
	} {
		if pointer == path || strings.HasPrefix(pointer, path+"/") {
			return firstKnown(known, key+"."+strings.TrimPrefix(pointer, path+"/"), key+lowest, key)
		}
	}
	steps := strings.Split(pointer, "/")
	if len(steps) < 3 || steps[0] != "actions" {
		return ""
	}
	end := steps[len(steps)-1]
	switch steps[2] {
	case "algorithms":
		return firstKnown(known, steps[1]+".algo."+string(policy.SlidingWindow))
	case "may_disable":
		return firstKnown(known, steps[1]+".off."+policy.SwitchInterval)
	case "edited_by":
		return firstKnown(known, steps[1]+".by")
	}
	for _, f := range boundFields() {
		if f.pointer == steps[2] {
			key := steps[1] + "." + f.name
			return firstKnown(known, key+"."+end, key+lowest)
		}
	}
	return ""
}

func firstKnown(known values, keys ...string) string {
	for _, key := range keys {
		if _, ok := known[key]; ok {
			return key
		}
	}
	return ""
}

// sentForm reads a form of bounds or defaults: its fields, the version that it was opened at, and what it showed then.
func sentForm(c echo.Context) (form url.Values, version int64, was values, err error) {
	if form, err = c.FormParams(); err != nil {
		return form, 0, nil, policy.Errorf(policy.CodeMalformed, "the form cannot be read")
	}
	version, err = strconv.ParseInt(form.Get("version"), 10, 64)
	if err != nil || version < 0 {
		return form, 0, nil, policy.Errorf(policy.CodeMalformed, "the form names no version")
	}
	was, ok := unpacked(form["was"])
	if !ok {
		return form, version, nil, policy.Errorf(policy.CodeMalformed, "the form does not say what it was opened with")
	}
	return form, version, was, nil
}
