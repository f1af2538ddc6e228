package ui

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pacekeeper/pacekeeper/policy"
)

// rungView is one step of the ladder as the form holds it.
type rungView struct {
	Words             base
	Index             int
	ID, Place         string // Place is the step's number for people: the notice is step 1
	After, For        string
	Do, Units         []optionView
	Note, Kind, Class string // of the whole step
	ForWrong          bool   // the note is about the length
	Off               bool
}

// roleView is one role that may be exempt. Fixed roles always are.
type roleView struct {
	ID, Value, Text string
	On, Fixed, Off  bool
}

// noticeView is one text that members see instead of the system's own.
type noticeView struct {
	ID, Label, Lang, Value, Own, Note string
	Off                               bool
}

// rungs are the steps as typed.
func (d drawing) rungs() []rungView {
	views := make([]rungView, 0, len(d.form[rungAfter]))
	for i := range d.form[rungAfter] {
		id, do := rungID(i), at(d.form, rungDo, i)
		v := rungView{
			Words: d.base, Index: i, ID: id, Place: strconv.Itoa(i + 2), After: at(d.form, rungAfter, i), For: at(d.form, rungFor, i),
			Units: d.units(at(d.form, unitField(rungFor), i)), Off: d.off, Class: "do-" + do,
		}
		for _, p := range []policy.Penalty{policy.Mute, policy.Review, policy.Remove} {
			v.Do = append(v.Do, optionView{string(p), d.Say("do_" + string(p)), string(p) == do})
		}
		v.Note, v.Kind = d.noted(id)
		if v.Note == "" {
			v.Note, v.Kind = d.noted(id+"-for", "/penalties/ladder/"+strconv.Itoa(i)+"/for_ms")
			v.ForWrong = v.Kind == "error"
		}
		views = append(views, v)
	}
	return views
}

// muteHint says how long mutes may be.
func (d drawing) muteHint() string {
	within := d.system.Bounds.MuteMS
	return d.Say("ladder_hint", policy.DurationText(within.Min, d.Lang), policy.DurationText(within.Max, d.Lang))
}

// roles are those that a group may exempt, and those that it does.
func (d drawing) roles() []roleView {
	stated := d.form["role"]
	names := slices.DeleteFunc(slices.Clone(d.system.Roles()), func(role string) bool {
		return role == policy.RoleMember && !slices.Contains(stated, role)
	})
	for _, role := range stated {
		if !slices.Contains(names, role) {
			names = append(names, role)
		}
	}
	views := make([]roleView, 0, len(names))
	for _, role := range names {
		text := policy.RoleText(role, d.Lang)
		views = append(views, roleView{
			ID: "role-" + role, Value: role, Text: strings.ToUpper(text[:1]) + text[1:], Off: d.off || role == policy.RoleOwner,
			On: role == policy.RoleOwner || slices.Contains(stated, role), Fixed: role == policy.RoleOwner,
		})
	}
	return views
}

// notices are the texts, the first refusal's first.
func (d drawing) notices() []noticeView {
	views := make([]noticeView, 0, len(noticeFields()))
	for _, n := range noticeFields() {
		v := noticeView{
			ID: n.key(), Label: d.Say("notice_" + n.lang + "_" + n.name), Lang: htmlLang(n.lang), Value: d.form.Get(n.key()), Off: d.off,
		}
		v.Own = d.preset.Notices[n.lang][n.name]
		if v.Own == "" {
			v.Own = policy.SystemNotice(n.lang, n.name)
		}
		v.Note, _ = d.noted(n.key())
		views = append(views, v)
	}
	return views
}

// zone is the group's time zone, for days.
func (d drawing) zone() inputView {
	return d.input(keyZone, keyZone, d.Say("zone_hint"), "/time_zone")
}
