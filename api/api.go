// Package api is the REST face: HTTP in, one call of the store, JSON or problem+json out. openapi.yaml is its source;
// openapi.gen.go is made of it. Handlers return errors; errors.go alone gives them a status.
package api

import (
	"compress/gzip"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/go-playground/validator/v10"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pacekeeper/pacekeeper"
	"github.com/pacekeeper/pacekeeper/config"
	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/store"
)

//go:generate go tool oapi-codegen -config oapi-codegen.yaml ../openapi.yaml

// Config is what New needs. Store, Check, Logger, Now and NewID are required.
type Config struct {
	Store *store.Store
	Check *enforce.Client
	// Keys names the hashes in answers; it must have the prefix that Check has.
	Keys enforce.Keys
	// Wait returns once the version of a group is in Redis; false when it is not: ctx ended, Redis is away, or nothing of
	// the group is on its way. Asked for math.MaxInt64 it returns once nothing is. Nil = never known.
	Wait func(ctx context.Context, groupID string, version int64) (store.Publication, bool)
	// Drain brings the mutes and bans that scripts gave in a group's shard into the store. Nil = nothing to bring.
	Drain func(ctx context.Context, groupID string) error
	// Holds reads and lifts the bans of the system's scopes. Nil = nobody can here: 503.
	Holds *enforce.Publisher
	// SyncStatus tells how publishing is doing. Nil = nothing publishes here: 503.
	SyncStatus func() SyncStatus
	// Ready says why this instance is not ready. Nil = always ready.
	Ready func(ctx context.Context) error
	// Registry receives this package's metrics and is what /metrics shows. Nil = an own one.
	Registry *prometheus.Registry
	Logger   *slog.Logger
	Now      func() time.Time
	// NewID makes request ids for callers that bring none.
	NewID func() string
	// PublicURL is where people reach the pages, without a slash at the end: links to them begin with it.
	PublicURL string
	// TrustedProxies may name a client's address in X-Forwarded-For. Empty = nobody.
	TrustedProxies []netip.Prefix
}

// API is the REST face as an http.Handler. Make it with New; safe for concurrent use.
type API struct {
	cfg      Config
	echo     *echo.Echo
	validate *validator.Validate
	rules    map[string]rule // by method and path
	metrics  metrics
	systems  systems
	notices  notices
	quiet    quiet
	counting chan struct{}          // holds one entry while a preview is counted
	schema   func() ([]byte, error) // of files of policy as config; made once
}

// New builds the face. It fails only for a Config that lacks something required.
func New(cfg Config) (*API, error) {
	if cfg.Store == nil || cfg.Check == nil || cfg.Logger == nil || cfg.Now == nil || cfg.NewID == nil {
		return nil, errors.New("api: Store, Check, Logger, Now and NewID are required")
	}
	if cfg.Registry == nil {
		cfg.Registry = prometheus.NewRegistry()
	}
	validate, err := newValidator()
	if err != nil {
		return nil, err
	}
	a := &API{cfg: cfg, echo: echo.New(), validate: validate, rules: ruleTable(), counting: make(chan struct{}, 1)}
	a.metrics = newMetrics(cfg.Registry)
	a.systems.read = cfg.Store.System
	a.schema = sync.OnceValues(func() ([]byte, error) { return config.Schema(pacekeeper.OpenAPI) })
	a.routes()
	return a, a.allGuarded()
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.echo.ServeHTTP(w, r) }

// routes mounts everything. Middleware runs from the top down.
func (a *API) routes() {
	e := a.echo
	e.HideBanner, e.HidePort = true, true
	e.Binder = binder{}
	e.HTTPErrorHandler = a.renderError
	e.IPExtractor = extractor(a.cfg.TrustedProxies)
	e.Logger.SetOutput(logWriter{a.cfg.Logger})
	e.Pre(rawPath)
	e.Use(
		a.identify,
		a.measure,
		middleware.GzipWithConfig(middleware.GzipConfig{Level: gzip.BestSpeed, MinLength: 1024, Skipper: ownEncoding}),
		a.recoverPanics,
		a.guard,
		uploads,
	)
	RegisterHandlers(e, NewStrictHandler(a, nil))
	a.mountService()
}

// ownEncoding leaves out the answers that compress themselves.
func ownEncoding(c echo.Context) bool { return c.Path() == "/metrics" }

// rawPath routes on the path as it was sent, so that an encoded slash stays inside its id.
func rawPath(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		u := c.Request().URL
		u.RawPath = u.EscapedPath()
		return next(c)
	}
}

// extractor finds the client's address: the peer's, unless trusted proxies name another.
func extractor(trusted []netip.Prefix) echo.IPExtractor {
	if len(trusted) == 0 {
		return echo.ExtractIPDirect()
	}
	options := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, prefix := range trusted {
		options = append(options, echo.TrustIPRange(ipNet(prefix)))
	}
	return echo.ExtractIPFromXFFHeader(options...)
}
