// Package ui serves the pages for people: sign-in, the list of groups, a group's speaking pace, members and history, and
// what operators and auditors look after: the fleet, bounds, the audit log, tokens.
// One file per page or part of one; a page is its handler, its typed struct and its template. It calls the same store as
// the REST face and knows nothing of it. Everything works without scripts; htmx and static/app.js make it live.
package ui

import (
	"compress/gzip"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"

	"github.com/pacekeeper/pacekeeper/store"
)

// Config is what New needs. Store, Sessions, Now, NewID and Log are required.
type Config struct {
	Store    *store.Store
	Sessions scs.CtxStore
	// Wait waits until the version of the group is in Redis, or the context ends. Nil = pages never wait.
	Wait func(ctx context.Context, groupID string, version int64) (store.Publication, bool)
	// Drain brings the mutes that scripts gave in a group's shard into the store. Nil = nothing to bring.
	Drain func(ctx context.Context, groupID string) error
	// Sync tells how publishing is doing. Nil = it is not known.
	Sync func() SyncState
	// Address tells the client's address, proxies honoured. Nil = the connection's.
	Address func(*http.Request) string
	// Secure says that people reach the pages by https or on a loopback host: cookies are then Secure and __Host-.
	Secure bool
	// PublicURL is an origin that forms may come from beside the request's own host. "" = none.
	PublicURL string
	// FrameAncestors are origins that may show the pages in a frame. Empty = none may.
	FrameAncestors []string
	Now            func() time.Time
	NewID          func() string
	Log            *slog.Logger
}

// UI is the pages as an http.Handler. It is safe for concurrent use.
type UI struct {
	cfg      Config
	echo     *echo.Echo
	handler  http.Handler
	sessions *scs.SessionManager
	pages    *pages
	assets   *assets
	words    catalogue
	tries    *tries
	chain    *chainCheck
	counting chan struct{} // holds one entry while an impact is counted: each takes a core and a connection
}

// sessionLifetime ends a session whatever happens in it.
const sessionLifetime = 12 * time.Hour

// New parses the templates and texts, so that a fault in one of them is found at start.
func New(cfg Config) (*UI, error) {
	if cfg.Store == nil || cfg.Sessions == nil || cfg.Now == nil || cfg.NewID == nil || cfg.Log == nil {
		return nil, errors.New("ui: Store, Sessions, Now, NewID and Log are required")
	}
	if cfg.Address == nil {
		cfg.Address = func(r *http.Request) string { return r.RemoteAddr }
	}
	words, err := parseWords(wordsJSON)
	if err != nil {
		return nil, err
	}
	files, err := loadAssets()
	if err != nil {
		return nil, err
	}
	pages, err := parsePages(files)
	if err != nil {
		return nil, err
	}
	u := &UI{cfg: cfg, pages: pages, assets: files, words: words, tries: newTries(), chain: newChainCheck(), counting: make(chan struct{}, 1)}
	u.sessions = newSessions(cfg, u.sessionFailed)
	protection := http.NewCrossOriginProtection()
	if cfg.PublicURL != "" {
		if err := protection.AddTrustedOrigin(cfg.PublicURL); err != nil {
			return nil, err
		}
	}
	protection.SetDenyHandler(http.HandlerFunc(u.crossSite))
	u.echo = u.routes()
	u.handler = u.secured(protection.Handler(u.echo))
	return u, nil
}

// ServeHTTP implements http.Handler.
func (u *UI) ServeHTTP(w http.ResponseWriter, r *http.Request) { u.handler.ServeHTTP(w, r) }

func (u *UI) routes() *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = u.fail
	session := echo.WrapMiddleware(u.sessions.LoadAndSave)
	e.GET("/static/*", u.assets.serve)
	e.Use(middleware.GzipWithConfig(middleware.GzipConfig{Level: gzip.BestSpeed, MinLength: 1024, Skipper: isStatic}))
	e.Use(legible)
	e.GET("/", u.home)
	e.POST("/language", u.chooseLanguage)
	e.GET("/sign-in", u.signInPage, session)
	e.POST("/sign-in", u.signIn, session)
	e.POST("/sign-out", u.signOut, session)
	e.GET("/portal/:code", u.portalPage)
	e.POST("/portal/:code", u.enterPortal, session)
	e.GET("/groups", u.groupsPage, session, u.signedIn)
	const group = "/groups/:group_id"
	e.GET(group, u.settingsPage, session, u.signedIn)
	e.POST(group, u.saveSettings, session, u.signedIn)
	e.GET(group+"/state", u.groupState, session, u.signedIn)
	e.POST(group+"/preview", u.previewSettings, session, u.signedIn)
	e.GET(group+"/fold", u.foldFragment, session, u.signedIn)
	e.GET(group+"/exemptions", u.namedFragment, session, u.signedIn)
	e.POST(group+"/exemptions", u.changeNamed, session, u.signedIn)
	e.GET(group+"/members", u.membersPage, session, u.signedIn)
	e.POST(group+"/members", u.changeMutes, session, u.signedIn)
	e.GET(group+"/history", u.historyPage, session, u.signedIn)
	e.GET(group+"/history/:version/restore", u.restorePage, session, u.signedIn)
	e.POST(group+"/history/:version/restore", u.restore, session, u.signedIn)
	u.opsRoutes(e, session, u.signedIn, u.watching)
	return e
}

// isStatic leaves out what is compressed already.
func isStatic(c echo.Context) bool { return c.Path() == "/static/*" }

func (u *UI) home(c echo.Context) error { return c.Redirect(http.StatusSeeOther, "/groups") }

// maxForm is the largest form that is read, in bytes: the bounds of all the actions that may be registered take some
// 300 KB, since a form says beside what is typed what it was opened with.
const maxForm = 1 << 20

// secured sets the headers that every answer carries, names the request, and survives a panic.
func (u *UI) secured(next http.Handler) http.Handler {
	ancestors := "'none'"
	if len(u.cfg.FrameAncestors) > 0 {
		ancestors = strings.Join(u.cfg.FrameAncestors, " ")
	}
	csp := "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors " + ancestors
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", csp)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		header.Set("X-Request-Id", u.cfg.NewID())
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		defer u.survive(w, r)
		next.ServeHTTP(w, r)
	})
}

// survive turns a panic into a page.
func (u *UI) survive(w http.ResponseWriter, r *http.Request) {
	fault := recover()
	if fault == nil {
		return
	}
	if fault == http.ErrAbortHandler { //nolint:errorlint // a value of panic: an export that was broken off stays so
		panic(fault)
	}
	id := w.Header().Get("X-Request-Id")
	u.cfg.Log.ErrorContext(r.Context(), "page panicked", slog.Any("fault", fault), slog.String("request_id", id))
	u.problem(w, r, http.StatusInternalServerError, "failed", id)
}
