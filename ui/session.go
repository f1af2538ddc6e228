package ui

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// The session's one value is the id of the token that signed in, or of the portal session. Neither secret is kept.
const (
	tokenKey  = "token_id"
	portalKey = "portal_id"
)

func newSessions(cfg Config, failed func(http.ResponseWriter, *http.Request, error)) *scs.SessionManager {
	m := scs.New()
	m.Store = cfg.Sessions
	m.HashTokenInStore = true
	m.Lifetime = sessionLifetime
	m.ErrorFunc = failed
	m.Cookie = scs.SessionCookie{
		Name: "pk_session", Path: "/", HttpOnly: true, Persist: true, Secure: cfg.Secure, SameSite: http.SameSiteLaxMode,
	}
	if cfg.Secure {
		m.Cookie.Name = "__Host-pk_session"
	}
	if len(cfg.FrameAncestors) > 0 {
		m.Cookie.SameSite, m.Cookie.Partitioned = http.SameSiteNoneMode, true
	}
	return m
}

type principalContext struct{}

// principalOf returns who is signed in; the zero Principal where nobody is.
func principalOf(r *http.Request) store.Principal {
	p, _ := r.Context().Value(principalContext{}).(store.Principal)
	return p
}

// signedIn lets only people through whose token still holds, and sends the others to the sign-in page, or, where they
// sent a form, keeps it for them. The token is read anew for each page: a revoked one ends its sessions at once.
func (u *UI) signedIn(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		principal, err := u.principal(r.Context())
		if hasCode(err, policy.CodeUnauthenticated) && r.Method == http.MethodGet && !wantsFragment(c) {
			return c.Redirect(http.StatusSeeOther, "/sign-in?to="+url.QueryEscape(r.URL.RequestURI()))
		}
		if err != nil {
			return err
		}
		c.SetRequest(r.WithContext(context.WithValue(r.Context(), principalContext{}, principal)))
		err = next(c)
		u.noteDenied(c, principal, err)
		return err
	}
}

// noteDenied counts what somebody who is signed in was refused, as the REST face does: by role, or since the group is
// none of his. A portal session counts by its own id.
func (u *UI) noteDenied(c echo.Context, p store.Principal, err error) {
	kind := ""
	switch {
	case hasCode(err, policy.CodeForbidden):
		kind = store.RefusedRole
	case hasCode(err, policy.CodeNotFound) && c.Param("group_id") != "":
		if id, fault := pathID(c); fault == nil && !p.Sees(id) {
			kind = store.RefusedGroup
		}
	}
	if kind != "" {
		u.noteRefusal(c, kind, store.TokenWho(p.TokenID))
	}
}

// noteRefusal counts one refusal of a route.
func (u *UI) noteRefusal(c echo.Context, kind, who string) {
	u.cfg.Store.NoteRefusal(store.Refusal{Kind: kind, Who: who, Route: c.Request().Method + " " + c.Path()})
}

// principal reads who is signed in; CodeUnauthenticated where nobody is or the token no longer holds.
func (u *UI) principal(ctx context.Context) (store.Principal, error) {
	if id := u.sessions.GetString(ctx, portalKey); id != "" {
		return u.portalPrincipal(ctx, id)
	}
	id := u.sessions.GetString(ctx, tokenKey)
	if id == "" {
		return store.Principal{}, policy.Errorf(policy.CodeUnauthenticated, "nobody is signed in")
	}
	token, err := u.cfg.Store.Token(ctx, id)
	if hasCode(err, policy.CodeNotFound) || (err == nil && !holds(token, u.cfg.Now())) {
		return store.Principal{}, policy.Errorf(policy.CodeUnauthenticated, "the token no longer holds")
	}
	if err != nil {
		return store.Principal{}, err
	}
	return store.Principal{TokenID: token.ID, Name: token.Name, Role: token.Role, Groups: token.Groups}, nil
}

func holds(t store.Token, now time.Time) bool {
	return t.RevokedAt.IsZero() && (t.ExpiresAt.IsZero() || now.Before(t.ExpiresAt)) && isPerson(t.Role)
}

// isPerson tells roles of people from those of services, which have nothing to see here.
func isPerson(role string) bool {
	return role == store.RoleOperator || role == store.RoleAuditor || role == store.RoleGroupAdmin
}

// actor is who saves, for the audit log.
func (u *UI) actor(c echo.Context, p store.Principal) store.Actor {
	return store.Actor{
		Name: p.Name, Role: p.Role, Channel: store.ChannelUI,
		RequestID: c.Response().Header().Get("X-Request-Id"), Address: u.cfg.Address(c.Request()),
	}
}
