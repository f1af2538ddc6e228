package sync_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // to end the listener's backend
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/store"
	policysync "github.com/pacekeeper/pacekeeper/sync"
)

// nowhere is a Redis that refuses connections.
func nowhere(tb testing.TB) redis.UniversalClient {
	tb.Helper()
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: tb.TempDir() + "/none.sock", MaxRetries: -1})
	tb.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// TestNotificationReachesAnotherInstance edits on an instance that cannot reach Redis: another one publishes at once.
func TestNotificationReachesAnotherInstance(t *testing.T) {
	t.Parallel()
	at := real(t)
	slow := func(c *policysync.Config) { c.PollEvery = time.Hour } // only the notification can carry it
	b := prepare(t, at, nil, slow).run(t).ready(t)
	a := prepare(t, at, nowhere(t), slow).run(t)
	a.group(t, "g1")
	eventually(t, "b listens", func() bool { return listeners(t, at) == 2 })
	a.save(t, "g1", `{"actions": {"message": {"min_interval_ms": 3000}}}`)
	key := at.keys.Policy("message", "g1")
	eventually(t, "published by b", func() bool { return at.field(t, key, "min_interval_ms") == "3000" })
	_, err := a.store.PutExemption(t.Context(), operator, "g1", store.Anything(), store.Exemption{UserID: "u1"})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "exemption published by b", func() bool { return at.rdb.ZCard(t.Context(), at.keys.Exempt("g1")).Val() == 1 })
	if b.Ready() != nil || a.Ready() == nil {
		t.Error("b should be ready, a not")
	}
}

func listeners(t *testing.T, at site) (n int) {
	t.Helper()
	withSQL(t, at, func(db *sql.DB) error {
		return db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE 'listen%'`).Scan(&n)
	})
	return n
}

func withSQL(t *testing.T, at site, fn func(*sql.DB) error) {
	t.Helper()
	db, err := sql.Open("pgx", at.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := fn(db); err != nil {
		t.Fatal(err)
	}
}

// TestC53_ListenerIsCutOff ends the backend that listens; what is saved in the gap and after it goes live.
func TestC53_ListenerIsCutOff(t *testing.T) {
	t.Parallel()
	at := real(t)
	a := start(t, at)
	eventually(t, "listening", func() bool { return listeners(t, at) == 1 })
	quiet := pgtest.Open(t, at.url) // another process, which tells nobody
	editor := &instance{store: quiet}
	editor.group(t, "g1")
	withSQL(t, at, func(db *sql.DB) error {
		_, err := db.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query ILIKE 'listen%'`)
		return err
	})
	for _, ms := range []string{"3000", "4000"} {
		began := time.Now()
		editor.save(t, "g1", `{"actions": {"message": {"min_interval_ms": `+ms+`}}}`)
		eventually(t, "live", func() bool { return at.field(t, at.keys.Policy("message", "g1"), "min_interval_ms") == ms })
		t.Logf("live after %v", time.Since(began))
		eventually(t, "listening again", func() bool { return listeners(t, at) == 1 })
	}
	if err := a.Ready(); err != nil {
		t.Error(err)
	}
}

// TestRedisAwayDuringEdits kills Redis, edits, and starts it empty: edits are saved at once and pending, and all is live
// when it is back.
func TestRedisAwayDuringEdits(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := server.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	at := site{url: pgtest.Postgres(t), rdb: rdb, keys: enforce.NewKeys("")}
	a := start(t, at)
	a.group(t, "g1")
	a.live(t, a.save(t, "g1", `{"actions": {"message": {"min_interval_ms": 3000}}}`))

	server.Stop()
	var version int64
	for i := range 20 {
		version = a.save(t, "g1", fmt.Sprintf(`{"actions": {"message": {"min_interval_ms": %d}}}`, 4000+i))
	}
	eventually(t, "noticed", func() bool { return !a.Status().RedisOK })
	began := time.Now()
	if _, ok := a.Wait(t.Context(), "g1", version); ok || time.Since(began) > time.Second {
		t.Errorf("Wait answers %v after %v while Redis is away", ok, time.Since(began))
	}
	if a.Ready() == nil {
		t.Error("ready without Redis")
	}
	if record, err := a.store.Policy(t.Context(), "g1"); err != nil || !record.Pending {
		t.Errorf("pending = %v, %v", record.Pending, err)
	}

	server.Restart(t)
	eventually(t, "whole", func() bool { return at.whole(t) })
	eventually(t, "live", func() bool { return at.field(t, at.keys.Policy("message", "g1"), "min_interval_ms") == "4019" })
	eventually(t, "no longer pending", func() bool {
		record, err := a.store.Policy(t.Context(), "g1")
		status, err2 := a.store.SyncStatus(t.Context())
		return err == nil && err2 == nil && !record.Pending && status.OutboxDepth == 0 && a.Ready() == nil
	})
	eventually(t, "an idle system is in no trouble", func() bool { return a.trouble() == "" })
}

