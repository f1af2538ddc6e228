package ui

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// portalView is what stands behind a link of the chat platform: one button. Looking at it changes nothing, so that a link
// preview does not use the link up. Fault says why the button did not work, "" at first.
type portalView struct {
	base
	Fault string
}

// Action is where the button leads: the page's own address.
func (v portalView) Action() string { return v.Back }

func (u *UI) portalPage(c echo.Context) error { return u.showPortal(c, http.StatusOK, "") }

func (u *UI) showPortal(c echo.Context, status int, fault string) error {
	c.Response().Header().Set("Referrer-Policy", "no-referrer") // the address is a secret until it is used
	view := portalView{base: u.base(c.Request(), "portal"), Fault: fault}
	view.Back = c.Request().URL.RequestURI()
	if fault != "" {
		view.Title = view.Say("error_title") + view.Title
	}
	return u.render(c.Response(), status, "portal", view)
}

// enterPortal uses the link up and signs in. Wrong codes are limited per address, as wrong tokens are.
func (u *UI) enterPortal(c echo.Context) error {
	r, say := c.Request(), u.base(c.Request(), "portal").Say
	address, now := u.cfg.Address(r), u.cfg.Now()
	if wait := u.tries.wait(address, now); wait > 0 {
		seconds := int64((wait + time.Second - 1) / time.Second)
		u.noteRefusal(c, store.RefusedSignIn, store.AddressWho(address))
		c.Response().Header().Set("Retry-After", plain(seconds))
		return u.showPortal(c, http.StatusTooManyRequests, say("sign_in_paused", seconds))
	}
	actor := u.actor(c, store.Principal{})
	p, err := u.cfg.Store.UsePortalCode(r.Context(), actor, c.Param("code"))
	if hasCode(err, policy.CodeUnauthenticated) {
		u.tries.failed(address, now)
		u.noteRefusal(c, store.RefusedSignIn, store.AddressWho(address))
		return u.showPortal(c, http.StatusGone, say("portal_over"))
	}
	if err != nil {
		return err
	}
	if err := u.sessions.RenewToken(r.Context()); err != nil {
		return err
	}
	u.sessions.Remove(r.Context(), tokenKey)
	u.sessions.Put(r.Context(), portalKey, p.ID)
	u.speak(c, p.Locale)
	return c.Redirect(http.StatusSeeOther, landing(p, c.QueryParam("group")))
}

// landing is where a person arrives: the group that the link names, else the only one, else the list.
func landing(p store.PortalSession, group string) string {
	switch {
	case group != "" && p.Principal().Sees(group):
		return groupPath(group)
	case len(p.Groups) == 1:
		return groupPath(p.Groups[0])
	}
	return "/groups"
}

// speak takes the language that the platform knows, unless the visitor has chosen one here.
func (u *UI) speak(c echo.Context, locale string) {
	if _, err := c.Cookie(languageCookie); err == nil || locale == "" {
		return
	}
	lang := english
	if strings.HasPrefix(strings.ToLower(locale), chinese) {
		lang = chinese
	}
	c.SetCookie(u.languageCookie(lang))
}

// portalPrincipal reads who is signed in by a link; CodeUnauthenticated once the session is revoked or over.
func (u *UI) portalPrincipal(ctx context.Context, id string) (store.Principal, error) {
	p, err := u.cfg.Store.PortalSession(ctx, id)
	if hasCode(err, policy.CodeNotFound) || (err == nil && !p.Holds(u.cfg.Now())) {
		return store.Principal{}, policy.Errorf(policy.CodeUnauthenticated, "the portal session is over")
	}
	if err != nil {
		return store.Principal{}, err
	}
	return p.Principal(), nil
}
