package ui

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// boundsDraft is a form of bounds, read.
type boundsDraft struct {
	form    url.Values
	version int64
	was     values
	want    values
	faults  []faultView
	impact  impactView
	reason  string
}

func (u *UI) boundsPage(c echo.Context) error {
	record, err := u.cfg.Store.Bounds(c.Request().Context())
	if err != nil {
		return err
	}
	b := u.base(c.Request(), "bounds")
	now := boundValues(record.System, record.Bounds)
	d := boundsDraft{form: b.boundsForm(now), version: record.Version, was: now, want: now, impact: impactView{base: b, Head: b.Say("impact_nothing_yet")}}
	v, err := u.boundsView(c, record, d)
	if err != nil {
		return err
	}
	switch saved := c.QueryParam("saved"); {
	case saved == "same":
		v.Banner = &bannerView{Text: v.Say("saved_same")}
	case saved != "" && saved == plain(record.Version):
		v.Banner = &bannerView{Kind: "good", Text: v.Say("bounds_saved", record.Version)}
	}
	return u.render(c.Response(), http.StatusOK, "ops_bounds", v)
}

// boundsView draws the page of what a form says, over what is saved.
func (u *UI) boundsView(c echo.Context, record store.BoundsRecord, d boundsDraft) (boundsView, error) {
	b := u.base(c.Request(), "bounds")
	v := boundsView{
		base: b, opsHead: u.opsHead(c, "bounds", "bounds"), Version: d.version, Was: d.was.packed(), Href: "/ops/bounds",
		publishView: publishView{
			Faults: d.faults, Fault: byField(d.faults), Impact: d.impact, Reason: d.reason, Sure: d.form.Get("sure"),
			SaveLabel: b.Say("bounds_publish", record.Version+1), Dirty: len(changed(d.was, d.want)) + len(d.faults),
		},
	}
	save, err := u.cfg.Store.BoundsSave(c.Request().Context(), record.Version)
	if err != nil {
		return v, err
	}
	v.Badge = u.systemBadge(b, "bounds", record.Version, save)
	v.draw(boundsDrawing{
		base: b, form: d.form, was: d.was, want: d.want, faults: v.Fault, system: record.System, off: v.ReadOnly,
	})
	return v, nil
}

// systemBadge says whether what was saved is with all groups.
func (u *UI) systemBadge(b base, of string, version int64, save store.SystemSave) badgeView {
	if version == 0 {
		return badgeView{Text: b.Say(of + "_shipped")}
	}
	if u.cfg.Sync == nil {
		return badgeView{Text: b.Say(of+"_version", version)}
	}
	job := u.cfg.Sync().Fleet
	if !job.Running && job.Ended.After(save.At) {
		return badgeView{Kind: "good", Icon: "check", Text: b.Say(of+"_live", version)}
	}
	text := b.Say(of+"_publishing", version)
	if job.Running && job.Left > 0 {
		text = b.Say(of+"_publishing_left", version, b.roughly(job.Left))
	}
	return badgeView{Kind: "warn", Icon: "clock", Text: text, Poll: "/ops/" + of + "/state"}
}

// boundsState is the badge alone, for pages that wait.
func (u *UI) boundsState(c echo.Context) error {
	ctx := c.Request().Context()
	record, err := u.cfg.Store.Bounds(ctx)
	if err != nil {
		return err
	}
	save, err := u.cfg.Store.BoundsSave(ctx, record.Version)
	if err != nil {
		return err
	}
	return u.fragment(c.Response(), "ops_bounds/badge", u.systemBadge(u.base(c.Request(), "bounds"), "bounds", record.Version, save))
}

// boundsDraft reads a sent form.
func (u *UI) boundsDraft(c echo.Context, record store.BoundsRecord) (d boundsDraft, err error) {
	var said values
	if d.form, d.version, said, err = sentForm(c); err != nil {
		return d, err
	}
	b := u.base(c.Request(), "bounds")
	d.was = said.keep(boundValues(record.System, record.Bounds))
	b.takeBoundPicks(d.form, d.was)
	read := b.readBounds(d.form, d.was)
	d.want, d.faults = read.values, read.faults
	d.reason = folded(d.form.Get("reason"))
	d.impact = impactView{base: b, Head: b.Say("impact_nothing_yet")}
	return d, nil
}

