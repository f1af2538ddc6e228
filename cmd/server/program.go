package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/api"
	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/store"
	policysync "github.com/pacekeeper/pacekeeper/sync"
	"github.com/pacekeeper/pacekeeper/ui"
)

// Program is a server that listens: a value, so that a test can start it on port 0. Make it with newProgram, run it once
// with Run.
type Program struct {
	settings   Settings
	world      World
	foundation foundation
	listener   net.Listener
	store      *store.Store
	checks     *enforce.Client
	holds      *enforce.Publisher
	sync       *policysync.Sync
	handler    http.Handler
	closers    []func() error // in the order of closing
	prepared   atomic.Bool    // migrations and the operator token are done
}

// How long requests may still run after the signal to stop.
const drainTime = 10 * time.Second

// newProgram listens and wires everything; it connects to nothing. What it starts ends with ctx or with Close.
func newProgram(ctx context.Context, s Settings, w World) (p *Program, err error) {
	p = &Program{settings: s, world: w}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if p.listener, err = listen(ctx, s.Addr); err != nil {
		return p, err
	}
	p.closers = append(p.closers, func() error { _ = p.listener.Close(); return nil })
	if p.foundation, err = lay(ctx, s, w); err != nil {
		return p, err
	}
	p.closers = append(p.closers, p.foundation.release)
	return p, p.wire()
}

// listen says in plain words what keeps it from listening.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use: stop what runs there, or choose another address: PACEKEEPER_ADDR=127.0.0.1:8081", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("PACEKEEPER_ADDR: %w", err)
	}
	return listener, nil
}

// wire makes the parts, from the stores up to the faces.
func (p *Program) wire() error {
	w, registry := p.world, newRegistry()
	checking, err := p.redis()
	if err != nil {
		return err
	}
	publishing, err := p.redis()
	if err != nil {
		return err
	}
	republishing, err := p.redis()
	if err != nil {
		return err
	}
	if p.store, err = p.openStore(func(c store.Change) { p.sync.Wake(c) }); err != nil {
		return err
	}
	keys := enforce.NewKeys(p.settings.RedisPrefix)
	p.checks = enforce.New(enforce.Config{Redis: checking, Prefix: p.settings.RedisPrefix, Logger: w.Log, Now: w.Now})
	p.holds = enforce.NewPublisher(publishing, keys)
	p.sync, err = policysync.New(policysync.Config{
		Store: p.store, Publisher: p.holds, FleetPublisher: enforce.NewPublisher(republishing, keys),
		Logger: w.Log, Now: w.Now, NewID: w.Nonce, Registerer: registry, SingleNode: singleNode(publishing),
	})
	if err != nil {
		return err
	}
	p.handler, err = p.faces(keys, registry)
	return err
}

func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(processMetrics()...)
	return registry
}

// redis makes a client with connections of its own: publishing is never in the way of checks.
func (p *Program) redis() (redis.UniversalClient, error) {
	target, err := parseRedisURL(p.foundation.redisURL)
	if err != nil {
		return nil, err
	}
	client := target.client()
	p.closers = append(p.closers, client.Close)
	return client, nil
}

func (p *Program) openStore(onCommit func(store.Change)) (*store.Store, error) {
	opened, err := store.Open(storeConfig(p.foundation.databaseURL, p.foundation.auditKey, p.world, onCommit))
	if err != nil {
		return nil, err
	}
	p.closers = append(p.closers, opened.Close)
	return opened, nil
}

// faces makes both faces and puts them behind one handler.
func (p *Program) faces(keys enforce.Keys, registry *prometheus.Registry) (http.Handler, error) {
	s, w := p.settings, p.world
	proxies, err := s.proxies()
	if err != nil {
		return nil, err
	}
	rest, err := api.New(api.Config{
		Store: p.store, Check: p.checks, Keys: keys, Wait: p.sync.Wait, Drain: p.sync.Drain, Holds: p.holds,
		SyncStatus: func() api.SyncStatus { return syncStatus(p.sync.Status()) }, Ready: p.Ready, Registry: registry,
		Logger: w.Log, Now: w.Now, NewID: w.NewID, TrustedProxies: proxies, PublicURL: p.URL(),
	})
	if err != nil {
		return nil, err
	}
	pages, err := ui.New(ui.Config{
		Store: p.store, Sessions: p.store.Sessions(), Wait: p.sync.Wait, Drain: p.sync.Drain, Address: clientAddress(proxies),
		Sync:   func() ui.SyncState { return pageStatus(p.sync.Status()) },
		Secure: p.secure(), PublicURL: s.PublicURL, FrameAncestors: s.FrameAncestors,
		Now: w.Now, NewID: w.NewID, Log: w.Log,
	})
	if err != nil {
		return nil, err
	}
	return route(rest, pages), nil
}

// route gives the paths of the contract to the API and the rest to the pages. It looks at the path as it was sent.
func route(rest, pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
		switch first {
		case "v1", "livez", "readyz", "metrics", "openapi.yaml", "schema", "docs":
			rest.ServeHTTP(w, r)
		default:
			pages.ServeHTTP(w, r)
		}
	})
}

// URL is where people reach the server.
func (p *Program) URL() string {
	if p.settings.PublicURL != "" {
		return strings.TrimSuffix(p.settings.PublicURL, "/")
	}
	return "http://" + p.Addr()
}

// Addr is the address that the server listens on.
func (p *Program) Addr() string { return p.listener.Addr().String() }

// secure tells whether cookies may be Secure: people come by https, or to a loopback host.
func (p *Program) secure() bool {
	u, err := url.Parse(p.URL())
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Hostname() == "localhost" || (ip != nil && ip.IsLoopback())
}

// Ready says what keeps this instance from being ready: the database, its schema, the script in Redis, the first pass.
// The schema is looked at only once this instance has migrated: a look at one that is being made waits for a second.
func (p *Program) Ready(ctx context.Context) error {
	if !p.prepared.Load() {
		return errors.New("the database's schema is not current yet")
	}
	if err := p.store.Ready(ctx); err != nil {
		return err
	}
	if err := p.checks.Ready(ctx); err != nil {
		return err
	}
	return p.sync.Ready()
}

// Close ends what newProgram started. Run calls it.
func (p *Program) Close() error {
	var faults []error
	for _, closer := range slices.Backward(p.closers) {
		faults = append(faults, closer())
	}
	p.closers = nil
	return errors.Join(faults...)
}

func (p *Program) warnOfPlainCookies() {
	if !p.secure() {
		p.world.Log.Warn("cookies are sent without Secure: people come by plain http; set PACEKEEPER_PUBLIC_URL to an https address",
			slog.String("url", p.URL()))
	}
}
