package sync_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	policysync "github.com/pacekeeper/pacekeeper/sync"
)

// steadily reconciles back to back.
func steadily(c *policysync.Config) {
	c.ReconcileEvery = time.Millisecond
}

// rarely reconciles once, at the start.
func rarely(c *policysync.Config) { c.ReconcileEvery = time.Hour }

func hence() int64 { return time.Now().Add(time.Hour).UnixMilli() }

// walked waits until the pass that each start begins is over: it mends by itself what is not published yet, and wholly.
func (i *instance) walked(tb testing.TB) *instance {
	tb.Helper()
	eventually(tb, "the first pass of the reconciler", func() bool { return !i.Status().Reconcile.At.IsZero() })
	return i
}

// reconciled waits until a whole pass that began after now is over.
func (i *instance) reconciled(tb testing.TB) policysync.ReconcileStatus {
	tb.Helper()
	var st policysync.ReconcileStatus
	now := time.Now()
	eventually(tb, "a pass of the reconciler", func() bool {
		st = i.Status().Reconcile
		return st.At.After(now)
	})
	return st
}

// TestHealthyPassWritesNothing counts the commands of the server over passes of two instances, one of them damaged in no
// way: none writes.
func TestHealthyPassWritesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := server.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	at := site{url: pgtest.Postgres(t), rdb: rdb, keys: enforce.NewKeys("")}
	a := start(t, at, steadily)
	a.furnish(t, oddIDs())
	a.group(t, "none")
	at.banFor(t, a, "none", "liker")
	a.reconciled(t)
	before := writes(t, rdb)
	for range 3 {
		if st := a.reconciled(t); st.Repaired != 0 || st.Ahead != 0 || st.Groups != int64(len(oddIDs())+1) {
			t.Errorf("pass %+v", st)
		}
	}
	if diff := cmp.Diff(before, writes(t, rdb)); diff != "" {
		t.Error(diff)
	}
}

// writes are the calls of each command that changes something, scripts included.
func writes(t *testing.T, rdb *redis.Client) map[string]string {
	t.Helper()
	info, err := rdb.InfoMap(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]string{}
	for name, stats := range info["Commandstats"] {
		switch strings.TrimPrefix(name, "cmdstat_") {
		case "hset", "del", "zadd", "eval", "evalsha", "zrem", "expire":
			calls[name], _, _ = strings.Cut(stats, ",")
		}
	}
	if len(calls) == 0 {
		t.Fatal("no command was counted")
	}
	return calls
}

// TestC50_EditsBesideTheReconciler edits one group a thousand times from two instances that reconcile back to back. A
// reader never sees a version go down, and the last one stays.
func TestC50_EditsBesideTheReconciler(t *testing.T) {
	t.Parallel()
	at := real(t)
	both := []*instance{start(t, at, steadily), start(t, at, steadily)}
	both[0].group(t, "g1")
	key := at.keys.Policy("message", "g1")
	ctx, cancel := context.WithCancel(t.Context())
	var reading, editing sync.WaitGroup
	defer reading.Wait()
	defer cancel()
	reading.Go(func() {
		last := int64(0)
		for ctx.Err() == nil {
			version, err := at.rdb.HGet(ctx, key, "version").Int64()
			if err == nil && version < last {
				t.Errorf("version %d after %d", version, last)
			}
			last = max(last, version)
		}
	})
	var newest atomic.Int64
	for n, inst := range both {
		editing.Go(func() {
			for i := range 500 {
				version := inst.save(t, "g1", fmt.Sprintf(`{"actions": {"message": {"min_interval_ms": %d}}}`, 1000+2*i+n))
				newest.Store(max(newest.Load(), version))
			}
		})
	}
	editing.Wait()
	eventually(t, "the last version", func() bool { return at.field(t, key, "version") == "1000" })
	for _, inst := range both {
		st := inst.reconciled(t)
		if st.Ahead != 0 || st.Repaired != 0 || inst.Ready() != nil {
			t.Errorf("after the edits: %+v, %v", st, inst.Ready())
		}
		for _, kind := range []string{"fields", "ahead", "stray", "missing"} {
			if n := inst.Drift(kind); n != 0 {
				t.Errorf("%v edits counted as drift (%s)", n, kind)
			}
		}
	}
	if got := at.field(t, key, "version"); got != "1000" || newest.Load() != 1000 {
		t.Errorf("version %s in Redis, %d saved", got, newest.Load())
	}
}

