package ui

import (
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
)

// problemView is the page of a request that came to nothing. Kept holds what was typed into a form that could not be
// saved for a reason that passes, so that it can be sent again; empty for other requests. SignIn offers to sign in first.
type problemView struct {
	base
	Text   string
	Kept   []keptField
	SignIn bool
}

// keptField is one value of a kept form.
type keptField struct{ Name, Value string }

// answer is what a visitor is told of an error: a status and a key of the catalogue.
type answer struct {
	status int
	key    string
}

// answers maps the codes of errors to pages. What is not here went wrong on our side.
func answers(code policy.Code) (answer, bool) {
	a, ok := map[policy.Code]answer{
		policy.CodeMalformed:       {http.StatusBadRequest, "refused_malformed"},
		policy.CodeUnauthenticated: {http.StatusUnauthorized, "session_over"},
		policy.CodeForbidden:       {http.StatusForbidden, "forbidden"},
		policy.CodeNotFound:        {http.StatusNotFound, "not_found"},
		policy.CodeConflict:        {http.StatusConflict, "refused_conflict"},
		policy.CodeArchived:        {http.StatusConflict, "archived_note"},
		policy.CodeStale:           {http.StatusPreconditionFailed, "refused_stale"},
		policy.CodeInvalid:         {http.StatusUnprocessableEntity, "refused_invalid"},
		policy.CodeUnavailable:     {http.StatusServiceUnavailable, "unavailable"},
	}[code]
	return a, ok
}

// worded is an error that says in the visitor's language what is wrong. Other errors speak English, and pages in other
// languages say no more of them than their code.
type worded struct {
	error
	text string
}

// Unwrap is the error of which it tells.
func (w worded) Unwrap() error { return w.error }

// hasCode reports whether err is an error of that code.
func hasCode(err error, code policy.Code) bool {
	var known *policy.Error
	return errors.As(err, &known) && known.Code == code
}

// fail is the one place where an error becomes a page. Internal text is logged here, once, and never shown.
func (u *UI) fail(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	r, id := c.Request(), c.Response().Header().Get("X-Request-Id")
	var known *policy.Error
	var routed *echo.HTTPError
	switch {
	case errors.As(err, &known):
		if a, ok := answers(known.Code); ok {
			if a.status == http.StatusServiceUnavailable {
				c.Response().Header().Set("Retry-After", "2")
			}
			key, text := a.key, known.Message
			if told, ok := errors.AsType[worded](err); ok {
				key, text = "refused", told.text
			}
			u.problem(c.Response(), r, a.status, key, text)
			return
		}
	case errors.As(err, &routed) && routed.Code < http.StatusInternalServerError:
		u.problem(c.Response(), r, routed.Code, "not_found")
		return
	}
	u.cfg.Log.ErrorContext(r.Context(), "page failed", slog.String("path", c.Path()), slog.String("request_id", id), slog.Any("error", err))
	u.problem(c.Response(), r, http.StatusInternalServerError, "failed", id)
}

// problem shows a text of the catalogue; args that the text has no place for are dropped.
func (u *UI) problem(w http.ResponseWriter, r *http.Request, status int, key string, args ...any) {
	view := problemView{base: u.base(r, "error_head"), SignIn: status == http.StatusUnauthorized}
	if view.SignIn || status >= http.StatusInternalServerError {
		view.Kept = view.kept(r)
	}
	if strings.HasPrefix(key, "refused_") && view.Lang == english && len(args) > 0 {
		key = "refused" // and what the error says, which names the field
	}
	if key != "refused" && key != "failed" {
		args = nil
	}
	view.Text = view.Say(key, args...)
	if err := u.render(w, status, "problem", view); err != nil {
		u.cfg.Log.ErrorContext(r.Context(), "problem page failed", slog.Any("error", err))
	}
}

// kept reads the form as it was sent. It echoes the sender's own words alone, and only to a sender who passed the check
// for cross-site requests; never the secret of a form that signs in.
func (b base) kept(r *http.Request) []keptField {
	if r.Method != http.MethodPost || r.ParseForm() != nil || !strings.HasPrefix(b.Path, "/groups/") && !strings.HasPrefix(b.Path, "/ops/") {
		return nil
	}
	var fields []keptField
	for _, name := range slices.Sorted(maps.Keys(r.PostForm)) {
		for _, value := range r.PostForm[name] {
			fields = append(fields, keptField{name, value})
		}
	}
	return fields
}

func (u *UI) crossSite(w http.ResponseWriter, r *http.Request) {
	u.problem(w, r, http.StatusForbidden, "cross_site")
}

// sessionFailed answers where the session could not be read or kept: the database is away.
func (u *UI) sessionFailed(w http.ResponseWriter, r *http.Request, err error) {
	u.cfg.Log.WarnContext(r.Context(), "session store failed", slog.Any("error", err))
	w.Header().Set("Retry-After", "2")
	u.problem(w, r, http.StatusServiceUnavailable, "unavailable")
}
