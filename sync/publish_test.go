package sync_test

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
	policysync "github.com/pacekeeper/pacekeeper/sync"
)

func TestSavedPolicyIsLive(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, at site) {
		t.Helper()
		a := start(t, at)
		a.group(t, "g1")
		version := a.save(t, "g1", `{"actions": {"message": {"min_interval_ms": 3000}}, "notices": {"en": {"too_soon": "slow down"}}}`)
		pub := a.live(t, version)
		if pub.Version != 1 || pub.Order == 0 {
			t.Errorf("publication %+v", pub)
		}
		key := at.keys.Policy("message", "g1")
		if got := at.field(t, key, "min_interval_ms"); got != "3000" {
			t.Errorf("min_interval_ms in Redis = %q", got)
		}
		if got := at.field(t, at.keys.Notice("g1"), "en.too_soon"); got != "slow down" {
			t.Errorf("notice in Redis = %q", got)
		}
		if n := at.rdb.Exists(t.Context(), at.keys.Policy("like", "g1")).Val(); n != 0 {
			t.Error("an action that the document does not name has a hash")
		}
		eventually(t, "outbox empty and live noted", func() bool {
			status, err := a.store.SyncStatus(t.Context())
			record, err2 := a.store.Policy(t.Context(), "g1")
			return err == nil && err2 == nil && status.OutboxDepth == 0 && record.Live != nil && record.Live.Version == 1 && !record.Pending
		})
	})
}

// TestClientsAreToldOfPolicies: a saved policy is announced to the clients that follow.
func TestClientsAreToldOfPolicies(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, at site) {
		t.Helper()
		words := at.rdb.Subscribe(t.Context(), at.keys.Changed())
		defer func() { _ = words.Close() }()
		if _, err := words.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
		a := start(t, at)
		a.group(t, "g1")
		a.live(t, a.save(t, "g1", `{"actions": {"message": {"min_interval_ms": 3000}}}`))
		if word, err := words.ReceiveMessage(t.Context()); err != nil || word.Payload != "g1" {
			t.Fatalf("%v, %v", word, err)
		}
	})
}

// TestStatusAndMetrics reads what operators see after an edit.
func TestStatusAndMetrics(t *testing.T) {
	t.Parallel()
	at, registry := embedded(t), prometheus.NewRegistry()
	a := start(t, at, func(c *policysync.Config) { c.Registerer = registry })
	a.group(t, "g1")
	a.live(t, a.save(t, "g1", `{"actions": {"message": {"min_interval_ms": 3000}}}`))
	eventually(t, "status", func() bool {
		s := a.Status()
		return s.Ready && s.RedisOK && s.CompleteShards == enforce.Shards && s.RebuildingShards == 0 && s.Lag.Count == 1 &&
			s.Lag.Max > 0 && !s.Fleet.Running && s.Queued == 0 && s.OutboxDepth == 0 && len(s.Lanes) > 5
	})
	for _, lane := range a.Status().Lanes {
		if lane.Error != "" || lane.At.IsZero() {
			t.Errorf("lane %+v", lane)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, f := range families {
		found[f.GetName()] = true
	}
	for _, name := range []string{
		"pacekeeper_sync_lag_seconds", "pacekeeper_sync_published_total", "pacekeeper_sync_redis_up",
		"pacekeeper_audit_head", "pacekeeper_audit_head_trusted",
	} {
		if !found[name] {
			t.Errorf("no metric %s in %v", name, found)
		}
	}
}

// TestWithdrawal removes what earlier versions published, each way that a document can lose it.
func TestWithdrawal(t *testing.T) {
	t.Parallel()
	at := real(t)
	a := start(t, at)
	a.group(t, "g1")
	a.live(t, a.save(t, "g1", `{"actions": {"message": {"mode": "soft"}, "like": {"mode": "soft"}}, "notices": {"en": {"too_soon": "x"}}}`))
	a.live(t, a.save(t, "g1", `{"actions": {"like": {"mode": "soft"}}}`))
	gone := func(key string) bool { return at.field(t, key, "deleted") == "1" }
	if !gone(at.keys.Policy("message", "g1")) || !gone(at.keys.Notice("g1")) || gone(at.keys.Policy("like", "g1")) {
		t.Error("message and notices should be withdrawn, like not")
	}

	b := start(t, at) // knows nothing of the versions before
	b.live(t, b.save(t, "g1", `{}`))
	if !gone(at.keys.Policy("like", "g1")) {
		t.Error("like should be withdrawn by an instance that never saw it")
	}
	if got := at.field(t, at.keys.Policy("like", "g1"), "program"); got != "" {
		t.Error("a tombstone keeps nothing to enforce")
	}
}

// TestC50_VersionNeverGoesBack edits one group from two instances at once while a reader watches Redis.
func TestC50_VersionNeverGoesBack(t *testing.T) {
	t.Parallel()
	at := real(t)
	instances := []*instance{start(t, at), start(t, at)}
	instances[0].group(t, "g1")
	key := at.keys.Policy("message", "g1")
	ctx, cancel := context.WithCancel(t.Context())
	var last atomic.Int64
	watched := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			seen, _ := at.rdb.HGet(ctx, key, "version").Int64()
			if before := last.Load(); ctx.Err() == nil && seen < before {
				watched <- fmt.Errorf("version %d after %d", seen, before)
				return
			}
			last.Store(max(seen, last.Load()))
		}
		watched <- nil
	}()
	var version int64
	for i := range 200 {
		version = instances[i%2].save(t, "g1", fmt.Sprintf(`{"actions": {"message": {"min_interval_ms": %d}}}`, 1000+i))
	}
	instances[1].live(t, version)
	cancel()
	if err := <-watched; err != nil {
		t.Error(err)
	}
	if got := at.field(t, key, "version"); got != strconv.FormatInt(version, 10) {
		t.Errorf("Redis ends at version %s, the database at %d", got, version)
	}
	if got := at.field(t, key, "min_interval_ms"); got != "1199" {
		t.Errorf("Redis ends at min_interval_ms %s", got)
	}
}

