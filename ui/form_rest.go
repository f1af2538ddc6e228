package ui

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/pacekeeper/pacekeeper/policy"
)

// The repeated fields of the ladder: the values of one step stand at the same place of each.
const (
	rungAfter = "rung-after"
	rungDo    = "rung-do"
	rungFor   = "rung-for"
)

// ladderText is the canonical text of a ladder: 3m60000,4m300000,6r.
func ladderText(steps []policy.Step) string {
	texts := make([]string, 0, len(steps))
	for _, s := range steps {
		text := strconv.FormatInt(s.After, 10) + string(s.Do[0])
		switch s.Do {
		case policy.Mute:
			text += strconv.FormatInt(s.ForMS, 10)
		case policy.Remove:
			text = strconv.FormatInt(s.After, 10) + "x"
		case policy.Review:
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ",")
}

// ladderOf reads the canonical text back; what is none is an empty ladder.
func ladderOf(text string) []policy.Step {
	steps := []policy.Step{}
	for part := range strings.SplitSeq(text, ",") {
		at := strings.IndexAny(part, "mrx")
		if at < 1 {
			continue
		}
		step := policy.Step{After: whole(part[:at]), Do: policy.Review}
		switch part[at] {
		case 'm':
			step.Do, step.ForMS = policy.Mute, whole(part[at+1:])
		case 'x':
			step.Do = policy.Remove
		}
		steps = append(steps, step)
	}
	return steps
}

// putLadder fills the fields of the ladder.
func putLadder(form url.Values, canonical string) {
	for _, name := range []string{rungAfter, rungDo, rungFor, unitField(rungFor)} {
		form.Del(name)
	}
	for _, s := range ladderOf(canonical) {
		forMS, do := int64(60_000), string(s.Do)
		if s.Do == policy.Mute {
			forMS = s.ForMS
		}
		u := bestUnit(forMS)
		form.Add(rungAfter, strconv.FormatInt(s.After, 10))
		form.Add(rungDo, do)
		form.Add(rungFor, seconds(forMS*1000/u.ms))
		form.Add(unitField(rungFor), u.code)
	}
}

// at is the value at a place of a repeated field, "" beyond its end.
func at(form url.Values, name string, i int) string {
	if all := form[name]; i < len(all) {
		return strings.TrimSpace(all[i])
	}
	return ""
}

// ladder reads the steps, which must be in the order of their counts.
func (r *formReader) ladder() {
	steps, before, faults := []policy.Step{}, int64(1), len(r.faults)
	for i := range r.form[rungAfter] {
		step, id := policy.Step{Do: policy.Penalty(at(r.form, rungDo, i))}, rungID(i)
		after, ok := count(at(r.form, rungAfter, i))
		switch {
		case !ok || after > policy.MaxStrikes:
			r.fault(id, "enter_strikes", policy.MaxStrikes)
		case after <= before && i == 0:
			r.fault(id, "first_step")
		case after <= before:
			r.fault(id, "step_order", i+2, i+1, before+1)
		default:
			step.After, before = after, after
		}
		step.ForMS = r.rungLength(i, step.Do)
		steps = append(steps, step)
	}
	if len(r.faults) == faults {
		r.values[keyLadder] = ladderText(steps)
	}
}

func (r *formReader) rungLength(i int, do policy.Penalty) int64 {
	switch do {
	case policy.Review, policy.Remove:
		return 0
	case policy.Mute:
	default:
		r.fault(rungID(i), "refused_choice")
		return 0
	}
	ms, ok := length(at(r.form, rungFor, i), at(r.form, unitField(rungFor), i))
	if !ok {
		r.fault(rungID(i)+"-for", "enter_mute", i+2)
	}
	return ms
}

// rungID is the id of a step's first field.
func rungID(i int) string { return fmt.Sprintf("rung-%d", i) }

// rolesText is the canonical text of exempt roles: sorted, owner among them, separated by spaces.
func rolesText(roles []string) string {
	all := append([]string{policy.RoleOwner}, roles...)
	slices.Sort(all)
	return strings.Join(slices.Compact(all), " ")
}

// noticeField is one text that members may see.
type noticeField struct{ lang, name string }

func noticeFields() []noticeField {
	return []noticeField{
		{policy.English, policy.NoticeTooSoon},
		{policy.Chinese, policy.NoticeTooSoon},
		{policy.English, policy.NoticeTooMany},
		{policy.Chinese, policy.NoticeTooMany},
	}
}

func (n noticeField) key() string { return "notice-" + n.lang + "-" + n.name }

// maxNotice is the longest notice, in characters.
const maxNotice = 160

// editNotices states the touched texts; an empty one follows the defaults again.
func editNotices(d policy.Document, touched map[string]bool, to values) policy.Document {
	all := map[string]map[string]string{}
	for lang, texts := range d.Notices {
		all[lang] = maps.Clone(texts)
	}
	for _, n := range noticeFields() {
		switch {
		case !touched[n.key()]:
		case to[n.key()] == "":
			delete(all[n.lang], n.name)
		default:
			if all[n.lang] == nil {
				all[n.lang] = map[string]string{}
			}
			all[n.lang][n.name] = to[n.key()]
		}
	}
	d.Notices = all
	return d
}
