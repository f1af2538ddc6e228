package ui

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// historyView is what was saved of a group, newest first. Nothing is ever overwritten.
type historyView struct {
	base
	groupHead
	Banner      *bannerView
	Versions    []versionRow
	Next, First string
}

// versionRow is one save: by whom, when, why, and what it changed.
type versionRow struct {
	Version       int64
	Head, Meta    string
	Reason, Count string
	Current       bool
	Changes       []policy.ChangeWords
	Restore       string // address, "" where there is nothing to restore
	RestoreLabel  string
}

// restoreView asks before an old version is saved anew: it shows what would change, and what newer bounds hold back.
type restoreView struct {
	base
	groupHead
	Version, Current int64
	Action, Back     string
	Changes          []policy.ChangeWords
	Held             []string
}

const historyPageSize = 20

// diffView is a table of changes with the words around it.
type diffView struct {
	base
	Changes []policy.ChangeWords
}

// With puts changes into the page's language.
func (b base) With(changes []policy.ChangeWords) diffView { return diffView{b, changes} }

func (u *UI) historyPage(c echo.Context) error {
	record, err := u.visible(c)
	if err != nil {
		return err
	}
	r := c.Request()
	b := u.base(r, "history")
	v := historyView{base: b, groupHead: u.groupHead(r, b, record, "history", "history")}
	page, err := u.cfg.Store.Versions(r.Context(), record.Group.ID, c.QueryParam("after"), historyPageSize)
	if err != nil {
		return err
	}
	before, err := u.documentsBefore(c, page.Items)
	if err != nil {
		return err
	}
	zone := zoneOf(record)
	for i, version := range page.Items {
		v.Versions = append(v.Versions, v.row(version, before[i], record, zone))
	}
	if page.Next != "" {
		v.Next = "?" + url.Values{"after": {page.Next}}.Encode()
	}
	if c.QueryParam("after") != "" {
		v.First = v.Href + "/history"
	}
	if v.Banner, err = u.restoredBanner(c, b, record); err != nil {
		return err
	}
	return u.render(c.Response(), http.StatusOK, "history", v)
}

// documentsBefore are the documents that the versions replaced.
func (u *UI) documentsBefore(c echo.Context, versions []store.Version) ([]policy.Document, error) {
	before := make([]policy.Document, len(versions))
	for i, v := range versions {
		switch {
		case i+1 < len(versions):
			before[i] = versions[i+1].Document
		case v.Version > 1:
			old, err := u.cfg.Store.Version(c.Request().Context(), v.GroupID, v.Version-1)
			if err != nil {
				return nil, err
			}
			before[i] = old.Document
		}
	}
	return before, nil
}

func (v historyView) row(version store.Version, before policy.Document, record store.PolicyRecord, zone *time.Location) versionRow {
	row := versionRow{
		Version: version.Version, Head: v.Say("version_n", version.Version), Reason: version.Reason, Current: version.Version == record.Version,
		Changes: policy.DiffWords(policy.Diff(before, version.Document), v.Lang),
		Meta:    v.Say("kind_"+version.Kind, v.person(version.Actor), v.moment(version.At, zone)),
	}
	row.Count = v.Say("changes_none")
	if n := len(row.Changes); n > 0 {
		row.Count = v.Say(counted("changes", n), n)
	}
	if !row.Current && !v.ReadOnly {
		row.Restore = v.Href + "/history/" + plain(version.Version) + "/restore"
		row.RestoreLabel = v.Say("restore_n", version.Version)
	}
	return row
}

// moment is a day with its time.
func (b base) moment(t time.Time, zone *time.Location) string {
	return b.day(t.In(zone)) + " " + t.In(zone).Format("15:04")
}

func (u *UI) restorePage(c echo.Context) error {
	record, old, err := u.toRestore(c)
	if err != nil {
		return err
	}
	return u.showRestore(c, http.StatusOK, record, old)
}

// toRestore reads the group and the version that the address names, for whoever may restore it.
func (u *UI) toRestore(c echo.Context) (record store.PolicyRecord, old store.Version, err error) {
	if record, err = u.visible(c); err != nil {
		return record, old, err
	}
	if !mayEdit(principalOf(c.Request()), record) {
		return record, old, policy.Errorf(policy.CodeForbidden, "view only")
	}
	version, err := strconv.ParseInt(c.Param("version"), 10, 64)
	if err != nil {
		return record, old, policy.Errorf(policy.CodeNotFound, "no such version")
	}
	old, err = u.cfg.Store.Version(c.Request().Context(), record.Group.ID, version)
	return record, old, err
}

func (u *UI) showRestore(c echo.Context, status int, record store.PolicyRecord, old store.Version) error {
	r := c.Request()
	b := u.base(r, "restore")
	after := restoring(principalOf(r), record.System, record.Document, old.Document)
	v := restoreView{
		base: b, groupHead: u.groupHead(r, b, record, "history", "restore"), Version: old.Version, Current: record.Version,
		Changes: policy.DiffWords(policy.Diff(record.Document, after), b.Lang),
	}
	v.Action, v.Back = v.Href+"/history/"+plain(old.Version)+"/restore", v.Href+"/history"
	_, clamps := record.System.Resolve(after)
	for _, clamp := range clamps {
		v.Held = append(v.Held, b.heldNote(clamp, old.Version))
	}
	return u.render(c.Response(), status, "restore", v)
}

// heldNote says what of an old version does not come back.
func (b base) heldNote(clamp policy.Clamp, version int64) string {
	name := strings.TrimPrefix(clamp.Path, "/")
	if key := fieldOf(clamp.Path); key != "" {
		name = b.settingName(key)
	}
	return b.Say("restore_held", name, b.clampValue(clamp.Path, clamp.Effective), version, b.clampValue(clamp.Path, clamp.Requested))
}

// restoring is what a restore saves: group admins leave the operators' actions as they stand.
func restoring(p store.Principal, s *policy.System, before, old policy.Document) policy.Document {
	if p.Role == store.RoleGroupAdmin {
		return s.KeepOperatorActions(before, old)
	}
	return old
}

// restore saves an old version anew, if nobody saved since it was looked at.
func (u *UI) restore(c echo.Context) error {
	record, old, err := u.toRestore(c)
	if err != nil {
		return err
	}
	r, principal := c.Request(), principalOf(c.Request())
	current, err := strconv.ParseInt(c.FormValue("version"), 10, 64)
	if err != nil {
		return policy.Errorf(policy.CodeMalformed, "the form names no version")
	}
	saved, anything, err := u.cfg.Store.RestorePolicy(r.Context(), u.actor(c, principal), record.Group.ID, store.Exactly(current), old.Version,
		func(s *policy.System, before, restored policy.Document) (policy.Document, error) {
			return restoring(principal, s, before, restored), nil
		})
	switch {
	case hasCode(err, policy.CodeStale):
		return u.restoreOvertaken(c, saved, old)
	case err != nil:
		return err
	case !anything:
		return c.Redirect(http.StatusSeeOther, groupPath(record.Group.ID)+"/history?restored=same")
	}
	return c.Redirect(http.StatusSeeOther, groupPath(record.Group.ID)+"/history?restored="+plain(old.Version))
}
