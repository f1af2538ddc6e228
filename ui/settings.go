package ui

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// settingsView is a group's speaking pace: the sentence, every setting with what is in force, a preview, and what became
// of the last save. Version is the one that a save starts from, Was what the form was opened with.
type settingsView struct {
	base
	groupHead
	Version   int64
	Was       string
	SayHead   string
	Sentence  []part
	Banner    *bannerView
	Faults    []faultView
	Conflict  *conflictView
	Folds     []foldView
	Fixed     []fixedView
	EditAll   string // where to edit Fixed too, "" where nobody may or all are edited
	Preview   previewView
	MuteHint  string
	Rungs     []rungView
	MaxRungs  int64 // steps that bounds allow
	FullRungs bool  // the ladder has as many
	LadderBar string
	Forgive   inputView
	Roles     []roleView
	Named     namedView
	Notices   []noticeView
	Zone      inputView
	SaveLabel string
	Reason    string
	Dirty     int  // changes that are on the form and not saved
	OOB       bool // drawn as a fragment that replaces its like on the page
}

// bannerView is a message above the form.
type bannerView struct{ Kind, Head, Text string }

// fixedView is an action that only operators edit.
type fixedView struct{ Name, Line string }

// draft is a form, read: what it says, what a save of it would make of the document, and what cannot be read.
type draft struct {
	form    url.Values
	version int64
	was     values
	want    values
	faults  []faultView
	reason  string
}

// untouched is the form as it is opened.
func untouched(record store.PolicyRecord) draft {
	now := requested(record.System, record.Document)
	return draft{form: now.fields(), version: record.Version, was: now, want: now}
}

func (u *UI) settingsPage(c echo.Context) error {
	record, err := u.visible(c)
	if err != nil {
		return err
	}
	d := untouched(record)
	copyParams(d.form, c, "of", "pattern", "edit", "open")
	view, err := u.settingsView(c, record, d)
	if err != nil {
		return err
	}
	if view.Banner == nil {
		view.Banner = view.savedBanner(c.QueryParam("saved"), record)
	}
	return u.render(c.Response(), http.StatusOK, "group", view)
}

func copyParams(form url.Values, c echo.Context, names ...string) {
	for _, name := range names {
		if value := c.QueryParam(name); value != "" {
			form.Set(name, value)
		}
	}
}

// savedBanner says what became of the save that led here.
func (v settingsView) savedBanner(saved string, record store.PolicyRecord) *bannerView {
	held := 0
	for _, f := range v.Folds {
		held += f.held()
	}
	switch {
	case saved == "same":
		return &bannerView{Text: v.Say("saved_same")}
	case saved == "" || saved != strconv.FormatInt(record.Version, 10) || v.Badge.Poll != "":
		return nil
	case held > 0:
		return &bannerView{Kind: "good", Text: v.Say(counted("saved_held", held), record.Version, held)}
	}
	return &bannerView{Kind: "good", Text: v.Say("saved", record.Version)}
}

// counted is the key for a number of things.
func counted(key string, n int) string {
	if n == 1 {
		return key + "_one"
	}
	return key + "_many"
}

// settingsView draws the page of what a form says, over what is saved.
func (u *UI) settingsView(c echo.Context, record store.PolicyRecord, d draft) (settingsView, error) {
	r := c.Request()
	b := u.base(r, "pace")
	view := settingsView{
		base: b, groupHead: u.groupHead(r, b, record, "pace", "pace"), Version: d.version, SayHead: b.Say("in_plain_words"),
		SaveLabel: b.Say("save"), Faults: d.faults, Reason: d.reason,
	}
	named, err := u.named(c, b, record, view.ReadOnly)
	if err != nil {
		return view, err
	}
	view.Named = named
	drawn, err := u.drawing(r.Context(), b, record, d)
	if err != nil {
		return view, err
	}
	drawn.off = view.ReadOnly
	view.draw(drawn, d.was, principalOf(r), record)
	view.Was = d.was.general().packed()
	view.Dirty = len(changed(d.was, d.want)) + len(d.faults)
	view.state(record, principalOf(r))
	return view, nil
}

// drawing works out what is in force of a draft, and since when newer bounds hold back what of it was saved.
func (u *UI) drawing(ctx context.Context, b base, record store.PolicyRecord, d draft) (drawing, error) {
	holds, err := u.newerHolds(ctx, record)
	if err != nil {
		return drawing{}, err
	}
	drawn, clamps := drawingOf(b, record, d)
	b.sinceNotes(drawn.notes, clamps, holds, zoneOf(record))
	return drawn, nil
}

