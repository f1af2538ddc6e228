package ui

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// conflictView tells what a colleague saved meanwhile, beside what the visitor wants. Nothing is lost: the form below
// holds the visitor's choices where he made one.
type conflictView struct {
	Head, Discard string
	Rows          []conflictRow
}

type conflictRow struct{ Label, Was, Theirs, Yours string }

// submission is a sent form: the version it started from, what each field said when it was opened, and what it says now.
type submission struct {
	version    int64
	was, texts map[string]string
}

// wasField is the name of the hidden input that holds what a field said when the form was opened.
func wasField(name string) string { return name + "-was" }

func (u *UI) saveGroup(c echo.Context) error {
	record, err := u.visible(c)
	if err != nil {
		return err
	}
	if !mayEdit(principalOf(c.Request()), record) {
		return policy.Errorf(policy.CodeForbidden, "view only")
	}
	form, err := readForm(c)
	if err != nil {
		return err
	}
	started, err := u.startedFrom(c, record, form)
	if err != nil {
		return err
	}
	want, faults := u.read(c, form, started)
	if len(faults) > 0 {
		return u.showFaults(c, record, form, faults, nil)
	}
	if form.version != record.Version {
		return u.showConflict(c, record, form.version, started, want)
	}
	return u.save(c, record, form, started, want)
}

func readForm(c echo.Context) (submission, error) {
	version, err := strconv.ParseInt(c.FormValue("version"), 10, 64)
	if err != nil || version < 0 {
		return submission{}, policy.Errorf(policy.CodeMalformed, "the form names no version")
	}
	form := submission{version: version, was: map[string]string{}, texts: map[string]string{}}
	for _, f := range paceFields() {
		form.texts[f.name] = strings.TrimSpace(c.FormValue(f.name))
		if c.Request().Form.Has(wasField(f.name)) {
			form.was[f.name] = c.FormValue(wasField(f.name))
		}
	}
	return form, nil
}

// opened is the pace that the form says it was opened with; false where it does not say so in full.
func (s submission) opened() (p pace, ok bool) {
	for _, f := range paceFields() {
		text, said := s.was[f.name]
		value, read := f.parse(text)
		if !said || (text != "" && !read) {
			return pace{}, false
		}
		if read {
			*f.value(&p) = &value
		}
	}
	return p, true
}

// startedFrom is the pace that the visitor saw when he opened the form: what the form says, since the defaults may have
// moved meanwhile, else what its version asks for today.
func (u *UI) startedFrom(c echo.Context, record store.PolicyRecord, form submission) (pace, error) {
	if p, ok := form.opened(); ok {
		return p, nil
	}
	switch form.version {
	case record.Version:
		return requestedPace(record.System, record.Document), nil
	case 0:
		return requestedPace(record.System, policy.Document{}), nil
	}
	old, err := u.cfg.Store.Version(c.Request().Context(), record.Group.ID, form.version)
	if err != nil {
		return pace{}, err
	}
	return requestedPace(record.System, old.Document), nil
}

// read turns texts into a pace. A field left empty where there was no limit stays without one.
func (u *UI) read(c echo.Context, form submission, started pace) (pace, map[string]string) {
	say, want, faults := u.base(c.Request(), "pace").Say, started, map[string]string{}
	for _, f := range paceFields() {
		text := form.texts[f.name]
		if text == "" && *f.value(&started) == nil {
			continue
		}
		value, ok := f.parse(text)
		if !ok {
			faults[f.name] = say(f.wrong)
			continue
		}
		*f.value(&want) = &value
	}
	if (want.count == nil) != (want.period == nil) && len(faults) == 0 {
		faults["count"] = say("window_needs_both")
	}
	return want, faults
}

