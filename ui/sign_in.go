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

// signInView is the sign-in page. Fault is "" on the first visit; To is where the visitor wanted to go.
type signInView struct {
	base
	Fault string
	To    string
}

// Self is the page's own address: a change of language forgets not where the visitor wanted to go.
func (v signInView) Self() string { return "/sign-in?to=" + url.QueryEscape(v.To) }

func (u *UI) signInPage(c echo.Context) error {
	return u.showSignIn(c, http.StatusOK, "", c.QueryParam("to"))
}

func (u *UI) showSignIn(c echo.Context, status int, fault, to string) error {
	view := signInView{base: u.base(c.Request(), "sign_in"), Fault: fault, To: localPath(to)}
	if fault != "" {
		view.Title = view.Say("error_title") + view.Title
	}
	return u.render(c.Response(), status, "sign_in", view)
}

// signIn exchanges a token for a session. Wrong tries are limited per address.
func (u *UI) signIn(c echo.Context) error {
	r, say := c.Request(), u.base(c.Request(), "sign_in").Say
	address, now := u.cfg.Address(r), u.cfg.Now()
	if wait := u.tries.wait(address, now); wait > 0 {
		seconds := int64((wait + time.Second - 1) / time.Second)
		u.noteRefusal(c, store.RefusedSignIn, store.AddressWho(address))
		c.Response().Header().Set("Retry-After", plain(seconds))
		return u.showSignIn(c, http.StatusTooManyRequests, say("sign_in_paused", seconds), c.FormValue("to"))
	}
	principal, err := u.cfg.Store.Authenticate(r.Context(), strings.TrimSpace(c.FormValue("token")))
	if hasCode(err, policy.CodeUnauthenticated) {
		u.tries.failed(address, now)
		u.noteRefusal(c, store.RefusedSignIn, store.AddressWho(address))
		return u.showSignIn(c, http.StatusUnprocessableEntity, say("token_wrong"), c.FormValue("to"))
	}
	if err != nil {
		return err
	}
	u.tries.succeeded(address)
	if !isPerson(principal.Role) {
		u.noteRefusal(c, store.RefusedRole, store.TokenWho(principal.TokenID))
		return u.showSignIn(c, http.StatusForbidden, say("sign_in_not_person"), c.FormValue("to"))
	}
	return u.open(c, principal)
}

// open starts the session under a new id, so that one planted before sign-in is worth nothing.
func (u *UI) open(c echo.Context, p store.Principal) error {
	ctx := c.Request().Context()
	if err := u.sessions.RenewToken(ctx); err != nil {
		return err
	}
	u.sessions.Put(ctx, tokenKey, p.TokenID)
	if err := u.cfg.Store.SignedIn(ctx, u.actor(c, p)); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, localPath(c.FormValue("to")))
}

func (u *UI) signOut(c echo.Context) error {
	ctx := c.Request().Context()
	principal, err := u.principal(ctx)
	if err == nil {
		err = u.cfg.Store.SignedOut(ctx, u.actor(c, principal))
	}
	if err != nil && !hasCode(err, policy.CodeUnauthenticated) {
		return err
	}
	if err := u.sessions.Destroy(ctx); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/sign-in")
}
