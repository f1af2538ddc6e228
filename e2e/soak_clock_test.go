package e2e_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/store"
	policysync "github.com/pacekeeper/pacekeeper/sync"
)

// stepper is a third instance, in this process: store and sync as a server has them, on a clock that steps.
type stepper struct {
	store  *store.Store
	sync   *policysync.Sync
	offset atomic.Int64 // ns from the true time
	log    *transcript
}

func (c *stepper) now() time.Time {
	return time.Now().Add(time.Duration(c.offset.Load())).UTC().Truncate(time.Microsecond)
}

// startStepper starts it on a stage, and ends it with the test.
func startStepper(tb testing.TB, at *stage) *stepper {
	tb.Helper()
	c := &stepper{log: &transcript{}}
	key, err := base64.StdEncoding.DecodeString(auditKey)
	if err != nil {
		tb.Fatal(err)
	}
	newID := func() string { return uuid.Must(uuid.NewV7()).String() }
	c.store, err = store.Open(store.Config{
		DatabaseURL: at.env["PACEKEEPER_DATABASE_URL"], Now: c.now, NewID: newID, Random: rand.Reader, AuditKey: key,
		OnCommit: func(change store.Change) { c.sync.Wake(change) },
	})
	if err != nil {
		tb.Fatal(err)
	}
	rdb := redis.NewClient(&redis.Options{
		Addr: at.redis.Options().Addr, ContextTimeoutEnabled: true, MaxRetries: 1, DialerRetries: 1,
		DialTimeout: time.Second, ReadTimeout: time.Second, WriteTimeout: time.Second,
	})
	c.sync, err = policysync.New(policysync.Config{
		Store: c.store, Publisher: enforce.NewPublisher(rdb, enforce.NewKeys("")), Now: c.now, NewID: newID, SingleNode: true,
		Logger: slog.New(slog.NewTextHandler(c.log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		tb.Fatal(err)
	}
	c.run(tb, rdb)
	return c
}

func (c *stepper) run(tb testing.TB, rdb *redis.Client) {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.sync.Run(ctx)
	}()
	tb.Cleanup(func() {
		cancel()
		<-ended
		_, _ = rdb.Close(), c.store.Close()
		if tb.Failed() {
			tb.Logf("log of the instance whose clock steps:\n%s", c.log)
		}
	})
}