// save states what the visitor changed and nothing else, if nobody saved since.
func (u *UI) save(c echo.Context, record store.PolicyRecord, form submission, started, want pace) error {
	r := c.Request()
	principal := principalOf(r)
	saved, changed, err := u.cfg.Store.UpdatePolicy(r.Context(), u.actor(c, principal), record.Group.ID, store.Exactly(form.version),
		func(s *policy.System, d policy.Document) (policy.Document, error) {
			edited := editPace(s, d, rebase(started, want, requestedPace(s, d)))
			if principal.Role != store.RoleGroupAdmin {
				return edited, nil
			}
			return edited, s.OperatorOnly(d, edited)
		})
	var known *policy.Error
	switch {
	case hasCode(err, policy.CodeStale):
		return u.showConflict(c, saved, form.version, started, want)
	case errors.As(err, &known) && known.Code == policy.CodeInvalid:
		return u.showInvalid(c, record, form, known)
	case err != nil:
		return err
	case !changed:
		return c.Redirect(http.StatusSeeOther, groupPath(record.Group.ID)+"?saved=same")
	}
	return c.Redirect(http.StatusSeeOther, groupPath(record.Group.ID)+"?saved="+strconv.FormatInt(saved.Version, 10))
}

// showConflict returns the form on top of the newer version, the visitor's choices kept.
func (u *UI) showConflict(c echo.Context, current store.PolicyRecord, startedVersion int64, started, want pace) error {
	view := u.groupView(c, current)
	theirs := requestedPace(current.System, current.Document)
	merged := rebase(started, want, theirs)
	author := "?"
	if version, err := u.cfg.Store.Version(c.Request().Context(), current.Group.ID, current.Version); err == nil {
		author = version.Actor
	}
	view.Conflict = &conflictView{
		Head: view.Say("conflict_head", author, current.Version), Discard: view.Say("discard", current.Version),
	}
	for i, f := range paceFields() {
		view.Fields[i].Value = f.text(&merged)
		if *f.value(&merged) == nil || !same(*f.value(&merged), *f.value(&theirs)) {
			view.Fields[i].Note = ""
		}
		if same(*f.value(&started), *f.value(&theirs)) && same(*f.value(&started), *f.value(&want)) {
			continue
		}
		view.Conflict.Rows = append(view.Conflict.Rows, conflictRow{
			Label: view.Fields[i].Label, Was: view.asked(f, &started), Theirs: view.asked(f, &theirs), Yours: view.asked(f, &want),
		})
	}
	view.Badge, view.BadgeKind = view.Say("conflict_badge", current.Version, startedVersion), "bad"
	view.SaveLabel = view.Say("save_as", current.Version+1)
	return u.render(c.Response(), http.StatusConflict, "group", view)
}

// showFaults returns the form as it was sent, each fault beside its field, those of no field above. Nothing is saved.
func (u *UI) showFaults(c echo.Context, record store.PolicyRecord, form submission, faults map[string]string, others []faultView) error {
	view := u.groupView(c, record)
	view.Title, view.Version = view.Say("error_title")+view.Title, form.version
	for i := range view.Fields {
		f := &view.Fields[i]
		f.Value, f.Note, f.Fault = form.texts[f.Name], "", faults[f.Name]
		if was, ok := form.was[f.Name]; ok {
			f.Was = was
		}
		if f.Fault != "" {
			view.Faults = append(view.Faults, faultView{Field: f.Name, Text: view.Say("fault_line", f.Label, f.Fault)})
		}
	}
	view.Faults = append(view.Faults, others...)
	return u.render(c.Response(), http.StatusUnprocessableEntity, "group", view)
}

// showInvalid returns the form with what the policy refused of it.
func (u *UI) showInvalid(c echo.Context, record store.PolicyRecord, form submission, fault *policy.Error) error {
	faults := map[string]string{}
	var others []faultView
	for _, refused := range fault.Fields {
		name := ""
		for _, f := range paceFields() {
			if f.path == refused.Pointer {
				name = f.name
			}
		}
		if name == "" {
			others = append(others, faultView{Text: refused.Pointer + " " + refused.Detail})
			continue
		}
		faults[name] = refused.Detail
	}
	return u.showFaults(c, record, form, faults, others)
}
