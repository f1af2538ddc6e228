package ui

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/pacekeeper/pacekeeper/policy"
)

// values are the settings of a document as the pages compare them: canonical text by key, "" for none. The keys of an
// action's settings are <action>-<name> (actionFields), the others are below. A key that is absent was not on the form.
type values map[string]string

// The keys of what does not belong to an action; notices have keys of their own (noticeKey).
const (
	keyLadder  = "ladder"
	keyForgive = "forgive"
	keyRoles   = "roles"
	keyZone    = "zone"
)

// requested are the settings that a document asks for, the defaults' where it is silent.
func requested(s *policy.System, d policy.Document) values {
	full, v := overlaid(s, d), values{}
	for name, a := range full.Actions {
		for _, f := range actionFields() {
			v[actionKey(name, f.name)] = f.get(a)
		}
	}
	v[keyLadder] = ladderText(full.Penalties.Ladder.Value)
	v[keyForgive] = number(full.Penalties.ForgiveOneEveryMS.Value)
	v[keyRoles] = rolesText(full.ExemptRoles.Value)
	v[keyZone] = full.TimeZone.Value
	for _, n := range noticeFields() {
		v[n.key()] = d.Notices[n.lang][n.name]
	}
	return v
}

// overlaid states every setting: the document's own as requested, the rest as the defaults have it in force.
func overlaid(s *policy.System, d policy.Document) policy.Document {
	full := s.DefaultsEffective().Document()
	for name, own := range d.Actions {
		if base, ok := full.Actions[name]; ok {
			full.Actions[name] = overlaidAction(base, own)
		}
	}
	over(&full.TimeZone, d.TimeZone)
	over(&full.ExemptRoles, d.ExemptRoles)
	over(&full.Penalties.Ladder, d.Penalties.Ladder)
	over(&full.Penalties.ForgiveOneEveryMS, d.Penalties.ForgiveOneEveryMS)
	return full
}

func overlaidAction(base, own policy.ActionDocument) policy.ActionDocument {
	over(&base.Enabled, own.Enabled)
	over(&base.Mode, own.Mode)
	over(&base.MinIntervalMS, own.MinIntervalMS)
	over(&base.Window, own.Window)
	over(&base.Ban, own.Ban)
	over(&base.OnFailure, own.OnFailure)
	over(&base.Group, own.Group)
	return base
}

func over[T any](base *policy.Setting[T], own policy.Setting[T]) {
	if own.Set {
		*base = own
	}
}

// changed are the keys that differ between two sets of values, of those that both have, sorted.
func changed(from, to values) []string {
	var keys []string
	for _, key := range slices.Sorted(maps.Keys(to)) {
		if before, ok := from[key]; ok && before != to[key] {
			keys = append(keys, key)
		}
	}
	return keys
}

// rebase applies what a person did between from and to onto current: his choices where he made one.
func rebase(from, to, current values) values {
	merged := maps.Clone(current)
	for _, key := range changed(from, to) {
		merged[key] = to[key]
	}
	return merged
}

// edit states in d what differs between two sets of values, and nothing else: the rest keeps following the defaults.
func edit(s *policy.System, d policy.Document, from, to values) policy.Document {
	keys := changed(from, to)
	touched := map[string]bool{}
	for _, key := range keys {
		touched[key] = true
	}
	d.Actions = maps.Clone(d.Actions)
	for _, name := range s.ActionNames() {
		d = editAction(d, name, touched, to)
	}
	if touched[keyLadder] {
		d.Penalties.Ladder = policy.State(ladderOf(to[keyLadder]))
	}
	if touched[keyForgive] {
		d.Penalties.ForgiveOneEveryMS = policy.State(whole(to[keyForgive]))
	}
	if touched[keyRoles] {
		d.ExemptRoles = policy.State(strings.Fields(to[keyRoles]))
	}
	if touched[keyZone] {
		d.TimeZone = policy.State(to[keyZone])
	}
	return editNotices(d, touched, to)
}

// packed is a set of values as one hidden input holds it, without those that are none; unpacked reads such inputs back,
// false where they are nothing of that kind.
func (v values) packed() string {
	form := url.Values{}
	for key, value := range v {
		if value != "" {
			form.Set(key, value)
		}
	}
	return strings.ReplaceAll(form.Encode(), "&", ";") // an & takes five bytes in HTML
}

func unpacked(texts []string) (values, bool) {
	form, err := url.ParseQuery(strings.ReplaceAll(strings.Join(texts, ";"), ";", "&"))
	if err != nil || len(form) == 0 {
		return nil, false
	}
	v := values{}
	for key := range form {
		v[key] = form.Get(key)
	}
	return v, true
}

// keep returns the values of the keys that another set has; those that v lacks are none.
func (v values) keep(of values) values {
	kept := values{}
	for key := range of {
		kept[key] = v[key]
	}
	return kept
}

// number is the canonical text of a number; 0 is none.
func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// whole reads a canonical text back; 0 for none.
func whole(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
