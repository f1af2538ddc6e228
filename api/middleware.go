package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/labstack/echo/v4"
)

const headerPrefer = "Prefer"

// saneRequestID is what a request id may be for the log and the audit to repeat it. Compiled once: middleware is built
// anew for every request.
var saneRequestID = regexp.MustCompile(`^[A-Za-z0-9._:/+=-]{1,128}$`)

// identify gives the request its id, the caller's own if it is sane, and forbids every cache.
func (a *API) identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		id := r.Header.Get(echo.HeaderXRequestID)
		if !saneRequestID.MatchString(id) {
			id = a.cfg.NewID()
		}
		c.Response().Header().Set(echo.HeaderXRequestID, id)
		c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
		c.Response().Header().Set(echo.HeaderXContentTypeOptions, "nosniff")
		if lines := r.Header.Values(headerPrefer); len(lines) > 1 {
			r.Header.Set(headerPrefer, strings.Join(lines, ", "))
		}
		who := caller{requestID: id, address: c.RealIP()}
		c.SetRequest(r.WithContext(context.WithValue(r.Context(), callerKey{}, who)))
		return next(c)
	}
}

// measure counts answers by route pattern and logs them. It renders errors, so that it sees their status.
func (a *API) measure(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := a.cfg.Now()
		if err := next(c); err != nil {
			c.Error(err)
		}
		took := a.cfg.Now().Sub(start)
		route, method, status := c.Path(), c.Request().Method, c.Response().Status
		if route == "" {
			route, method = "none", "any" // callers may not invent labels
		}
		a.metrics.observe(method, route, status, took)
		a.cfg.Logger.LogAttrs(c.Request().Context(), slog.LevelDebug, "request",
			slog.String("method", method), slog.String("route", route), slog.Int("status", status),
			slog.Duration("took", took), slog.String("request_id", callerOf(c.Request().Context()).requestID))
		return nil
	}
}

// panicError is a recovered panic on its way to the log.
type panicError struct {
	value any
	stack []byte
}

// Error implements the error interface.
func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// recoverPanics turns a panic into an error of the edge.
func (a *API) recoverPanics(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			value := recover()
			if value == nil {
				return
			}
			if asError, ok := value.(error); ok && errors.Is(asError, http.ErrAbortHandler) {
				panic(value)
			}
			err = &panicError{value: value, stack: debug.Stack()}
		}()
		return next(c)
	}
}

// logWriter takes what echo itself prints.
type logWriter struct{ logger *slog.Logger }

// Write implements io.Writer.
func (w logWriter) Write(line []byte) (int, error) {
	w.logger.LogAttrs(context.Background(), slog.LevelWarn, "http server", slog.String("line", string(line)))
	return len(line), nil
}

func ipNet(prefix netip.Prefix) *net.IPNet {
	address := prefix.Masked().Addr()
	return &net.IPNet{IP: address.AsSlice(), Mask: net.CIDRMask(prefix.Bits(), address.BitLen())}
}
