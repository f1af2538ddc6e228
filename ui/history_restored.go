package ui

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// restoreOvertaken answers a restore of what was saved over meanwhile: the same restore sent twice ends like the first,
// others are asked about again.
func (u *UI) restoreOvertaken(c echo.Context, current store.PolicyRecord, old store.Version) error {
	last, err := u.cfg.Store.Version(c.Request().Context(), current.Group.ID, current.Version)
	if err != nil {
		return err
	}
	if isOwn(last, principalOf(c.Request())) && isRestoreOf(last, current, old, principalOf(c.Request())) {
		return c.Redirect(http.StatusSeeOther, groupPath(current.Group.ID)+"/history?restored="+plain(old.Version))
	}
	return u.showRestore(c, http.StatusPreconditionFailed, current, old)
}

// isRestoreOf reports whether the version in force is what a restore of an old one makes.
func isRestoreOf(last store.Version, current store.PolicyRecord, old store.Version, p store.Principal) bool {
	made := restoring(p, current.System, current.Document, old.Document)
	return last.Kind == "restore" && old.Version < last.Version && string(made.JSON()) == string(current.Document.JSON())
}

// restoredBanner says what became of the restore that led here. A link may come from anywhere: it is said only while it
// is so.
func (u *UI) restoredBanner(c echo.Context, b base, record store.PolicyRecord) (*bannerView, error) {
	said := c.QueryParam("restored")
	if said == "same" {
		return &bannerView{Text: b.Say("restored_same")}, nil
	}
	version := whole(said)
	if version == 0 || record.Version == 0 {
		return nil, nil
	}
	ctx := c.Request().Context()
	last, err := u.cfg.Store.Version(ctx, record.Group.ID, record.Version)
	if err != nil {
		return nil, err
	}
	old, err := u.cfg.Store.Version(ctx, record.Group.ID, version)
	if hasCode(err, policy.CodeNotFound) || err == nil && !isRestoreOf(last, record, old, principalOf(c.Request())) {
		return nil, nil
	}
	return &bannerView{Kind: "good", Text: b.Say("restored", said, record.Version)}, err
}
