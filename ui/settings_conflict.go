package ui

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// conflictView tells what a colleague saved meanwhile, beside what the visitor wants, with a choice for each setting
// that differs. Nothing is lost.
type conflictView struct {
	Head, Author, SaveAs, Discard string
	Rows                          []conflictRow
}

// conflictRow is one setting. Mine and Theirs are its canonical values, which the choice sends.
type conflictRow struct {
	Key, Label, Was, TheirsText, YoursText string
	Mine, Theirs                           string
	MineFields, TheirsFields               string // the same as the fields of the form
	Preset                                 string // what is chosen when the page comes: the one of the two
	KeepTheirs                             bool
}

// The fields of a choice between two values.
const (
	pickPrefix   = "pick-"
	presetPrefix = "preset-"
)

// takePicks puts what was chosen on the conflict page into the form's own fields. A choice that stands as it came says
// nothing: the field below may have been edited since.
func takePicks(form url.Values, was values) {
	for name := range form {
		key, ok := strings.CutPrefix(name, pickPrefix)
		if _, known := was[key]; ok && known && form.Get(name) != form.Get(presetPrefix+key) {
			was.put(form, key, form.Get(name))
		}
	}
}

// overtaken answers a save that starts from an older version: the same save sent twice ends like the first, others with
// a choice.
func (u *UI) overtaken(c echo.Context, current store.PolicyRecord, d draft) error {
	if d.says(current) {
		version, err := u.cfg.Store.Version(c.Request().Context(), current.Group.ID, current.Version)
		if err == nil && isOwn(version, principalOf(c.Request())) {
			return c.Redirect(http.StatusSeeOther, groupPath(current.Group.ID)+"?saved="+plain(current.Version))
		}
	}
	return u.showConflict(c, current, d)
}

// says reports whether the form asks for what is saved, in all that it holds.
func (d draft) says(current store.PolicyRecord) bool {
	return len(changed(requested(current.System, current.Document), d.want)) == 0
}

// isOwn reports whether a version is a save of the visitor's own by these pages.
func isOwn(v store.Version, p store.Principal) bool {
	return v.Actor == p.Name && v.Role == p.Role && v.Channel == store.ChannelUI
}

// showConflict returns the form on top of the newer version: the visitor's choices where he made one, the saved ones
// elsewhere.
func (u *UI) showConflict(c echo.Context, current store.PolicyRecord, d draft) error {
	b := u.base(c.Request(), "pace")
	theirs := requested(current.System, current.Document)
	merged := rebase(d.was, d.want, theirs)
	acts := d.form["acts"]
	shown := draft{form: merged.fields(), version: current.Version, was: theirs, want: merged, reason: d.reason}
	shown.form["acts"] = acts
	view, err := u.settingsView(c, current, shown)
	if err != nil {
		return err
	}
	author := ""
	if version, err := u.cfg.Store.Version(c.Request().Context(), current.Group.ID, current.Version); err == nil {
		author = b.person(version.Actor)
	}
	view.Conflict = &conflictView{
		Head: b.Say("conflict_head", author, current.Version), Author: author,
		SaveAs: b.Say("save_as", current.Version+1), Discard: b.Say("discard", current.Version),
		Rows: b.conflictRows(current.System, d.was, d.want, theirs),
	}
	view.Banner, view.SayHead, view.SaveLabel = nil, b.Say("in_plain_words_yours"), view.Conflict.SaveAs
	view.Badge = badgeView{Kind: "bad", Icon: "warn", Text: b.Say("conflict_badge", current.Version, d.version)}
	return u.render(c.Response(), http.StatusPreconditionFailed, "group", view)
}

// conflictRows are the settings that either side changed, unless both did the same.
func (b base) conflictRows(s *policy.System, was, yours, theirs values) []conflictRow {
	var rows []conflictRow
	for _, key := range orderedKeys(s) {
		before, known := was[key]
		mine, sent := yours[key]
		if !known || !sent || mine == theirs[key] || b.pointless(key, was, yours) {
			continue
		}
		row := conflictRow{
			Key: key, Label: b.settingName(key), Mine: mine, Theirs: theirs[key], KeepTheirs: mine == before,
			Was: b.settingText(key, before), TheirsText: b.settingText(key, theirs[key]), YoursText: b.settingText(key, mine),
		}
		row.MineFields, row.TheirsFields = fieldsOf(key, mine), fieldsOf(key, theirs[key])
		row.Preset = mine
		if row.KeepTheirs {
			row.Preset = theirs[key]
		}
		rows = append(rows, row)
	}
	return rows
}

// fieldsOf are the fields of one setting, as a query.
func fieldsOf(key, value string) string {
	form := url.Values{}
	values{}.put(form, key, value)
	return form.Encode()
}

// pointless says that neither side sets the value: parts of a window that is off on both.
func (b base) pointless(key string, was, yours values) bool {
	return was[key] == "" && yours[key] == ""
}

// orderedKeys are the keys of all settings in the order of the page.
func orderedKeys(s *policy.System) []string {
	var keys []string
	for _, action := range orderedActions(s) {
		for _, f := range actionFields() {
			keys = append(keys, actionKey(action, f.name))
		}
	}
	keys = append(keys, keyLadder, keyForgive, keyRoles)
	for _, n := range noticeFields() {
		keys = append(keys, n.key())
	}
	return append(keys, keyZone)
}

// settingName is what a setting is called outside of its place on the page.
func (b base) settingName(key string) string {
	switch key {
	case keyLadder, keyForgive, keyRoles, keyZone:
		return b.Say("name_" + key)
	}
	for _, n := range noticeFields() {
		if n.key() == key {
			return b.Say("notice_" + n.lang + "_" + n.name)
		}
	}
	action, name, _ := cutAction(key)
	for _, f := range actionFields() {
		if f.name == name {
			return b.Say("name_of_action", b.actionName(action), b.Say(f.label))
		}
	}
	return key
}

// settingText is a value as people read it.
func (b base) settingText(key, value string) string {
	if value == "" {
		return b.Say("none")
	}
	switch key {
	case keyLadder:
		return b.ladderWords(ladderOf(value))
	case keyForgive:
		return policy.DurationText(whole(value), b.Lang)
	case keyRoles:
		return b.roleWords(strings.Fields(value))
	}
	_, name, _ := cutAction(key)
	i := slices.IndexFunc(actionFields(), func(f actionField) bool { return f.name == name })
	if i < 0 {
		return value
	}
	switch f := actionFields()[i]; f.kind {
	case kindSeconds, kindLength:
		if value == endOfDay {
			return b.Say("until_end_of_day")
		}
		return policy.DurationText(whole(value), b.Lang)
	case kindChoice:
		return b.Say(f.name + "_" + value)
	case kindSwitch:
		return b.Say("switch_on")
	case kindCount:
	}
	return value
}

func (b base) ladderWords(steps []policy.Step) string {
	words := make([]string, 0, len(steps))
	for _, s := range steps {
		what := b.Say("do_" + string(s.Do))
		if s.Do == policy.Mute {
			what = b.Say("mute_for", policy.DurationText(s.ForMS, b.Lang))
		}
		words = append(words, b.Say("step_words", s.After, what))
	}
	return strings.Join(words, b.Say("semicolon"))
}

func (b base) roleWords(roles []string) string {
	words := make([]string, 0, len(roles))
	for _, role := range roles {
		words = append(words, policy.RoleText(role, b.Lang))
	}
	return strings.Join(words, b.Say("comma"))
}
