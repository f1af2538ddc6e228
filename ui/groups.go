package ui

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/store"
)

// groupsView is the list of the groups that the visitor may see. Next is "" on the last page.
type groupsView struct {
	base
	Query  string
	Groups []groupRow
	Next   string
}

type groupRow struct {
	ID, Name, Href string
	Since          string // the day it was registered
	Archived       bool
}

func (u *UI) groupsPage(c echo.Context) error {
	r := c.Request()
	page, err := u.cfg.Store.ListGroups(r.Context(), store.GroupQuery{
		Search: c.QueryParam("query"), Cursor: c.QueryParam("cursor"), Allowed: principalOf(r).Allowed(), Limit: 100,
	})
	if err != nil {
		return err
	}
	view := groupsView{base: u.base(r, "groups"), Query: c.QueryParam("query")}
	for _, g := range page.Items {
		view.Groups = append(view.Groups, groupRow{ID: g.ID, Name: nameOf(g), Href: groupPath(g.ID), Archived: g.Archived()})
	}
	if page.Next != "" {
		view.Next = "/groups?" + url.Values{"cursor": {page.Next}, "query": {c.QueryParam("query")}}.Encode()
	}
	return u.render(c.Response(), http.StatusOK, "groups", view)
}

func nameOf(g store.Group) string {
	if g.Name == "" {
		return g.ID
	}
	return g.Name
}

// groupPath is the address of a group's page; the id is escaped as one segment.
func groupPath(id string) string { return "/groups/" + url.PathEscape(id) }

// pathID reads an id from the path as it was sent: decoded once, whether or not the server already did.
func pathID(c echo.Context) (string, error) {
	if c.Request().URL.RawPath == "" {
		return c.Param("group_id"), nil
	}
	return url.PathUnescape(c.Param("group_id"))
}