// TestC52_Emptying removes the last exemption, the last ladder step, the last of the document and the group itself.
func TestC52_Emptying(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, at site) {
		t.Helper()
		a := start(t, at)
		a.group(t, "g1")
		put := func(user string) {
			t.Helper()
			_, err := a.store.PutExemption(t.Context(), operator, "g1", store.Anything(), store.Exemption{UserID: user})
			if err != nil {
				t.Fatal(err)
			}
		}
		exempt := func() int64 { return at.rdb.ZCard(t.Context(), at.keys.Exempt("g1")).Val() }
		put("u1")
		eventually(t, "exempted", func() bool { return exempt() == 1 })
		if _, err := a.store.RemoveExemption(t.Context(), operator, "g1", store.Anything(), "u1"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "last exemption removed", func() bool { return exempt() == 0 })

		a.live(t, a.save(t, "g1", `{"penalties": {"ladder": []}}`))
		key := at.keys.Policy("message", "g1")
		if hash := at.rdb.HGetAll(t.Context(), key).Val(); hash["ladder"] != "" || hash["limit"] != "8" {
			t.Errorf("no ladder, limits as they were; got %v", hash)
		}
		a.live(t, a.save(t, "g1", `{}`))
		if at.field(t, key, "deleted") != "1" {
			t.Error("an empty document leaves nothing published")
		}
		if code := at.check(t, "u2").Code; code != 0 {
			t.Errorf("first message under the defaults answers %d", code)
		}

		put("u3")
		eventually(t, "exempted", func() bool { return exempt() == 1 })
		if _, err := a.store.ArchiveGroup(t.Context(), operator, store.Anything(), "g1"); err != nil {
			t.Fatal(err)
		}
		eventually(t, "archived", func() bool { return exempt() == 0 && at.field(t, key, "deleted") == "1" })
		a.group(t, "g1")
		eventually(t, "exemptions return with the group", func() bool { return exempt() == 1 })
	})
}

