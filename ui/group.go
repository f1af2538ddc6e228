package ui

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// groupView is a group's speaking pace: the sentence, the fields, and what became of the last save. Version is the one
// that a save starts from.
type groupView struct {
	base
	GroupID, GroupName, Sentence string
	Version                      int64
	Badge, BadgeKind             string
	Notice, NoticeKind           string
	Fields                       []fieldView
	Faults                       []faultView
	Conflict                     *conflictView
	ReadOnly                     bool
	SaveLabel                    string
}

// fieldView is one number. Was is the value that the form was opened with, which the form sends back beside Value. Note
// tells that it is clamped, Fault that it cannot be read; both "" where all is well.
type fieldView struct {
	Name, Label, Hint, Value, Was, Unit, Note, Fault string
}

// WasName is the name of the hidden input that holds Was.
func (f fieldView) WasName() string { return wasField(f.Name) }

type faultView struct{ Field, Text string }

// liveWait is how long a page waits to be able to say that the version is live.
const liveWait = 300 * time.Millisecond

func (u *UI) groupPage(c echo.Context) error {
	record, err := u.visible(c)
	if err != nil {
		return err
	}
	view := u.groupView(c, record)
	switch saved := c.QueryParam("saved"); {
	case saved == "same":
		view.Notice = view.Say("saved_same")
	case saved != "" && saved == strconv.FormatInt(record.Version, 10):
		view.Notice, view.NoticeKind = view.Say("saved", record.Version), "good"
	}
	return u.render(c.Response(), http.StatusOK, "group", view)
}

// visible reads the group of the path. A group of somebody else answers like one that does not exist.
func (u *UI) visible(c echo.Context) (store.PolicyRecord, error) {
	id, err := pathID(c)
	if err != nil || policy.CheckID("", id) != nil || !principalOf(c.Request()).Sees(id) {
		return store.PolicyRecord{}, policy.Errorf(policy.CodeNotFound, "no such group")
	}
	return u.cfg.Store.Policy(c.Request().Context(), id)
}

// groupView fills the page from what is saved.
func (u *UI) groupView(c echo.Context, record store.PolicyRecord) groupView {
	r := c.Request()
	effective, clamps := record.System.Resolve(record.Document)
	view := groupView{
		base: u.base(r, "pace"), GroupID: record.Group.ID, GroupName: nameOf(record.Group), Version: record.Version,
		ReadOnly: !mayEdit(principalOf(r), record),
	}
	view.Sentence = policy.Summary(effective, paceAction, view.Lang)
	view.SaveLabel = view.Say("save")
	view.Badge, view.BadgeKind = u.badge(r.Context(), view.base, record)
	shown := requestedPace(record.System, record.Document)
	for _, f := range paceFields() {
		view.Fields = append(view.Fields, view.field(f, shown, record.System, effective, clamps))
	}
	if record.Group.Archived() {
		view.Notice, view.NoticeKind = view.Say("archived_note"), "warn"
	}
	return view
}

// field shows one number as requested, and says what is in force instead where it is clamped.
func (v groupView) field(f paceField, shown pace, s *policy.System, e policy.Effective, clamps []policy.Clamp) fieldView {
	view := fieldView{Name: f.name, Label: v.Say(f.label), Unit: v.unit(f)}
	bounds, preset := f.bounds(actionBounds(s)), requestedPace(s, policy.Document{})
	view.Hint = v.Say("none_now")
	if value := *f.value(&shown); value != nil {
		view.Value, view.Was = f.show(*value), f.show(*value)
		view.Hint = v.Say(f.rangeHint, f.show(bounds.Min), f.show(bounds.Max), f.text(&preset))
	}
	inForce := f.effective(e.Actions[paceAction])
	for _, clamp := range clamps {
		switch {
		case clamp.Path == f.path && view.Value != "":
			view.Note = v.Say(f.clamped, view.Value, f.show(inForce))
		case view.Value == "" && inForce != 0 && clamp.Bound == "forbidden" && (clamp.Path == f.path || clamp.Path == windowPath):
			view.Note = v.Say("forbidden_none", v.withUnit(f, f.show(inForce)))
		}
	}
	return view
}

// windowPath is where a clamp of a whole window is reported.
const windowPath = "/actions/message/window"

// unit is the field's unit in the page's language, "" for a bare number.
func (b base) unit(f paceField) string {
	if f.unit == "" {
		return ""
	}
	return b.Say(f.unit)
}

// withUnit puts the field's unit behind a number.
func (b base) withUnit(f paceField, number string) string {
	return strings.TrimSpace(number + " " + b.unit(f))
}

// asked shows the field of a pace as people read it.
func (b base) asked(f paceField, p *pace) string {
	if *f.value(p) == nil {
		return b.Say("none")
	}
	return b.withUnit(f, f.text(p))
}

// text shows the field of a pace as the form holds it, "" where it has no limit.
func (f paceField) text(p *pace) string {
	if value := *f.value(p); value != nil {
		return f.show(*value)
	}
	return ""
}

func actionBounds(s *policy.System) policy.ActionBounds {
	if b, ok := s.Bounds.Actions[paceAction]; ok {
		return b
	}
	return s.Bounds.Actions["*"]
}

// mayEdit tells whether the visitor may change the pace of messages in the group.
func mayEdit(p store.Principal, record store.PolicyRecord) bool {
	switch {
	case record.Group.Archived() || p.Role == store.RoleAuditor:
		return false
	case p.Role == store.RoleGroupAdmin:
		return actionBounds(record.System).EditedBy != "operator"
	default:
		return p.Role == store.RoleOperator
	}
}

// badge says how far the saved version is: never changed, live, or waiting. It waits a moment for live.
func (u *UI) badge(ctx context.Context, b base, record store.PolicyRecord) (text, kind string) {
	if record.Version == 0 {
		return b.Say("never_changed"), ""
	}
	live, ok := record.Live, !record.Pending
	if !ok && u.cfg.Wait != nil {
		waiting, cancel := context.WithTimeout(ctx, liveWait)
		defer cancel()
		var publication store.Publication
		publication, ok = u.cfg.Wait(waiting, record.Group.ID, record.Version)
		live = &publication
	}
	if !ok || live == nil {
		return b.Say("waiting", record.Version), "warn"
	}
	return b.Say("live", record.Version, plain(live.LagMS)), "good"
}
