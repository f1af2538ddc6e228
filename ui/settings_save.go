package ui

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// maxReason is the longest reason, in bytes: 500 characters of any language fit.
const maxReason = 500

// saveSettings takes the form: to save it, or to draw it again with a step more or less, or with a new preview.
func (u *UI) saveSettings(c echo.Context) error {
	record, err := u.visible(c)
	if err != nil {
		return err
	}
	d, err := u.draft(c, record)
	if err != nil {
		return err
	}
	op := c.FormValue("op")
	if op != "preview" && !mayEdit(principalOf(c.Request()), record) {
		return policy.Errorf(policy.CodeForbidden, "view only")
	}
	switch {
	case op != "":
		return u.redraw(c, record, d, op)
	case len(d.faults) > 0:
		return u.showFaults(c, record, d)
	case d.version != record.Version:
		return u.overtaken(c, record, d)
	}
	return u.save(c, record, d)
}

// draft reads a sent form.
func (u *UI) draft(c echo.Context, record store.PolicyRecord) (draft, error) {
	form, err := c.FormParams()
	if err != nil {
		return draft{}, policy.Errorf(policy.CodeMalformed, "the form cannot be read")
	}
	version, err := strconv.ParseInt(form.Get("version"), 10, 64)
	if err != nil || version < 0 {
		return draft{}, policy.Errorf(policy.CodeMalformed, "the form names no version")
	}
	if !mayEdit(principalOf(c.Request()), record) {
		d := untouched(record)
		d.form.Set("of", form.Get("of"))
		d.form.Set("pattern", form.Get("pattern"))
		return d, nil
	}
	d := draft{form: form, version: version, reason: strings.TrimSpace(form.Get("reason"))}
	if d.was, err = u.openedWith(c, record, d); err != nil {
		return d, err
	}
	takePicks(form, d.was)
	read := readForm(u.base(c.Request(), "pace"), form, record.System, d.was)
	d.want, d.faults = read.values, read.faults
	if fault := read.lineFault(d.reason, maxReason); fault != "" {
		d.faults = append(d.faults, faultView{"reason", fault})
	}
	return d, nil
}

// openedWith are the settings that the visitor saw when he opened the form: what the form says, since the defaults may
// have moved meanwhile, else what its version asks for today.
func (u *UI) openedWith(c echo.Context, record store.PolicyRecord, d draft) (values, error) {
	now := requested(record.System, record.Document)
	if said, ok := unpacked(d.form["was"]); ok {
		return said.keep(onForm(now, d.form["acts"])), nil
	}
	switch d.version {
	case record.Version:
		return now, nil
	case 0:
		return requested(record.System, policy.Document{}), nil
	}
	old, err := u.cfg.Store.Version(c.Request().Context(), record.Group.ID, d.version)
	if err != nil {
		return nil, err
	}
	return requested(record.System, old.Document), nil
}

// redraw answers a button that saves nothing.
func (u *UI) redraw(c echo.Context, record store.PolicyRecord, d draft, op string) error {
	editRungs(d.form, op)
	b := u.base(c.Request(), "pace")
	read := readForm(b, d.form, record.System, d.was)
	d.want, d.faults = read.values, nil
	view, err := u.settingsView(c, record, d)
	if err != nil {
		return err
	}
	return u.render(c.Response(), http.StatusOK, "group", view)
}

// editRungs adds a step to the form's ladder, or takes one away.
func editRungs(form url.Values, op string) {
	if op == "add-rung" {
		after := int64(2)
		for _, text := range form[rungAfter] {
			if n, ok := count(text); ok {
				after = max(after, n+1)
			}
		}
		form.Add(rungAfter, plain(after))
		form.Add(rungDo, string(policy.Mute))
		form.Add(rungFor, "1")
		form.Add(unitField(rungFor), "h")
		return
	}
	place, ok := strings.CutPrefix(op, "remove-rung-")
	i, err := strconv.Atoi(place)
	if !ok || err != nil || i < 0 || i >= len(form[rungAfter]) {
		return
	}
	for _, name := range []string{rungAfter, rungDo, rungFor, unitField(rungFor)} {
		if i < len(form[name]) {
			form[name] = slices.Delete(form[name], i, i+1)
		}
	}
}

