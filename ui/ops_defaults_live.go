package ui

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/store"
)

// defaultsOvertaken answers a save that starts from an older version: the same save sent twice ends like the first,
// others with the form on top of the newer version and a choice for each setting that both want differently.
func (u *UI) defaultsOvertaken(c echo.Context, current store.PolicyRecord, d draft) error {
	save, err := u.cfg.Store.DefaultsSave(c.Request().Context(), current.Version)
	if err != nil {
		return err
	}
	if d.says(current) && save.Actor == principalOf(c.Request()).Name {
		return c.Redirect(http.StatusSeeOther, "/ops/defaults?saved="+plain(current.Version))
	}
	b := u.base(c.Request(), "defaults")
	theirs := requested(current.System, current.Document)
	merged := rebase(d.was, d.want, theirs)
	shown := draft{form: merged.fields(), version: current.Version, was: theirs, want: merged, reason: d.reason}
	v, err := u.defaultsView(c, current, shown, impactView{base: b, Head: b.Say("impact_nothing_yet")})
	if err != nil {
		return err
	}
	v.Conflict = b.systemConflict(save, current.Version)
	v.Conflict.Rows = b.conflictRows(current.System, d.was, d.want, theirs)
	v.Badge = badgeView{Kind: "bad", Icon: "warn", Text: b.Say("conflict_badge", current.Version, d.version)}
	return u.render(c.Response(), http.StatusPreconditionFailed, "ops_defaults", v)
}

// previewDefaults answers what the page would say of the form as it stands, as the settings page does.
func (u *UI) previewDefaults(c echo.Context) error {
	record, err := u.defaultsRecord(c.Request().Context())
	if err != nil {
		return err
	}
	d, err := u.defaultsDraft(c, record)
	if err != nil {
		return err
	}
	view := settingsView{base: u.base(c.Request(), "defaults"), OOB: true}
	view.Href = "/ops/defaults"
	drawn, _ := drawingOf(view.base, record, d)
	view.draw(drawn, d.was, principalOf(c.Request()), record)
	for _, f := range view.Folds {
		if f.Action == c.QueryParam("fold") { // another algorithm was chosen, which knows other numbers
			f.Open, f.Advanced = true, true
			return u.fragment(c.Response(), "ops_defaults/fold", f)
		}
	}
	return u.fragment(c.Response(), "ops_defaults/live", view)
}

// defaultsImpact is what the form as it stands would do to all groups, as a fragment.
func (u *UI) defaultsImpact(c echo.Context) error {
	record, err := u.defaultsRecord(c.Request().Context())
	if err != nil {
		return err
	}
	d, err := u.defaultsDraft(c, record)
	if err != nil {
		return err
	}
	b := u.base(c.Request(), "defaults")
	impact := impactView{base: b, Head: b.Say("impact_nothing_yet")}
	if len(d.faults) == 0 && len(changed(d.was, d.want)) > 0 {
		if impact, err = u.weighDefaults(c, &d, record, true); err != nil {
			return err
		}
	}
	if len(d.faults) > 0 {
		impact.Head = d.faults[0].Text
	}
	impact.OOB = true
	return u.fragment(c.Response(), "ops_defaults/impact", impact)
}

// defaultsState is the badge alone, for pages that wait.
func (u *UI) defaultsState(c echo.Context) error {
	ctx := c.Request().Context()
	record, err := u.cfg.Store.Defaults(ctx)
	if err != nil {
		return err
	}
	save, err := u.cfg.Store.DefaultsSave(ctx, record.Version)
	if err != nil {
		return err
	}
	return u.fragment(c.Response(), "ops_defaults/badge", u.systemBadge(u.base(c.Request(), "defaults"), "defaults", record.Version, save))
}
