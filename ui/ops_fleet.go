package ui

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/store"
)

// opsView is the fleet: how publishing is doing, some figures, and every group, to be searched.
type opsView struct {
	base
	opsHead
	Sync        syncView
	Facts       []factView
	Query       string
	Groups      []groupRow
	Next, First string
}

// factView is one figure with its name.
type factView struct{ Name, Value string }

const (
	fleetPage = 50
	// countWait is how long the page waits for figures that are counted anew.
	countWait = 500 * time.Millisecond
)

func (u *UI) opsPage(c echo.Context) error {
	r := c.Request()
	b := u.base(r, "fleet")
	view := opsView{base: b, opsHead: u.opsHead(c, "fleet", "fleet"), Query: strings.TrimSpace(c.QueryParam("query"))}
	if err := view.list(r.Context(), u.cfg.Store, c.QueryParam("cursor")); err != nil {
		return err
	}
	if wantsFragment(c) {
		return u.fragment(c.Response(), "ops/groups", view)
	}
	view.Sync = u.syncView(b)
	view.Facts = u.facts(r.Context(), b)
	return u.render(c.Response(), http.StatusOK, "ops", view)
}

// list reads one page of the groups.
func (v *opsView) list(ctx context.Context, s *store.Store, cursor string) error {
	page, err := s.ListGroups(ctx, store.GroupQuery{Search: v.Query, Cursor: cursor, Limit: fleetPage})
	if err != nil {
		return err
	}
	for _, g := range page.Items {
		v.Groups = append(v.Groups, groupRow{
			ID: g.ID, Name: nameOf(g), Href: groupPath(g.ID), Archived: g.Archived(), Since: v.day(g.CreatedAt.UTC()),
		})
	}
	if page.Next != "" {
		v.Next = "/ops?" + url.Values{"cursor": {page.Next}, "query": {v.Query}}.Encode()
	}
	if cursor != "" {
		v.First = "/ops?" + url.Values{"query": {v.Query}}.Encode()
	}
	return nil
}

// facts are the figures of the fleet. What cannot be counted in time is left out: the rest of the page does not wait.
func (u *UI) facts(ctx context.Context, b base) []factView {
	ctx, cancel := context.WithTimeout(ctx, countWait)
	defer cancel()
	n, err := u.cfg.Store.FleetCounts(ctx)
	if err != nil {
		return nil
	}
	return []factView{
		{b.Say("fact_groups"), thousands(n.Groups)},
		{b.Say("fact_own"), thousands(n.Stated)},
		{b.Say("fact_archived"), thousands(n.Archived)},
		{b.Say("fact_muted"), thousands(n.Muted)},
	}
}

// thousands shows a whole number in groups of three digits.
func thousands(n int64) string {
	text := plain(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