// drawingOf works out what is in force of a draft, and what is held back.
func drawingOf(b base, record store.PolicyRecord, d draft) (drawing, []policy.Clamp) {
	s := record.System
	document := edit(s, record.Document, d.was, rebase(d.was, d.want, d.was))
	effective, clamps := s.Resolve(document)
	drawn := drawing{
		base: b, form: d.form, system: s, preset: s.DefaultsEffective().Document(), effective: effective,
		faults: map[string]string{}, notes: b.clampNotes(clamps),
	}
	for _, fault := range d.faults {
		drawn.faults[fault.Field] = fault.Text
	}
	return drawn, clamps
}

// draw fills the page's sections.
func (v *settingsView) draw(d drawing, was values, p store.Principal, record store.PolicyRecord) {
	edited, fixed := actionsFor(p, record.System, d.form.Get("edit") == "all" || len(d.form["acts"]) > 0, d.form["acts"])
	v.Folds = d.folds(edited, was)
	for i := range v.Folds {
		v.Folds[i].Href = v.Href
	}
	for _, name := range fixed {
		v.Fixed = append(v.Fixed, fixedView{d.actionName(name), d.line(name)})
	}
	if len(fixed) > 0 && p.Role == store.RoleOperator {
		v.EditAll = v.Href + "?edit=all"
	}
	v.Preview = d.preview(edited)
	v.Sentence = parts(d.system.Story(d.effective, d.previewed(edited), v.Named.Count, v.Lang))
	v.MuteHint, v.Rungs = d.muteHint(), d.rungs()
	v.MaxRungs = d.system.Bounds.LadderStepsMax
	v.FullRungs = int64(len(v.Rungs)) >= v.MaxRungs
	v.LadderBar = d.notes["/penalties/ladder"]
	v.Forgive = d.lengthInput(keyForgive, "forgive", d.system.Bounds.ForgiveOneEveryMS,
		d.preset.Penalties.ForgiveOneEveryMS.Value, "/penalties/forgive_one_every_ms")
	v.Roles, v.Notices, v.Zone = d.roles(), d.notices(), d.zone()
}

// previewed is the action that the sentence and the picture are about.
func (d drawing) previewed(edited []string) string {
	if of := d.form.Get("of"); slices.Contains(edited, of) {
		return of
	}
	return edited[0]
}

// actionsFor are the actions that the form edits, and those that only operators edit. all asks for every one.
func actionsFor(p store.Principal, s *policy.System, all bool, sent []string) (edited, fixed []string) {
	for _, name := range orderedActions(s) {
		operators := s.Bounds.For(name).EditedBy == policy.EditedByOperator
		wanted := !operators || all && (len(sent) == 0 || slices.Contains(sent, name))
		if wanted && (!operators || p.Role != store.RoleGroupAdmin) {
			edited = append(edited, name)
			continue
		}
		fixed = append(fixed, name)
	}
	if len(edited) == 0 { // bounds leave nothing to groups: something has to be shown
		return fixed[:1], fixed[1:]
	}
	return edited, fixed
}

// onForm are the values whose fields a form with these actions has.
func onForm(of values, acts []string) values {
	kept := of.general()
	for _, action := range acts {
		maps.Copy(kept, of.of(action))
	}
	return kept
}

// of are the values of one action.
func (v values) of(action string) values {
	own := values{}
	for _, f := range actionFields() {
		if value, ok := v[actionKey(action, f.name)]; ok {
			own[actionKey(action, f.name)] = value
		}
	}
	return own
}

// general are the values that belong to no action.
func (v values) general() values {
	rest := values{}
	for key, value := range v {
		if _, name, ok := cutAction(key); !ok || !isActionField(name) {
			rest[key] = value
		}
	}
	return rest
}

func isActionField(name string) bool {
	return slices.ContainsFunc(actionFields(), func(f actionField) bool { return f.name == name })
}

// state says above the form what a visitor has to know before all else.
func (v *settingsView) state(record store.PolicyRecord, p store.Principal) {
	switch {
	case record.Group.Archived():
		v.Banner = &bannerView{Head: v.Say("archived"), Text: v.Say("archived_note")}
	case p.Role == store.RoleAuditor:
		v.Banner = &bannerView{Head: v.Say("view_only"), Text: v.Say("view_only_note")}
	case v.Badge.Poll != "":
		v.SayHead = v.Say("once_live", record.Version)
		last := int64(0)
		if record.Live != nil {
			last = record.Live.Version
		}
		v.Banner = &bannerView{Kind: "warn", Head: v.Say("not_live"), Text: v.Say("not_live_note", record.Version, last)}
	}
}