// saveBounds takes the form: to count what it would do, or to publish it.
func (u *UI) saveBounds(c echo.Context) error {
	record, err := u.cfg.Store.Bounds(c.Request().Context())
	if err != nil {
		return err
	}
	d, err := u.boundsDraft(c, record)
	if err != nil {
		return err
	}
	peek := c.FormValue("op") == "preview"
	switch {
	case len(d.faults) > 0:
		return u.showBounds(c, http.StatusUnprocessableEntity, record, d)
	case d.version != record.Version && !peek:
		return u.boundsOvertaken(c, record, d)
	}
	next := editBounds(record.System, record.Bounds, d.was, d.want)
	if !peek && len(changed(boundValues(record.System, record.Bounds), boundValues(record.System, next))) == 0 {
		return c.Redirect(http.StatusSeeOther, "/ops/bounds?saved=same")
	}
	if err := u.weighBounds(c, &d, next, peek); err != nil {
		return err
	}
	if peek || len(d.faults) > 0 {
		return u.showBounds(c, statusOf(d.faults), record, d)
	}
	return u.publishBounds(c, record, d, next)
}

// statusOf is that of a page with a form: 422 with faults.
func statusOf(faults []faultView) int {
	if len(faults) > 0 {
		return http.StatusUnprocessableEntity
	}
	return http.StatusOK
}

// weighBounds counts what the bounds would do and notes what keeps them from being published.
func (u *UI) weighBounds(c echo.Context, d *boundsDraft, next policy.Bounds, peek bool) error {
	b := u.base(c.Request(), "bounds")
	most := impactWhole
	if peek {
		most = impactPeek
	}
	im, err := u.countImpact(c.Request().Context(), most, func(ctx context.Context, samples int) (store.Impact, error) {
		return u.cfg.Store.PreviewBounds(ctx, next, samples)
	})
	var known *policy.Error
	if errors.As(err, &known) && known.Code == policy.CodeInvalid {
		d.faults = b.boundFaults(known, d.was)
		return nil
	}
	if err != nil {
		return err
	}
	d.impact = u.impactView(b, im)
	if !peek {
		d.faults = b.publishFaults(d.form, d.reason, toConfirm(im))
	}
	return nil
}

// publishFaults are what keeps a change that can be read from being published.
func (b base) publishFaults(form url.Values, reason string, confirm int64) (faults []faultView) {
	if reason == "" {
		faults = append(faults, faultView{"reason", b.Say("enter_reason")})
	} else if fault := b.lineFault(reason, maxReason); fault != "" {
		faults = append(faults, faultView{"reason", fault})
	}
	if !confirmed(form.Get("sure"), form.Get("counted"), confirm) {
		faults = append(faults, faultView{"sure", b.Say("enter_count", thousands(confirm))})
	}
	return faults
}

// showBounds returns the form as it was sent. Nothing is saved.
func (u *UI) showBounds(c echo.Context, status int, record store.BoundsRecord, d boundsDraft) error {
	v, err := u.boundsView(c, record, d)
	if err != nil {
		return err
	}
	if len(d.faults) > 0 {
		v.Title = v.Say("error_title") + v.Title
	}
	return u.render(c.Response(), status, "ops_bounds", v)
}

func (u *UI) publishBounds(c echo.Context, record store.BoundsRecord, d boundsDraft, next policy.Bounds) error {
	actor := u.actor(c, principalOf(c.Request()))
	actor.Reason = d.reason
	saved, _, err := u.cfg.Store.UpdateBounds(c.Request().Context(), actor, store.Exactly(d.version), next)
	var known *policy.Error
	switch {
	case hasCode(err, policy.CodeStale):
		return u.boundsOvertaken(c, saved, d)
	case errors.As(err, &known) && known.Code == policy.CodeInvalid:
		d.faults = u.base(c.Request(), "bounds").boundFaults(known, d.was)
		return u.showBounds(c, http.StatusUnprocessableEntity, record, d)
	case err != nil:
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/ops/bounds?saved="+plain(saved.Version))
}

// previewBounds is what the form as it stands would do, as a fragment.
func (u *UI) previewBounds(c echo.Context) error {
	record, err := u.cfg.Store.Bounds(c.Request().Context())
	if err != nil {
		return err
	}
	d, err := u.boundsDraft(c, record)
	if err != nil {
		return err
	}
	if len(d.faults) == 0 && len(changed(d.was, d.want)) > 0 {
		err = u.weighBounds(c, &d, editBounds(record.System, record.Bounds, d.was, d.want), true)
		if err != nil {
			return err
		}
	}
	if len(d.faults) > 0 {
		d.impact.Head = d.faults[0].Text
	}
	d.impact.OOB = true
	return u.fragment(c.Response(), "ops_bounds/impact", d.impact)
}
