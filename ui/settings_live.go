package ui

import (
	"github.com/labstack/echo/v4"
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
	count, err := u.cfg.Store.ExemptionsCount(c.Request().Context(), record.Group.ID)
	if err != nil {
		return err
	}
	view.Named.Count = count
	view.draw(u.drawing(view.base, record, d), principalOf(c.Request()), record)
	return u.fragment(c.Response(), "group/live", view)
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
		add(f.Gap, f.Count, f.Period, f.Ban)
		notes = append(notes, noteView{f.Algo.ID, f.Algo.Note, f.Algo.Kind}, noteView{f.Mode.ID, f.Mode.Note, f.Mode.Kind})
	}
	add(v.Forgive)
	for _, r := range v.Rungs {
		notes = append(notes, noteView{r.ID, r.Note, r.Kind})
	}
	return notes
}
