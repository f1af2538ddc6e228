package ui

import (
	"context"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// groupHead is what the pages of one group have in common: its name, the tabs, and how far its policy is.
type groupHead struct {
	GroupID, GroupName string
	Href               string // of the group's first page, escaped
	Tab                string // pace, members or history
	TitleKey           string // of the catalogue
	Badge              badgeView
	ReadOnly           bool
}

// badgeView says in a few words how far the saved version is. Poll is where to ask again, "" once there is nothing to
// wait for.
type badgeView struct{ Kind, Icon, Text, Poll string }

// Head is the head itself, for templates that have the whole page at hand.
func (h groupHead) Head() groupHead { return h }

// groupTab is one tab of a group's pages.
type groupTab struct {
	Text, Href string
	Current    bool
}

// Tabs are the pages of the group.
func (b base) Tabs(h groupHead) []groupTab {
	return []groupTab{
		{b.Say("tab_pace"), h.Href, h.Tab == "pace"},
		{b.Say("tab_members"), h.Href + "/members", h.Tab == "members"},
		{b.Say("tab_history"), h.Href + "/history", h.Tab == "history"},
	}
}

// visible reads the group of the path. A group of somebody else answers like one that does not exist.
func (u *UI) visible(c echo.Context) (store.PolicyRecord, error) {
	id, err := pathID(c)
	if err != nil || policy.CheckID("", id) != nil || !principalOf(c.Request()).Sees(id) {
		return store.PolicyRecord{}, policy.Errorf(policy.CodeNotFound, "no such group")
	}
	return u.cfg.Store.Policy(c.Request().Context(), id)
}

func (u *UI) groupHead(r *http.Request, b base, record store.PolicyRecord, tab, title string) groupHead {
	return groupHead{
		GroupID: record.Group.ID, GroupName: nameOf(record.Group), Href: groupPath(record.Group.ID), Tab: tab, TitleKey: title,
		Badge: u.badge(r.Context(), b, record), ReadOnly: !mayEdit(principalOf(r), record),
	}
}

// mayEdit tells whether the visitor may change anything of the group.
func mayEdit(p store.Principal, record store.PolicyRecord) bool {
	return !record.Group.Archived() && (p.Role == store.RoleOperator || p.Role == store.RoleGroupAdmin)
}

// liveWait is how long a page waits to be able to say that the version is live.
const liveWait = 300 * time.Millisecond

// badge says how far the saved version is: never changed, live, or waiting. It waits a moment for live.
func (u *UI) badge(ctx context.Context, b base, record store.PolicyRecord) badgeView {
	if record.Version == 0 {
		return badgeView{Text: b.Say("never_changed")}
	}
	live, ok := record.Live, !record.Pending
	if !ok && u.cfg.Wait != nil {
		waiting, cancel := context.WithTimeout(ctx, liveWait)
		defer cancel()
		var publication store.Publication
		publication, ok = u.cfg.Wait(waiting, record.Group.ID, record.Version)
		live = &publication
	}
	if ok && live != nil {
		return badgeView{Kind: "good", Icon: "check", Text: b.Say("live", record.Version, b.lag(live.LagMS))}
	}
	text := b.Say("publishing", record.Version)
	if record.Live != nil && record.Live.Version > 0 {
		text = b.Say("waiting", record.Version, record.Live.Version)
	}
	return badgeView{Kind: "warn", Icon: "clock", Text: text, Poll: groupPath(record.Group.ID) + "/state"}
}

// lag is a measured time as people read it.
func (b base) lag(ms int64) string {
	if ms < 1000 {
		return b.Say("lag_ms", max(ms, 1))
	}
	return policy.DurationText((ms+999)/1000*1000, b.Lang)
}

// groupState is the badge alone, for pages that wait.
func (u *UI) groupState(c echo.Context) error {
	record, err := u.visible(c)
	if err != nil {
		return err
	}
	b := u.base(c.Request(), "pace")
	return u.fragment(c.Response(), "group/badge", u.badge(c.Request().Context(), b, record))
}
