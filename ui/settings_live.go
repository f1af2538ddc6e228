package ui

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// previewSettings answers what the page would say of the form as it stands: fragments that replace the sentence, the
// picture, the lines and the notes.
func (u *UI) previewSettings(c echo.Context) error {
	record, err := u.visible(c)
	if err != nil {
		return err
	}
	d, err := u.draft(c, record)
	if err != nil {
		return err
	}
	view := settingsView{base: u.base(c.Request(), "pace"), OOB: true}
	view.Href = groupPath(record.Group.ID)
	count, err := u.cfg.Store.ExemptionsCount(c.Request().Context(), record.Group.ID)
	if err != nil {
		return err
	}
	view.Named.Count = count
	drawn, err := u.drawing(c.Request().Context(), view.base, record, d)
	if err != nil {
		return err
	}
	view.draw(drawn, d.was, principalOf(c.Request()), record)
	for _, f := range view.Folds {
		if f.Action == c.QueryParam("fold") { // another algorithm was chosen, which knows other numbers
			f.Open, f.Advanced = true, true
			return u.fragment(c.Response(), "group/fold", f)
		}
	}
	return u.fragment(c.Response(), "group/live", view)
}

// foldFragment is one action with its settings, for the page that has only its line.
func (u *UI) foldFragment(c echo.Context) error {
	record, err := u.visible(c)
	if err != nil {
		return err
	}
	name := c.QueryParam("action")
	if !wantsFragment(c) {
		return c.Redirect(http.StatusSeeOther, groupPath(record.Group.ID)+"?"+url.Values{"open": {name}}.Encode())
	}
	d := untouched(record)
	d.form.Set("open", name)
	if p := principalOf(c.Request()); p.Role == store.RoleOperator || p.Role == store.RoleAuditor {
		d.form.Set("edit", "all")
	}
	view := settingsView{base: u.base(c.Request(), "pace")}
	view.Href = groupPath(record.Group.ID)
	drawn, err := u.drawing(c.Request().Context(), view.base, record, d)
	if err != nil {
		return err
	}
	drawn.off = !mayEdit(principalOf(c.Request()), record)
	view.draw(drawn, d.was, principalOf(c.Request()), record)
	for _, f := range view.Folds {
		if f.Action == name {
			return u.fragment(c.Response(), "group/fold", f)
		}
	}
	return policy.Errorf(policy.CodeNotFound, "no such action")
}

// noteView is the note of one field, as a fragment.
type noteView struct{ ID, Note, Kind string }

// AllNotes are the notes of every field, empty ones too: they replace those on the page.
func (v settingsView) AllNotes() []noteView {
	var notes []noteView
	add := func(inputs ...inputView) {
		for _, i := range inputs {
			notes = append(notes, noteView{i.ID, i.Note, i.Kind})
		}
	}
	for _, f := range v.Folds {
		if f.Folded {
			continue
		}
		add(append(f.Numbers, f.Ban)...)
		notes = append(notes, noteView{f.Algo.ID, f.Algo.Note, f.Algo.Kind}, noteView{f.Mode.ID, f.Mode.Note, f.Mode.Kind})
	}
	add(v.Forgive)
	for _, r := range v.Rungs {
		notes = append(notes, noteView{r.ID, r.Note, r.Kind})
	}
	return notes
}
