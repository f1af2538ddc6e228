package ui

import (
	"context"
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// defaultsView is the system's own document: the form of a group's settings, over what was shipped, with what a change
// would do to all groups.
type defaultsView struct {
	settingsView
	opsHead
	Fault  faulted
	Impact impactView
	Sure   string
}

// defaultsRecord is the system's own document as the form of a group's settings takes it: what it does not state comes
// from what was shipped.
func (u *UI) defaultsRecord(ctx context.Context) (store.PolicyRecord, error) {
	record, err := u.cfg.Store.Defaults(ctx)
	if err != nil {
		return store.PolicyRecord{}, err
	}
	return overShipped(record)
}

func overShipped(record store.DefaultsRecord) (store.PolicyRecord, error) {
	cfg := record.System.SystemConfig
	cfg.Defaults = policy.ShippedDefaults()
	under, err := policy.NewSystem(cfg)
	return store.PolicyRecord{Version: record.Version, Document: record.Document, System: under}, err
}

func (u *UI) defaultsPage(c echo.Context) error {
	record, err := u.defaultsRecord(c.Request().Context())
	if err != nil {
		return err
	}
	d := untouched(record)
	copyParams(d.form, c, "of", "pattern", "open")
	b := u.base(c.Request(), "defaults")
	v, err := u.defaultsView(c, record, d, impactView{base: b, Head: b.Say("impact_nothing_yet")})
	if err != nil {
		return err
	}
	switch saved := c.QueryParam("saved"); {
	case saved == "same":
		v.Banner = &bannerView{Text: v.Say("saved_same")}
	case saved != "" && saved == plain(record.Version):
		v.Banner = &bannerView{Kind: "good", Text: v.Say("defaults_saved", record.Version)}
	}
	return u.render(c.Response(), http.StatusOK, "ops_defaults", v)
}

// defaultsView draws the page of what a form says, over what is saved.
func (u *UI) defaultsView(c echo.Context, record store.PolicyRecord, d draft, impact impactView) (defaultsView, error) {
	b := u.base(c.Request(), "defaults")
	v := defaultsView{
		settingsView: settingsView{
			base: b, Version: d.version, SayHead: b.Say("in_plain_words"), Faults: d.faults, Reason: d.reason,
			SaveLabel: b.Say("defaults_publish", record.Version+1), Dirty: len(changed(d.was, d.want)) + len(d.faults),
		},
		opsHead: u.opsHead(c, "defaults", "defaults"), Fault: byField(d.faults), Impact: impact, Sure: d.form.Get("sure"),
	}
	v.Href = "/ops/defaults"
	save, err := u.cfg.Store.DefaultsSave(c.Request().Context(), record.Version)
	if err != nil {
		return v, err
	}
	v.Badge = u.systemBadge(b, "defaults", record.Version, save)
	d.form.Set("edit", "all")
	drawn, _ := drawingOf(b, record, d)
	drawn.off = v.ReadOnly
	v.draw(drawn, d.was, principalOf(c.Request()), record)
	v.Was = d.was.general().packed()
	return v, nil
}

// defaultsDraft reads a sent form.
func (u *UI) defaultsDraft(c echo.Context, record store.PolicyRecord) (d draft, err error) {
	var said values
	if d.form, d.version, said, err = sentForm(c); err != nil {
		return d, err
	}
	d.was = said.keep(onForm(requested(record.System, record.Document), d.form["acts"]))
	takePicks(d.form, d.was)
	read := readForm(u.base(c.Request(), "defaults"), d.form, record.System, d.was)
	d.want, d.faults = read.values, read.faults
	d.reason = folded(d.form.Get("reason"))
	return d, nil
}

// stated is the document that a form asks for.
func (d draft) stated(record store.PolicyRecord) policy.Document {
	now := requested(record.System, record.Document)
	return edit(record.System, record.Document, now, rebase(d.was, d.want, now))
}

// saveDefaults takes the form: to count what it would do, to draw it again with a step more or less, or to publish it.
func (u *UI) saveDefaults(c echo.Context) error {
	record, err := u.defaultsRecord(c.Request().Context())
	if err != nil {
		return err
	}
	d, err := u.defaultsDraft(c, record)
	if err != nil {
		return err
	}
	b := u.base(c.Request(), "defaults")
	quiet := impactView{base: b, Head: b.Say("impact_nothing_yet")}
	op := c.FormValue("op")
	if op != "" && op != "preview" {
		editRungs(d.form, op)
		read := readForm(b, d.form, record.System, d.was)
		d.want, d.faults = read.values, nil
		return u.showDefaults(c, record, d, quiet)
	}
	switch {
	case len(d.faults) > 0:
		return u.showDefaults(c, record, d, quiet)
	case d.version != record.Version && op == "":
		return u.defaultsOvertaken(c, record, d)
	case op == "" && string(d.stated(record).JSON()) == string(record.Document.JSON()):
		return c.Redirect(http.StatusSeeOther, "/ops/defaults?saved=same")
	}
	impact, err := u.weighDefaults(c, &d, record, op == "preview")
	if err != nil {
		return err
	}
	if op == "preview" || len(d.faults) > 0 {
		return u.showDefaults(c, record, d, impact)
	}
	return u.publishDefaults(c, record, d)
}

// weighDefaults counts what the defaults would do and notes what keeps them from being published.
func (u *UI) weighDefaults(c echo.Context, d *draft, record store.PolicyRecord, peek bool) (impactView, error) {
	b, most := u.base(c.Request(), "defaults"), impactWhole
	if peek {
		most = impactPeek
	}
	next := d.stated(record)
	im, err := u.countImpact(c.Request().Context(), most, func(ctx context.Context, samples int) (store.Impact, error) {
		return u.cfg.Store.PreviewDefaults(ctx, next, samples)
	})
	var known *policy.Error
	if errors.As(err, &known) && known.Code == policy.CodeInvalid {
		d.faults = b.policyFaults(known)
		return impactView{base: b, Head: b.Say("impact_nothing_yet")}, nil
	}
	if err != nil {
		return impactView{}, err
	}
	if !peek {
		d.faults = b.publishFaults(d.form, d.reason, toConfirm(im))
	}
	return u.impactView(b, im), nil
}

// showDefaults returns the form as it was sent. Nothing is saved.
func (u *UI) showDefaults(c echo.Context, record store.PolicyRecord, d draft, impact impactView) error {
	v, err := u.defaultsView(c, record, d, impact)
	if err != nil {
		return err
	}
	if len(d.faults) > 0 {
		v.Title = v.Say("error_title") + v.Title
	}
	return u.render(c.Response(), statusOf(d.faults), "ops_defaults", v)
}

func (u *UI) publishDefaults(c echo.Context, record store.PolicyRecord, d draft) error {
	actor, b := u.actor(c, principalOf(c.Request())), u.base(c.Request(), "defaults")
	actor.Reason = d.reason
	saved, _, err := u.cfg.Store.UpdateDefaults(c.Request().Context(), actor, store.Exactly(d.version), d.stated(record))
	var known *policy.Error
	switch {
	case hasCode(err, policy.CodeStale):
		current, err := overShipped(saved)
		if err != nil {
			return err
		}
		return u.defaultsOvertaken(c, current, d)
	case errors.As(err, &known) && known.Code == policy.CodeInvalid:
		d.faults = b.policyFaults(known)
		return u.showDefaults(c, record, d, impactView{base: b, Head: b.Say("impact_nothing_yet")})
	case err != nil:
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/ops/defaults?saved="+plain(saved.Version))
}