// TestC56_TighterLimitBindsEverywhere lowers a limit on one instance; the next message obeys wherever it is checked.
func TestC56_TighterLimitBindsEverywhere(t *testing.T) {
	t.Parallel()
	at := real(t)
	a, b := start(t, at), start(t, at)
	a.group(t, "g1")
	a.live(t, a.save(t, "g1", `{"actions": {"message": {"min_interval_ms": null}}}`))
	for i := range 3 {
		if d := at.check(t, "u1"); d.Code != 0 || d.Limit != 8 {
			t.Fatalf("message %d answers %+v", i, d)
		}
	}
	version := b.save(t, "g1", `{"actions": {"message": {"min_interval_ms": null, "window": {"algorithm": "sliding_window", "limit": 3, "period_ms": 30000}}}}`)
	b.live(t, version)
	for range 2 { // two clients, as two services would have
		if d := at.check(t, "u1"); d.Code != 11 || d.Limit != 3 || d.Version != version {
			t.Errorf("the next message answers %+v", d)
		}
	}
}

func TestBoundsAndDefaultsReachEveryGroup(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, at site) {
		t.Helper()
		a := start(t, at)
		const groups = 60
		for i := range groups {
			id := "g" + strconv.Itoa(i)
			a.group(t, id)
			a.save(t, id, `{"actions": {"message": {"min_interval_ms": 1500}}}`)
		}
		all := func(want string) func() bool {
			return func() bool {
				for i := range groups {
					if at.field(t, at.keys.Policy("message", "g"+strconv.Itoa(i)), "min_interval_ms") != want {
						return false
					}
				}
				return true
			}
		}
		eventually(t, "as saved", all("1500"))
		defaults := func(want string) func() bool {
			return func() bool {
				for shard := range enforce.Shards {
					if at.field(t, at.keys.Default(uint8(shard), "message"), "min_interval_ms") != want {
						return false
					}
				}
				return true
			}
		}
		eventually(t, "shipped defaults", defaults("2000"))

		bounds := policy.ShippedBounds()
		message := bounds.Actions["message"]
		message.MinIntervalMS = policy.Range{Min: 3000, Max: 10_000}
		bounds.Actions["message"] = message
		if _, _, err := a.store.UpdateBounds(t.Context(), operator, store.Anything(), bounds); err != nil {
			t.Fatal(err)
		}
		eventually(t, "clamped", all("3000"))
		eventually(t, "defaults clamped", defaults("3000"))
		if _, _, err := a.store.UpdateBounds(t.Context(), operator, store.Anything(), policy.ShippedBounds()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "requested values return", all("1500"))

		doc := policy.ShippedDefaults()
		m := doc.Actions["message"]
		m.MinIntervalMS = policy.State[int64](4000)
		doc.Actions["message"] = m
		if _, _, err := a.store.UpdateDefaults(t.Context(), operator, store.Anything(), doc); err != nil {
			t.Fatal(err)
		}
		eventually(t, "new defaults", defaults("4000"))
		if !all("1500")() {
			t.Error("a stated value follows the defaults")
		}
		eventually(t, "outbox empty", func() bool {
			status, err := a.store.SyncStatus(t.Context())
			return err == nil && status.OutboxDepth == 0
		})
	})
}

// TestC31_ParallelExemptions adds entries from two instances at once; Redis ends with all of them.
func TestC31_ParallelExemptions(t *testing.T) {
	t.Parallel()
	at := real(t)
	instances := []*instance{start(t, at), start(t, at)}
	instances[0].group(t, "g1")
	errs := make(chan error, 100)
	want := map[string]string{}
	end := time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)
	for i := range 100 {
		user := "u" + strconv.Itoa(i)
		want[user] = strconv.FormatInt(end.UnixMilli(), 10)
		go func() {
			_, err := instances[i%2].store.PutExemption(context.WithoutCancel(t.Context()), operator, "g1", store.Anything(),
				store.Exemption{UserID: user, ExpiresAt: end})
			errs <- err
		}()
	}
	for range 100 {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	key := at.keys.Exempt("g1")
	eventually(t, "100 exemptions in Redis", func() bool { return at.rdb.ZCard(t.Context(), key).Val() == 100 })
	if diff := cmp.Diff(want, at.snapshot(t)[key]); diff != "" {
		t.Error(diff)
	}
}
