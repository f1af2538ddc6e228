package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// caller is what the handlers know of a request beside its input.
type caller struct {
	principal store.Principal
	requestID string
	address   string
}

type callerKey struct{}

// callerOf finds the caller; the zero caller where no guard ran.
func callerOf(ctx context.Context) caller {
	found, _ := ctx.Value(callerKey{}).(caller)
	return found
}

// guard answers in the order of design §8: token (401), group visible (404), role (403). Handlers go on from there.
func (a *API) guard(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r, known := a.rules[c.Request().Method+" "+c.Path()]
		if !known {
			return next(c) // what needs no token, and the 404s and 405s of the router
		}
		principal, err := a.admit(c, r)
		late := comesLate(err)
		if err == nil {
			err = next(c)
			late = comesLate(err) || hasCode(err, policy.CodeNotFound) // of what the group holds
		}
		a.noteRefusal(c, principal, err)
		if late && !r.anew {
			return a.ordered(c, err)
		}
		return err
	}
}

// ordered puts "no such group" before the faults that come later in the order of answers. It asks the database, which a
// group that the caller may not see must not: the time that takes would tell whether there is one.
func (a *API) ordered(c echo.Context, err error) error {
	if group, inGroup, badID := groupOf(c); inGroup && badID == nil {
		if _, noGroup := a.cfg.Store.Group(c.Request().Context(), group); noGroup != nil {
			return noGroup
		}
	}
	return err
}

// comesLate reports faults of the precondition and of the input.
func comesLate(err error) bool {
	if web, ok := errors.AsType[*echo.HTTPError](err); ok {
		return web.Code == http.StatusBadRequest
	}
	for _, code := range [...]policy.Code{codePrecondition, policy.CodeMalformed, codeTooLarge, codeMediaType, policy.CodeInvalid} {
		if hasCode(err, code) {
			return true
		}
	}
	return false
}

func (a *API) admit(c echo.Context, r rule) (store.Principal, error) {
	ctx := c.Request().Context()
	principal, err := a.authenticate(ctx, c.Request().Header)
	if err != nil {
		return principal, err
	}
	group, inGroup, err := groupOf(c)
	if inGroup && !principal.Sees(group) {
		return principal, errNoGroup()
	}
	if err != nil {
		return principal, err
	}
	if !r.allows(principal.Role) {
		return principal, a.refuse(ctx, principal, group, inGroup)
	}
	if err := checkQuery(c.Request().URL.RawQuery, r); err != nil {
		return principal, err
	}
	who := callerOf(ctx)
	who.principal = principal
	c.SetRequest(c.Request().WithContext(context.WithValue(ctx, callerKey{}, who)))
	return principal, checkPath(c)
}

// authenticate reads the bearer token.
func (a *API) authenticate(ctx context.Context, header http.Header) (store.Principal, error) {
	scheme, secret, _ := strings.Cut(header.Get(echo.HeaderAuthorization), " ")
	secret = strings.TrimSpace(secret)
	if !strings.EqualFold(scheme, "bearer") || secret == "" || len(secret) > maxSecret {
		return store.Principal{}, policy.Errorf(policy.CodeUnauthenticated, "a bearer token is needed")
	}
	return a.cfg.Store.Authenticate(ctx, secret)
}

const maxSecret = 512 // bytes; far above any token

// refuse tells a known role that it may not, unless the group is not there to be seen.
func (a *API) refuse(ctx context.Context, p store.Principal, group string, inGroup bool) error {
	if inGroup {
		if _, err := a.cfg.Store.Group(ctx, group); err != nil {
			return err
		}
	}
	return policy.Errorf(policy.CodeForbidden, "the role %s may not do this", p.Role)
}

// errNoGroup is the answer for groups that are not registered and for those of others alike.
func errNoGroup() error { return policy.Errorf(policy.CodeNotFound, "no such group") }

// groupOf finds the group that the path names. err is set when what it names cannot be an id.
func groupOf(c echo.Context) (group string, inGroup bool, err error) {
	if !slices.Contains(c.ParamNames(), "group_id") {
		return "", false, nil
	}
	group, err = url.PathUnescape(c.Param("group_id"))
	if err == nil {
		err = policy.CheckID("", group)
	}
	if err != nil {
		return group, true, badPath("group_id")
	}
	return group, true, nil
}

// checkPath refuses path parameters that cannot be what they name.
func checkPath(c echo.Context) error {
	for i, name := range c.ParamNames() {
		if strings.ContainsRune(c.ParamValues()[i], '/') {
			return echo.ErrNotFound // the router gives all the rest of a path to its last parameter
		}
		value, err := url.PathUnescape(c.ParamValues()[i])
		if err != nil || !clean(value) || name == "user_id" && policy.CheckID("", value) != nil {
			return badPath(name)
		}
	}
	return nil
}

func badPath(name string) error {
	return policy.Errorf(policy.CodeMalformed, "%s in the path is not well formed: an id is 1 to 128 bytes of "+
		"percent-encoded, printable UTF-8 without spaces, {, } and |", name)
}

// checkQuery refuses parameters that the operation does not know: a misspelt filter must not select everything, and an
// id comes from the path alone.
func checkQuery(raw string, r rule) error {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return policy.Errorf(policy.CodeMalformed, "the query is not well formed")
	}
	for name, texts := range values {
		if !r.knows(name) {
			return policy.Errorf(policy.CodeMalformed, "the query parameter %q is not known here", shorten(name))
		}
		for _, text := range texts {
			if !clean(text) {
				return policy.Errorf(policy.CodeMalformed, "the query parameter %q is not valid UTF-8 text", name)
			}
		}
	}
	return nil
}

// clean reports text that both databases can hold.
func clean(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

const shown = 64 // runes of a caller's text that an answer repeats

func shorten(text string) string {
	runes := []rune(strings.ToValidUTF8(text, "\uFFFD"))
	if len(runes) > shown {
		return string(runes[:shown]) + "…"
	}
	return string(runes)
}
