// Package ui serves the pages for people: sign-in, the list of groups, and a group's speaking pace. One file per page;
// a page is its handler, its typed struct and its template. It calls the same store as the REST face and knows nothing
// of it.
package ui

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/store"
)

//go:embed static
var staticFiles embed.FS

// Config is what New needs. Store, Sessions, Now, NewID and Log are required.
type Config struct {
	Store    *store.Store
	Sessions scs.CtxStore
	// Wait waits until the version of the group is in Redis, or the context ends. Nil = pages never wait.
	Wait func(ctx context.Context, groupID string, version int64) (store.Publication, bool)
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
	words    catalogue
	tries    *tries
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
	pages, err := parsePages()
	if err != nil {
		return nil, err
	}
	u := &UI{cfg: cfg, pages: pages, words: words, tries: newTries()}
	u.sessions = newSessions(cfg, u.sessionFailed)
	protection := http.NewCrossOriginProtection()
	if cfg.PublicURL != "" {
		if err := protection.AddTrustedOrigin(cfg.PublicURL); err != nil {
			return nil, err
		}
	}
	protection.SetDenyHandler(http.HandlerFunc(u.crossSite))
	if u.echo, err = u.routes(); err != nil {
		return nil, err
	}
	u.handler = u.secured(protection.Handler(u.echo))
	return u, nil
}

// ServeHTTP implements http.Handler.
func (u *UI) ServeHTTP(w http.ResponseWriter, r *http.Request) { u.handler.ServeHTTP(w, r) }

func (u *UI) routes() (*echo.Echo, error) {
	files, err := fs.Sub(staticFiles, "static")
	if err != nil {
		return nil, err
	}
	e := echo.New()
	e.HTTPErrorHandler = u.fail
	session := echo.WrapMiddleware(u.sessions.LoadAndSave)
	e.GET("/static/*", echo.WrapHandler(http.StripPrefix("/static/", cached(http.FileServerFS(files)))))
	e.GET("/", u.home)
	e.POST("/language", u.chooseLanguage)
	e.GET("/sign-in", u.signInPage, session)
	e.POST("/sign-in", u.signIn, session)
	e.POST("/sign-out", u.signOut, session)
	e.GET("/groups", u.groupsPage, session, u.signedIn)
	e.GET("/groups/:group_id", u.groupPage, session, u.signedIn)
	e.POST("/groups/:group_id", u.saveGroup, session, u.signedIn)
	return e, nil
}

func (u *UI) home(c echo.Context) error { return c.Redirect(http.StatusSeeOther, "/groups") }

// maxForm is the largest form that is read, in bytes.
const maxForm = 64 << 10

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
	id := w.Header().Get("X-Request-Id")
	u.cfg.Log.ErrorContext(r.Context(), "page panicked", slog.Any("fault", fault), slog.String("request_id", id))
	u.problem(w, r, http.StatusInternalServerError, "failed", id)
}

// cached lets browsers keep the assets for an hour; they are small and change with the binary.
func cached(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=3600")
		next.ServeHTTP(w, r)
	})
}