// trouble names the lanes that are in trouble.
func (i *instance) trouble() string {
	var names []string
	for _, lane := range i.Status().Lanes {
		if lane.Error != "" {
			names = append(names, lane.Name)
		}
	}
	return strings.Join(names, " ")
}

// TestBothAwayAtStart runs without database and Redis, not ready, and becomes ready when they come.
func TestBothAwayAtStart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := server.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	database := pgtest.Start(t, pgtest.Options{})
	at := site{url: database.Database(t), rdb: rdb, keys: enforce.NewKeys("")}
	server.Stop()
	database.Kill(t)
	a := prepare(t, at, nil).run(t)
	eventually(t, "all lanes in trouble", func() bool {
		for _, lane := range a.Status().Lanes {
			if lane.Name == "epochs" && lane.Error != "" {
				return true
			}
		}
		return false
	})
	if a.Ready() == nil {
		t.Error("ready without anything")
	}
	server.Restart(t)
	eventually(t, "Redis found", func() bool { return a.Status().RedisOK })
	if a.Ready() == nil {
		t.Error("ready without a database")
	}
	if at.whole(t) {
		t.Error("a shard counts as complete though nothing was read")
	}
	database.Restart(t)
	a.ready(t)
	if !at.whole(t) {
		t.Error("ready, but not whole")
	}

	database.Kill(t)
	a.Wake(store.Change{Kind: store.KindPolicy, OutboxID: "o1", GroupID: "g1", Version: 1, At: time.Now()})
	eventually(t, "telling and publishing are in trouble", func() bool {
		return strings.Contains(a.trouble(), "notify") && strings.Contains(a.trouble(), "wake")
	})
	database.Restart(t)
	eventually(t, "an idle system is in no trouble", func() bool { return a.trouble() == "" })
}

// TestAnotherInstanceTakesOver leaves a claimed row and a half built shard behind, as kill -9 does.
func TestAnotherInstanceTakesOver(t *testing.T) {
	t.Parallel()
	at := real(t)
	dead := pgtest.Open(t, at.url)
	editor := &instance{store: dead}
	editor.group(t, "g1")
	editor.save(t, "g1", `{"actions": {"message": {"min_interval_ms": 3000}}}`)
	if rows, err := dead.ClaimOutbox(t.Context(), 10, 300*time.Millisecond); err != nil || len(rows) != 1 {
		t.Fatalf("claimed %v, %v", rows, err)
	}
	pub := enforce.NewPublisher(at.rdb, at.keys)
	if ok, err := pub.SwapEpochs(t.Context(), []uint8{enforce.Shard("g1")}, []string{""}, "~dead"); err != nil || !ok[0] {
		t.Fatal(ok, err)
	}
	a := start(t, at, func(c *policysync.Config) { c.OrphanAfter = 200 * time.Millisecond })
	eventually(t, "whole", func() bool { return at.whole(t) })
	eventually(t, "published and complete", func() bool {
		status, err := a.store.SyncStatus(t.Context())
		return err == nil && status.OutboxDepth == 0 && at.field(t, at.keys.Policy("message", "g1"), "min_interval_ms") == "3000"
	})
}

// TestUnreadableDocumentHoldsUpNobody damages one group's document behind the program's back: the others are published,
// and the instance is ready.
func TestUnreadableDocumentHoldsUpNobody(t *testing.T) {
	t.Parallel()
	at := real(t)
	editor := &instance{store: pgtest.Open(t, at.url)}
	for _, id := range []string{"bad", "good"} {
		editor.group(t, id)
		editor.save(t, id, `{"actions": {"message": {"min_interval_ms": 3000}}}`)
	}
	withSQL(t, at, func(db *sql.DB) error {
		_, err := db.ExecContext(t.Context(), `UPDATE groups SET document = '{"actions": 5}' WHERE id = 'bad'`)
		return err
	})
	a := start(t, at)
	key := at.keys.Policy("message", "good")
	eventually(t, "the good one is live, the other's row waits", func() bool {
		status, err := a.store.SyncStatus(t.Context())
		return err == nil && status.OutboxDepth == 1 && at.field(t, key, "min_interval_ms") == "3000"
	})
	if n := at.rdb.Exists(t.Context(), at.keys.Policy("message", "bad")).Val(); n != 0 {
		t.Error("something was published of a document that cannot be read")
	}
}

// TestRunLeavesNothingBehind starts and stops an instance that is busy, and looks for goroutines that stayed.
//
//nolint:paralleltest // other tests' goroutines would be found
func TestRunLeavesNothingBehind(t *testing.T) {
	at := embedded(t)
	before := goleak.IgnoreCurrent()
	a := prepare(t, at, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx) }()
	a.ready(t)
	a.group(t, "g1")
	a.save(t, "g1", `{"actions": {"message": {"min_interval_ms": 3000}}}`)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, ok := a.Wait(t.Context(), "g1", 99); ok {
		t.Error("Wait after the end answers live")
	}
	if err := a.store.Close(); err != nil {
		t.Error(err)
	}
	_ = at.rdb.Close()
	goleak.VerifyNone(t, before)
}
