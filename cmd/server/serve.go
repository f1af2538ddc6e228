package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/store"
)

// serve is the command: it runs until ctx ends.
func serve(ctx context.Context, s Settings, w World) error {
	// The stores outlive the signal by the time of draining, so what newProgram starts does not end with ctx.
	redis.SetLogger(redisLog{w.Log}) // the whole process has one
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	p, err := newProgram(life, s, w)
	if err != nil {
		return err
	}
	return p.Run(ctx)
}

// Run serves until ctx ends, then drains: no new connections, running requests end, then the sync, then the stores.
func (p *Program) Run(ctx context.Context) error {
	p.warnOfPlainCookies()
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { p.background(background) })
	server := &http.Server{
		Handler: p.handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(p.world.Log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(p.listener) }()
	p.world.Log.InfoContext(ctx, "listening", slog.String("addr", p.Addr()))
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
		p.world.Log.InfoContext(ctx, "stopping")
		draining, cancel := context.WithTimeout(background, drainTime)
		err = server.Shutdown(draining)
		cancel()
	}
	stop()
	running.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, p.Close())
}

// background brings the database up to date, however long that takes, then publishes until ctx ends.
func (p *Program) background(ctx context.Context) {
	if err := p.prepare(ctx); err != nil {
		return // ctx ended first
	}
	var running sync.WaitGroup
	running.Go(func() {
		if err := p.sync.Run(ctx); err != nil {
			p.world.Log.ErrorContext(ctx, "sync ended", slog.Any("error", err))
		}
	})
	if p.settings.Demo {
		running.Go(func() { p.demo(ctx) })
	}
	running.Wait()
}

// How long prepare waits between two tries.
const retryEvery = 500 * time.Millisecond

// prepare migrates and makes the operator token, and tries again until it can or ctx ends.
func (p *Program) prepare(ctx context.Context) error {
	told := ""
	for {
		err := p.store.Migrate(ctx)
		if err == nil {
			err = p.greet(ctx)
		}
		if err == nil {
			p.prepared.Store(true)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err.Error() != told {
			told = err.Error()
			p.world.Log.WarnContext(ctx, "waiting for the database", slog.Any("error", err))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryEvery):
		}
	}
}

// greet makes the operator token if there never was one, and prints how to begin.
func (p *Program) greet(ctx context.Context) error {
	token, created, err := p.store.BootstrapOperator(ctx, p.settings.BootstrapToken)
	if err != nil {
		return err
	}
	w := welcome{base: p.URL(), dataDir: p.foundation.dataDir, redisAddr: p.foundation.redisAddr}
	switch {
	case created && p.settings.BootstrapToken != "":
		w.given = true
	case created:
		w.token = token
	}
	_, err = fmt.Fprint(p.world.Out, w)
	return err
}

func storeConfig(databaseURL string, auditKey []byte, w World, onCommit func(store.Change)) store.Config {
	return store.Config{
		DatabaseURL: databaseURL, Now: w.Now, NewID: w.NewID, Random: rand.Reader, AuditKey: auditKey, OnCommit: onCommit,
	}
}

func processMetrics() []prometheus.Collector {
	return []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})}
}

// makeToken is the command `token`: it makes an operator token on the database in use, beside a running server.
func makeToken(ctx context.Context, s Settings, w World, name string) (err error) {
	databaseURL, key, err := databaseOf(s, w)
	if err != nil {
		return err
	}
	opened, err := store.Open(storeConfig(databaseURL, key, w, nil))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	if err := opened.Migrate(ctx); err != nil {
		return err
	}
	actor := store.Actor{Name: "console", Role: store.RoleOperator, Channel: store.ChannelSystem}
	_, secret, err := opened.CreateToken(ctx, actor, store.TokenInput{Name: name, Role: store.RoleOperator})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(w.Out, secret)
	return err
}
