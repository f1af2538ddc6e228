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

// boundsOvertaken answers a save that starts from an older version: the same save sent twice ends like the first, others
// with a choice.
func (u *UI) boundsOvertaken(c echo.Context, current store.BoundsRecord, d boundsDraft) error {
	save, err := u.cfg.Store.BoundsSave(c.Request().Context(), current.Version)
	if err != nil {
		return err
	}
	if len(changed(boundValues(current.System, current.Bounds), d.want)) == 0 && save.Actor == principalOf(c.Request()).Name {
		return c.Redirect(http.StatusSeeOther, "/ops/bounds?saved="+plain(current.Version))
	}
	return u.boundsConflict(c, current, d, save)
}

// boundsConflict returns the form on top of the newer version: the visitor's choices where he made one, the saved ones
// elsewhere, and a choice for each setting that both want differently.
func (u *UI) boundsConflict(c echo.Context, current store.BoundsRecord, d boundsDraft, save store.SystemSave) error {
	b := u.base(c.Request(), "bounds")
	theirs := boundValues(current.System, current.Bounds)
	merged := rebase(d.was, d.want, theirs)
	shown := boundsDraft{
		form: b.boundsForm(merged), version: current.Version, was: theirs, want: merged, reason: d.reason,
		impact: impactView{base: b, Head: b.Say("impact_nothing_yet")},
	}
	v, err := u.boundsView(c, current, shown)
	if err != nil {
		return err
	}
	v.Conflict = b.systemConflict(save, current.Version)
	v.Conflict.Rows = b.boundsConflictRows(current.System, d.was, d.want, theirs)
	v.Badge = badgeView{Kind: "bad", Icon: "warn", Text: b.Say("conflict_badge", current.Version, d.version)}
	return u.render(c.Response(), http.StatusPreconditionFailed, "ops_bounds", v)
}

// systemConflict says who was faster.
func (b base) systemConflict(save store.SystemSave, version int64) *conflictView {
	return &conflictView{
		Head: b.Say("conflict_head", b.person(save.Actor), version), Author: b.person(save.Actor),
		SaveAs: b.Say("publish_as", version+1), Discard: b.Say("discard", version),
	}
}

// boundsConflictRows are the settings that either side changed, unless both did the same.
func (b base) boundsConflictRows(s *policy.System, was, yours, theirs values) []conflictRow {
	var rows []conflictRow
	for _, key := range boundKeys(s, was) {
		before, mine := was[key], yours[key]
		if _, sent := yours[key]; !sent || mine == theirs[key] {
			continue
		}
		row := conflictRow{
			Key: key, Label: b.boundName(key), Mine: mine, Theirs: theirs[key], KeepTheirs: mine == before,
			Was: b.boundText(key, before), TheirsText: b.boundText(key, theirs[key]), YoursText: b.boundText(key, mine),
		}
		row.MineFields = url.Values{key: {b.boundShown(key, mine)}}.Encode()
		row.TheirsFields = url.Values{key: {b.boundShown(key, theirs[key])}}.Encode()
		row.Preset = mine
		if row.KeepTheirs {
			row.Preset = theirs[key]
		}
		rows = append(rows, row)
	}
	return rows
}

// boundKeys are the keys of all settings in the order of the page.
func boundKeys(s *policy.System, v values) []string {
	actions := boundActions(s)
	place := func(key string) int {
		action, _, _ := strings.Cut(key, ".")
		if i := slices.Index(actions, action); i >= 0 {
			return i
		}
		return len(actions)
	}
	keys := make([]string, 0, len(v))
	for key := range v {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if p, q := place(a), place(b); p != q {
			return p - q
		}
		return strings.Compare(a, b)
	})
	return keys
}

// takeBoundPicks puts what was chosen on the conflict page into the form's own fields. A choice that stands as it came
// says nothing: the field below may have been edited since.
func (b base) takeBoundPicks(form url.Values, was values) {
	for name := range form {
		key, ok := strings.CutPrefix(name, pickPrefix)
		if _, known := was[key]; ok && known && form.Get(name) != form.Get(presetPrefix+key) {
			form.Set(key, b.boundShown(key, form.Get(name)))
		}
	}
}
