// Package echolimit puts checks in front of echo (v4) handlers.
package echolimit

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/enforce/httplimit"
	"github.com/pacekeeper/pacekeeper/policy"
)

// Config says how a request becomes a check, as httplimit.Config does; the functions get echo's context, with its path
// parameters and what an earlier middleware has set.
type Config struct {
	Client   *enforce.Client
	Action   func(echo.Context) string // "" = the request is not limited
	Group    func(echo.Context) string
	User     func(echo.Context) string
	Roles    func(echo.Context) []string // nil = none
	Cost     func(echo.Context) int64    // nil or 0 = 1
	Locale   func(echo.Context) string   // nil = by Accept-Language
	Degraded policy.OnFailure            // "" = as the policy says
	MaxDelay time.Duration               // 0 = httplimit.DefaultMaxDelay, below 0 = none waits
}

// Fixed answers the same whatever the request, as the action of a route.
func Fixed(value string) func(echo.Context) string { return func(echo.Context) string { return value } }

// Param answers a path parameter, as the group.
func Param(name string) func(echo.Context) string {
	return func(c echo.Context) string { return c.Param(name) }
}

// Middleware checks each request before next, and answers what is refused as httplimit.Middleware does. It panics if Client,
// Action, Group or User is missing.
func Middleware(cfg Config) echo.MiddlewareFunc {
	if cfg.Client == nil || cfg.Action == nil || cfg.Group == nil || cfg.User == nil {
		panic("echolimit: Client, Action, Group and User are required")
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			passed, problem := cfg.of(c).Check(c.Request())
			if problem != nil {
				problem.Write(c.Response())
				return nil
			}
			c.SetRequest(passed)
			return next(c)
		}
	}
}

// of is the config for one request.
func (cfg Config) of(c echo.Context) httplimit.Config {
	limit := httplimit.Config{
		Client: cfg.Client, Degraded: cfg.Degraded, MaxDelay: cfg.MaxDelay,
		Action: bind(cfg.Action, c), Group: bind(cfg.Group, c), User: bind(cfg.User, c),
	}
	if cfg.Roles != nil {
		limit.Roles = bind(cfg.Roles, c)
	}
	if cfg.Cost != nil {
		limit.Cost = bind(cfg.Cost, c)
	}
	if cfg.Locale != nil {
		limit.Locale = bind(cfg.Locale, c)
	}
	return limit
}

func bind[T any](of func(echo.Context) T, c echo.Context) func(*http.Request) T {
	return func(*http.Request) T { return of(c) }
}
