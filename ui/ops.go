package ui

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// opsHead is what the pages of operators and auditors have in common: the tabs, and how things stand.
type opsHead struct {
	Tab      string // fleet, bounds, defaults, audit or tokens
	TitleKey string // of the catalogue
	Badge    badgeView
	ReadOnly bool // an auditor looks
}

// Head is the head itself, for templates that have the whole page at hand.
func (h opsHead) Head() opsHead { return h }

// opsRoutes are the pages under /ops, for operators and auditors alone.
func (u *UI) opsRoutes(e *echo.Echo, guards ...echo.MiddlewareFunc) {
	e.GET("/ops", u.opsPage, guards...)
	e.GET("/ops/sync", u.syncFragment, guards...)
	e.GET("/ops/bounds", u.boundsPage, guards...)
	e.POST("/ops/bounds", u.saveBounds, guards...)
	e.GET("/ops/bounds/state", u.boundsState, guards...)
	e.POST("/ops/bounds/preview", u.previewBounds, guards...)
	e.GET("/ops/defaults", u.defaultsPage, guards...)
	e.POST("/ops/defaults", u.saveDefaults, guards...)
	e.GET("/ops/defaults/state", u.defaultsState, guards...)
	e.POST("/ops/defaults/preview", u.previewDefaults, guards...)
	e.POST("/ops/defaults/impact", u.defaultsImpact, guards...)
	e.GET("/ops/audit", u.auditPage, guards...)
	e.GET("/ops/audit/chain", u.verifyChain, guards...)
	e.GET("/ops/audit/export", u.exportAudit, guards...)
	e.GET("/ops/audit/:seq", u.auditEntryPage, guards...)
	e.GET("/ops/tokens", u.tokensPage, guards...)
	e.POST("/ops/tokens", u.createToken, guards...)
	e.GET("/ops/tokens/:id/revoke", u.revokePage, guards...)
	e.POST("/ops/tokens/:id/revoke", u.revokeToken, guards...)
}

// watches says whether a role sees the pages under /ops.
func watches(role string) bool { return role == store.RoleOperator || role == store.RoleAuditor }

// watching refuses whoever is neither operator nor auditor, and whoever is no operator where something is changed.
func (u *UI) watching(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r, p := c.Request(), principalOf(c.Request())
		changes := r.Method != http.MethodGet && r.Method != http.MethodHead
		if watches(p.Role) && (!changes || p.Role == store.RoleOperator) {
			return next(c)
		}
		return policy.Errorf(policy.CodeForbidden, "the role %s may not do this", p.Role)
	}
}

func (u *UI) opsHead(c echo.Context, tab, title string) opsHead {
	return opsHead{Tab: tab, TitleKey: title, ReadOnly: principalOf(c.Request()).Role != store.RoleOperator}
}

// OpsTabs are the pages of operators.
func (b base) OpsTabs(h opsHead) []groupTab {
	return []groupTab{
		{b.Say("tab_fleet"), "/ops", h.Tab == "fleet"},
		{b.Say("tab_bounds"), "/ops/bounds", h.Tab == "bounds"},
		{b.Say("tab_defaults"), "/ops/defaults", h.Tab == "defaults"},
		{b.Say("tab_audit"), "/ops/audit", h.Tab == "audit"},
		{b.Say("tab_tokens"), "/ops/tokens", h.Tab == "tokens"},
	}
}
