package sync_test

import (
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/store"
	policysync "github.com/pacekeeper/pacekeeper/sync"
)

// own is a site whose Redis is the test's alone.
func own(t *testing.T, args ...string) (site, *redistest.Server) {
	t.Helper()
	server := redistest.Start(t, args...)
	rdb := server.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	return site{url: pgtest.Postgres(t), rdb: rdb, keys: enforce.NewKeys("")}, server
}

// drained waits until nothing waits to be published.
func (i *instance) drained(t *testing.T) {
	t.Helper()
	eventually(t, "outbox empty", func() bool {
		status, err := i.store.SyncStatus(t.Context())
		return err == nil && status.OutboxDepth == 0
	})
}

// TestRedisTakesNoWrites makes Redis a replica, then full: the instance is not ready though Redis answers, a save is
// pending, and all is live soon after it takes writes again, without waiting for a lease to end.
func TestRedisTakesNoWrites(t *testing.T) {
	t.Parallel()
	for name, turn := range map[string][2][]any{
		"replica": {{"REPLICAOF", "127.0.0.1", "1"}, {"REPLICAOF", "NO", "ONE"}},
		"full":    {{"CONFIG", "SET", "maxmemory", "1"}, {"CONFIG", "SET", "maxmemory", "0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, _ := own(t)
			a := start(t, at)
			a.group(t, "g1")
			a.live(t, a.save(t, "g1", `{"actions": {"message": {"min_interval_ms": 3000}}}`))
			if err := at.rdb.Do(t.Context(), turn[0]...).Err(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "not ready", func() bool { return a.Ready() != nil })
			version := a.save(t, "g1", `{"actions": {"message": {"min_interval_ms": 4000}}}`)
			if _, ok := a.Wait(t.Context(), "g1", version); ok {
				t.Error("live in a Redis that takes no writes")
			}
			if err := at.rdb.Do(t.Context(), turn[1]...).Err(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "live and ready", func() bool {
				status, err := a.store.SyncStatus(t.Context())
				return at.field(t, at.keys.Policy("message", "g1"), "min_interval_ms") == "4000" && a.Ready() == nil &&
					err == nil && status.OutboxDepth == 0
			})
		})
	}
}

// TestRedisComesBackOlder restarts Redis from a snapshot that is older than what was published: newer documents come
// back, and what was withdrawn or lifted since does not stay.
func TestRedisComesBackOlder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at, server := own(t, "--dir", dir)
	a := start(t, at)
	for _, id := range []string{"g1", "g2", "g3"} {
		a.group(t, id)
		a.save(t, id, `{"actions": {"message": {"min_interval_ms": 3000}, "like": {"ban": {"for_ms": 3600000}}}, "notices": {"en": {"too_soon": "Slow"}}}`)
	}
	mute := store.MuteInput{EndMS: time.Now().Add(time.Hour).UnixMilli()}
	if _, err := a.store.PutMute(t.Context(), operator, "g1", "u1", store.Anything(), mute); err != nil {
		t.Fatal(err)
	}
	at.banFor(t, a, "g1", "u2")
	a.drained(t)
	if err := at.rdb.Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	a.save(t, "g1", `{"actions": {"message": {"min_interval_ms": 4000}}}`)
	a.save(t, "g2", `{}`)
	if _, err := a.store.ArchiveGroup(t.Context(), operator, store.Anything(), "g3"); err != nil {
		t.Fatal(err)
	}
	if _, err := a.store.LiftMute(t.Context(), operator, "g1", "u1", store.Anything()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.store.LiftBan(t.Context(), operator, "g1", "like", "u2"); err != nil {
		t.Fatal(err)
	}
	a.drained(t)

	server.Restart(t, "--dir", dir)
	eventually(t, "the newer document", func() bool { return at.field(t, at.keys.Policy("message", "g1"), "min_interval_ms") == "4000" })
	for _, key := range []string{
		at.keys.Policy("like", "g1"), at.keys.Notice("g1"), at.keys.Policy("message", "g2"), at.keys.Policy("message", "g3"),
	} {
		eventually(t, key+" is withdrawn", func() bool { return at.field(t, key, "deleted") == "1" })
	}
	eventually(t, "mute and ban are lifted", func() bool {
		return at.peek(t, "g1", "u1").Code != 12 && at.like(t, "g1", "u2").Code != 13
	})
}

// TestAHealthyLookAsksForNothing looks at one server many times: nothing counts as away meanwhile, and no pass over the
// fleet is asked for.
func TestAHealthyLookAsksForNothing(t *testing.T) {
	t.Parallel()
	a := start(t, real(t), rarely, func(c *policysync.Config) { c.EpochEvery = time.Millisecond })
	look := func() (at time.Time) {
		for _, lane := range a.Status().Lanes {
			if lane.Name == "epochs" {
				at = lane.At
			}
		}
		return at
	}
	looks := func(n int) {
		for range n {
			before := look()
			eventually(t, "another look", func() bool { return look().After(before) })
		}
	}
	looks(10)
	eventually(t, "what the start asked for is done", func() bool { return !a.Status().Fleet.Running })
	pass := a.Status().Fleet
	looks(20)
	if got := a.Status(); !got.RedisOK || got.Fleet.Running || !got.Fleet.BeganAt.Equal(pass.BeganAt) {
		t.Errorf("after the start's pass %+v came %+v", pass, got.Fleet)
	}
}
