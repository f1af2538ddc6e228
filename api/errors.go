package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
)

// Codes that only the REST face has.
const (
	codePrecondition policy.Code = "precondition_required"
	codeTooLarge     policy.Code = "too_large"
	codeMediaType    policy.Code = "unsupported_media_type"
	codeMethod       policy.Code = "method_not_allowed"
	codeInternal     policy.Code = "internal"
)

// statusOf is the only place that gives a code its status.
func statusOf(code policy.Code) int {
	switch code {
	case policy.CodeMalformed:
		return http.StatusBadRequest
	case policy.CodeUnauthenticated:
		return http.StatusUnauthorized
	case policy.CodeForbidden:
		return http.StatusForbidden
	case policy.CodeNotFound:
		return http.StatusNotFound
	case codeMethod:
		return http.StatusMethodNotAllowed
	case policy.CodeConflict, policy.CodeArchived:
		return http.StatusConflict
	case policy.CodeStale:
		return http.StatusPreconditionFailed
	case codeTooLarge:
		return http.StatusRequestEntityTooLarge
	case codeMediaType:
		return http.StatusUnsupportedMediaType
	case policy.CodeInvalid, policy.CodeKeyReused:
		return http.StatusUnprocessableEntity
	case codePrecondition:
		return http.StatusPreconditionRequired
	case policy.CodeUnavailable:
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}

// staleError is a failed precondition with what is there now.
type staleError struct {
	error
	current any
	tag     string
}

// Unwrap leads to the *policy.Error.
func (e *staleError) Unwrap() error { return e.error }

// stale adds the current state to an error that says it was named wrongly; other errors pass.
func stale(err error, tag string, current func() any) error {
	if known, ok := errors.AsType[*policy.Error](err); !ok || known.Code != policy.CodeStale {
		return err
	}
	return &staleError{error: err, current: current(), tag: tag}
}

// renderError writes any error as problem+json. Unknown ones are logged here, once, and shown as "internal".
func (a *API) renderError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	if hungUp(err, c) {
		_ = c.NoContent(statusHungUp) // for the metric; nobody reads it
		return
	}
	known := a.knownError(err, c)
	status := statusOf(known.Code)
	who := callerOf(c.Request().Context())
	problem := Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: int64(status), Code: string(known.Code),
		Detail: known.Message, RequestId: who.requestID, Errors: problemErrors(known.Fields),
	}
	header := c.Response().Header()
	if outdated, ok := errors.AsType[*staleError](err); ok {
		problem.Current = outdated.current
		header.Set("ETag", outdated.tag)
	}
	switch status {
	case http.StatusUnauthorized:
		header.Set(echo.HeaderWWWAuthenticate, `Bearer realm="pacekeeper"`)
	case http.StatusServiceUnavailable:
		header.Set(echo.HeaderRetryAfter, strconv.Itoa(retryAfter))
	}
	if err := writeProblem(c, status, problem); err != nil {
		a.cfg.Logger.LogAttrs(c.Request().Context(), slog.LevelDebug, "answer not written", slog.Any("error", err))
	}
}

const (
	retryAfter   = 1   // seconds
	statusHungUp = 499 // the caller closed the connection before the answer: no fault of this side
)

// hungUp says whether an error is only that of a caller who is gone: his body ends early, and what asked for him ends.
func hungUp(err error, c echo.Context) bool {
	return errors.Is(c.Request().Context().Err(), context.Canceled) &&
		(errors.Is(err, context.Canceled) || hasCode(err, policy.CodeUnavailable) || hasCode(err, policy.CodeMalformed))
}

func writeProblem(c echo.Context, status int, problem Problem) error {
	body, err := json.Marshal(problem)
	if err != nil {
		return fmt.Errorf("api: problem: %w", err)
	}
	if c.Request().Method == http.MethodHead {
		return c.NoContent(status)
	}
	return c.Blob(status, "application/problem+json", append(body, '\n'))
}

func problemErrors(fields []policy.FieldError) []ProblemError {
	list := make([]ProblemError, 0, len(fields))
	for _, f := range fields {
		list = append(list, ProblemError{Pointer: f.Pointer, Code: f.Code, Detail: f.Detail})
	}
	return list
}

// knownError finds what may be shown, and logs what may not.
func (a *API) knownError(err error, c echo.Context) *policy.Error {
	if known, ok := errors.AsType[*policy.Error](err); ok {
		if known.Code == policy.CodeUnavailable && c.Path() != "/readyz" { // a probe's answer says why, again and again
			a.logOnce(c, err)
		}
		return known
	}
	if web, ok := errors.AsType[*echo.HTTPError](err); ok && web.Code < http.StatusInternalServerError {
		return webError(web)
	}
	a.logFault(c, slog.LevelError, err)
	return policy.Errorf(codeInternal, "something went wrong here; the request id names it in the log")
}

// logOnce warns of what is away: of one text a line each ten seconds, however many callers try again.
func (a *API) logOnce(c echo.Context, err error) {
	if unsaid, ok := a.quiet.pass(err.Error(), a.cfg.Now()); ok {
		a.logFault(c, slog.LevelWarn, err, slog.Int64("unsaid", unsaid))
	}
}

func (a *API) logFault(c echo.Context, level slog.Level, err error, more ...slog.Attr) {
	ctx := c.Request().Context()
	attrs := []slog.Attr{
		slog.Any("error", err), slog.String("method", c.Request().Method), slog.String("route", c.Path()),
		slog.String("request_id", callerOf(ctx).requestID),
	}
	a.cfg.Logger.LogAttrs(ctx, level, "request failed", append(attrs, more...)...)
}

// webError puts the router's and the parameter binder's faults into our words.
func webError(web *echo.HTTPError) *policy.Error {
	switch web.Code {
	case http.StatusNotFound:
		return policy.Errorf(policy.CodeNotFound, "there is nothing at this path")
	case http.StatusMethodNotAllowed:
		return policy.Errorf(codeMethod, "this path does not know the method")
	case http.StatusRequestEntityTooLarge:
		return policy.Errorf(codeTooLarge, "the request is too large")
	case http.StatusUnsupportedMediaType:
		return policy.Errorf(codeMediaType, "the content type is not known here")
	}
	// Behind the colon stands what the generated code's parser says of itself.
	message, _, _ := strings.Cut(fmt.Sprint(web.Message), ": ")
	return policy.Errorf(policy.CodeMalformed, "%s", shorten(message))
}