// save states what the visitor changed and nothing else, if nobody saved since.
func (u *UI) save(c echo.Context, record store.PolicyRecord, d draft) error {
	r := c.Request()
	principal := principalOf(r)
	actor := u.actor(c, principal)
	actor.Reason = d.reason
	saved, anything, err := u.cfg.Store.UpdatePolicy(r.Context(), actor, record.Group.ID, store.Exactly(d.version),
		func(s *policy.System, doc policy.Document) (policy.Document, error) {
			now := requested(s, doc)
			edited := edit(s, doc, now, rebase(d.was, d.want, now))
			if principal.Role != store.RoleGroupAdmin {
				return edited, nil
			}
			return edited, s.OperatorOnly(doc, edited)
		})
	var known *policy.Error
	switch {
	case hasCode(err, policy.CodeStale):
		return u.overtaken(c, saved, d)
	case errors.As(err, &known) && known.Code == policy.CodeInvalid:
		d.faults = u.base(r, "pace").policyFaults(known)
		return u.showFaults(c, record, d)
	case err != nil:
		return err
	case !anything:
		return c.Redirect(http.StatusSeeOther, groupPath(record.Group.ID)+"?saved=same")
	}
	return c.Redirect(http.StatusSeeOther, groupPath(record.Group.ID)+"?saved="+plain(saved.Version))
}

// showFaults returns the form as it was sent, each fault beside its field. Nothing is saved.
func (u *UI) showFaults(c echo.Context, record store.PolicyRecord, d draft) error {
	view, err := u.settingsView(c, record, d)
	if err != nil {
		return err
	}
	view.Title, view.Banner = view.Say("error_title")+view.Title, nil
	return u.render(c.Response(), http.StatusUnprocessableEntity, "group", view)
}

// policyFaults are what the policy refuses of a document, at the fields that they belong to.
func (b base) policyFaults(fault *policy.Error) []faultView {
	faults := make([]faultView, 0, len(fault.Fields))
	for _, refused := range fault.Fields {
		text, id := b.refusal(refused), fieldOf(refused.Pointer)
		if id == keyZone {
			text = b.Say("zone_unknown")
		}
		faults = append(faults, faultView{id, text})
	}
	return faults
}

// refusal says what the policy refuses: in English its own words, which name what is known instead; in other languages the
// setting and what kind of fault it is.
func (b base) refusal(f policy.FieldError) string {
	key := fieldOf(f.Pointer)
	if strings.HasPrefix(f.Pointer, "/exempt_roles/") {
		key = keyRoles
	}
	switch {
	case b.Lang == english && key == "":
		return f.Pointer + " " + f.Detail
	case b.Lang == english:
		return f.Detail
	}
	name := f.Pointer
	if key != "" && !strings.HasPrefix(key, "rung-") {
		name = b.settingName(key)
	}
	for _, kind := range []string{"unknown", "range"} {
		if f.Code == kind {
			return b.Say("fault_"+kind, name)
		}
	}
	return b.Say("fault_other", name)
}

// fieldOf is the id of the input that a pointer of a document speaks of; "" for none.
func fieldOf(pointer string) string {
	steps := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	switch {
	case pointer == "/time_zone":
		return keyZone
	case strings.HasPrefix(pointer, "/penalties/ladder/") && len(steps) > 2:
		if steps[len(steps)-1] == "for_ms" {
			return "rung-" + steps[2] + "-for"
		}
		return "rung-" + steps[2]
	case strings.HasPrefix(pointer, "/notices/") && len(steps) == 3:
		return noticeField{steps[1], steps[2]}.key()
	case strings.HasPrefix(pointer, "/actions/") && len(steps) > 2:
		for _, f := range actionFields() {
			if f.path == "/"+strings.Join(steps[2:], "/") {
				return actionKey(steps[1], f.name)
			}
		}
	}
	return ""
}
