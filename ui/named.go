package ui

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// namedView is the list of named members who are not limited: a page of it, searched. It is a collection of its own:
// adding and removing take effect at once, whatever the form beside it holds.
type namedView struct {
	Count        int64
	Items        []namedRow
	Query        string
	Next         string // address of the next page, "" at the end
	First        string // address of the first page, "" on it
	Href         string // of the collection
	Fault, Said  string
	UserID       string // as typed
	Until        string
	Note         string
	ReadOnly     bool
	OOB, Focused bool
}

type namedRow struct{ UserID, Note, Until, RemoveLabel string }

const namedPage = 20

// named reads the page of the collection that the address asks for.
func (u *UI) named(c echo.Context, b base, record store.PolicyRecord, readOnly bool) (namedView, error) {
	id := record.Group.ID
	v := namedView{Query: strings.TrimSpace(c.QueryParam("q")), Href: groupPath(id) + "/exemptions", ReadOnly: readOnly}
	ctx := c.Request().Context()
	var err error
	if v.Count, err = u.cfg.Store.ExemptionsCount(ctx, id); err != nil {
		return v, err
	}
	cursor := c.QueryParam("after")
	page, err := u.cfg.Store.ListExemptions(ctx, id, store.ExemptionQuery{Search: v.Query, Cursor: cursor, Limit: namedPage})
	if err != nil {
		return v, err
	}
	for _, e := range page.Items {
		v.Items = append(v.Items, namedRow{
			UserID: e.UserID, Note: e.Note, Until: b.until(e.ExpiresAt, zoneOf(record), u.cfg.Now()), RemoveLabel: b.Say("remove_named", e.UserID),
		})
	}
	if page.Next != "" {
		v.Next = "?" + url.Values{"q": {v.Query}, "after": {page.Next}}.Encode()
	}
	if cursor != "" {
		v.First = "?" + url.Values{"q": {v.Query}}.Encode()
	}
	return v, nil
}

// zoneOf is the time zone of the group's days.
func zoneOf(record store.PolicyRecord) *time.Location {
	effective, _ := record.System.Resolve(record.Document)
	zone, err := time.LoadLocation(effective.TimeZone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// until says when an exemption ends.
func (b base) until(end time.Time, zone *time.Location, now time.Time) string {
	switch {
	case end.IsZero():
		return b.Say("no_end")
	case !end.After(now):
		return b.Say("ended", b.date(end, zone))
	}
	return b.Say("until", b.date(end, zone))
}

// date is a day, and its time unless it is the day's end.
func (b base) date(t time.Time, zone *time.Location) string {
	local := t.In(zone)
	last := local.Add(-time.Second)
	if local.Hour() == 0 && local.Minute() == 0 && local.Second() == 0 {
		return b.day(last)
	}
	return b.day(local) + " " + local.Format("15:04")
}

func (b base) day(t time.Time) string {
	if b.Lang == chinese {
		return t.Format("2006 年 1 月 2 日")
	}
	return t.Format("2 January 2006")
}

// namedFragment is the list alone, for searching and paging.
func (u *UI) namedFragment(c echo.Context) error {
	record, err := u.visible(c)
	if err != nil {
		return err
	}
	if !wantsFragment(c) {
		return c.Redirect(http.StatusSeeOther, groupPath(record.Group.ID)+"?"+c.QueryString()+"#named")
	}
	b := u.base(c.Request(), "pace")
	v, err := u.named(c, b, record, !mayEdit(principalOf(c.Request()), record))
	if err != nil {
		return err
	}
	return u.fragment(c.Response(), "group/named", namedPart{b, v})
}

// namedPart is the list with the words that it needs.
type namedPart struct {
	base
	Named namedView
}

// changeNamed adds or removes one named member. It answers the list alone, or the page with the form as it was sent.
func (u *UI) changeNamed(c echo.Context) error {
	record, err := u.visible(c)
	if err != nil {
		return err
	}
	if !mayEdit(principalOf(c.Request()), record) {
		return policy.Errorf(policy.CodeForbidden, "view only")
	}
	b := u.base(c.Request(), "pace")
	said, fault, err := u.applyNamed(c, b, record)
	if err != nil {
		return err
	}
	if wantsFragment(c) {
		v, err := u.named(c, b, record, false)
		if err != nil {
			return err
		}
		v.keep(c, said, fault)
		return u.fragment(c.Response(), "group/named", namedPart{b, v})
	}
	d, err := u.draft(c, record)
	if err != nil {
		return err
	}
	d.faults = nil
	view, err := u.settingsView(c, record, d)
	if err != nil {
		return err
	}
	view.Named.keep(c, said, fault)
	if fault != "" {
		view.Title = b.Say("error_title") + view.Title
		view.Faults = []faultView{{"nm", fault}}
		return u.render(c.Response(), http.StatusUnprocessableEntity, "group", view)
	}
	return u.render(c.Response(), http.StatusOK, "group", view)
}

// keep shows what was typed again where it could not be taken.
func (v *namedView) keep(c echo.Context, said, fault string) {
	v.Said, v.Fault = said, fault
	if fault != "" {
		v.UserID, v.Until, v.Note = c.FormValue("nm"), c.FormValue("nm-until"), c.FormValue("nm-note")
	}
}

func isID(id string) bool { return policy.CheckID("", id) == nil }

// endOf is the end of a day in a zone; the zero Time for what is no day.
func endOf(day string, zone *time.Location) time.Time {
	begin, err := time.ParseInLocation("2006-01-02", day, zone)
	if err != nil {
		return time.Time{}
	}
	return begin.AddDate(0, 0, 1)
}

// applyNamed does what the pressed button says, and tells what was done or what cannot be.
func (u *UI) applyNamed(c echo.Context, b base, record store.PolicyRecord) (said, fault string, err error) {
	ctx, actor, id := c.Request().Context(), u.actor(c, principalOf(c.Request())), record.Group.ID
	if gone := c.FormValue("remove"); gone != "" {
		_, err := u.cfg.Store.RemoveExemption(ctx, actor, id, store.Anything(), gone)
		if err != nil && !hasCode(err, policy.CodeNotFound) {
			return "", "", err
		}
		return b.Say("removed_named", gone), "", nil
	}
	e := store.Exemption{UserID: strings.TrimSpace(c.FormValue("nm")), Note: strings.TrimSpace(c.FormValue("nm-note"))}
	if e.UserID == "" {
		return "", b.Say("enter_member"), nil
	}
	if day := c.FormValue("nm-until"); day != "" {
		e.ExpiresAt = endOf(day, zoneOf(record))
		if !e.ExpiresAt.After(u.cfg.Now()) {
			return "", b.Say("enter_future_day"), nil
		}
	}
	if fault := b.lineFault(e.Note, maxReason); fault != "" {
		return "", fault, nil
	}
	if !isID(e.UserID) {
		return "", b.Say("member_id_wrong"), nil
	}
	_, err = u.cfg.Store.PutExemption(ctx, actor, id, store.Anything(), e)
	if hasCode(err, policy.CodeInvalid) { // of the exemption only the number is left to be wrong
		return "", b.Say("named_full", record.System.Bounds.ExemptionsMax), nil
	}
	return b.Say("added_named", e.UserID), "", err
}