// gate holds up the first script that a client runs after it was armed.
type gate struct {
	armed   atomic.Bool
	reached chan struct{}
	pass    chan struct{}
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook { return next }
func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if strings.HasPrefix(cmd.Name(), "eval") && g.armed.CompareAndSwap(true, false) {
			close(g.reached)
			<-g.pass
		}
		return next(ctx, cmd)
	}
}

// TestC50_PausedBetweenReadAndWrite pauses a reconciler that is about to mend a hash, and edits the group meanwhile: what
// it writes late changes nothing.
func TestC50_PausedBetweenReadAndWrite(t *testing.T) {
	t.Parallel()
	for name, command := range map[string][]any{
		"damaged": {"min_interval_ms", "0"},
		"ahead":   {"order", "99999999999999"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := real(t)
			a := start(t, at, rarely)
			a.group(t, "g1")
			a.live(t, a.save(t, "g1", `{"actions": {"message": {"min_interval_ms": 3000}}}`))
			eventually(t, "first pass of a", func() bool { return !a.Status().Reconcile.At.IsZero() })
			key := at.keys.Policy("message", "g1")
			if err := at.rdb.HSet(t.Context(), key, command...).Err(); err != nil {
				t.Fatal(err)
			}
			g := &gate{reached: make(chan struct{}), pass: make(chan struct{})}
			options := *at.rdb.(*redis.Client).Options()
			slow := redis.NewClient(&options)
			t.Cleanup(func() { _ = slow.Close() })
			slow.AddHook(g)
			b := prepare(t, at, slow, steadily, func(c *policysync.Config) { c.CallTimeout, c.PollEvery = soon, time.Hour })
			b.run(t).ready(t)
			g.armed.Store(true)
			<-g.reached
			version := strconv.FormatInt(a.save(t, "g1", `{"actions": {"message": {"min_interval_ms": 4000}}}`), 10)
			if name == "damaged" {
				eventually(t, "the edit is live", func() bool { return at.field(t, key, "version") == version })
			}
			eventually(t, "the edit is done with", func() bool {
				status, err := a.store.SyncStatus(t.Context())
				return err == nil && status.OutboxDepth == 0
			})
			close(g.pass)
			b.reconciled(t)
			eventually(t, "the edit stays", func() bool { return at.field(t, key, "min_interval_ms") == "4000" })
			if name == "damaged" && b.Drift("fields") != 0 {
				t.Error("a late write was taken")
			}
		})
	}
}

// TestRestoredBackupReplacesNothing puts the orders of a whole fleet above the database's, and takes them back: not ready
// meanwhile, and Redis keeps what it has.
func TestRestoredBackupReplacesNothing(t *testing.T) {
	t.Parallel()
	at := real(t)
	a := start(t, at, steadily)
	var ids []string
	for n := range 30 {
		ids = append(ids, "g"+strconv.Itoa(n))
	}
	a.furnish(t, ids)
	a.reconciled(t)
	healthy := at.snapshot(t)
	a.stop()
	for _, id := range ids[:12] {
		if err := at.rdb.HSet(t.Context(), at.keys.Policy("message", id), "order", "99999999999999").Err(); err != nil {
			t.Fatal(err)
		}
	}
	if err := at.rdb.HSet(t.Context(), at.keys.Policy("message", "g20"), "limit", "1").Err(); err != nil {
		t.Fatal(err)
	}
	before := at.snapshot(t)
	b := prepare(t, at, nil, steadily).run(t)
	eventually(t, "noticed", func() bool {
		err := b.Ready()
		return err != nil && strings.Contains(err.Error(), "restored backup")
	})
	if st := b.reconciled(t); st.Ahead != 12 || st.Repaired != 0 {
		t.Errorf("pass %+v", st)
	}
	diff := cmp.Diff(before, at.snapshot(t))
	if diff != "" {
		t.Error(diff)
	}
	for _, id := range ids[:12] { // as if somebody decided
		key := at.keys.Policy("message", id)
		if err := at.rdb.HSet(t.Context(), key, "order", healthy[key]["order"]).Err(); err != nil {
			t.Fatal(err)
		}
	}
	b.ready(t)
	eventually(t, "mended", func() bool { return cmp.Equal(healthy, at.snapshot(t)) })
}
