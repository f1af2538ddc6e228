package sync_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
	policysync "github.com/pacekeeper/pacekeeper/sync"
)

// clampAt makes the least interval of messages min, which every group and the defaults must then have if they ask for less.
func (i *instance) clampAt(tb testing.TB, least int64) {
	tb.Helper()
	bounds := policy.ShippedBounds()
	message := bounds.Actions["message"]
	message.MinIntervalMS = policy.Range{Min: least, Max: 10_000}
	bounds.Actions["message"] = message
	if _, _, err := i.store.UpdateBounds(tb.Context(), operator, store.Anything(), bounds); err != nil {
		tb.Fatal(err)
	}
}

// askToClampAt is clampAt and the asking for the job, as an instance does that is killed right after it.
func (i *instance) askToClampAt(tb testing.TB, least int64) {
	tb.Helper()
	i.clampAt(tb, least)
	rows, err := i.store.ClaimOutbox(tb.Context(), 10, time.Minute)
	if err != nil || len(rows) != 1 {
		tb.Fatal(rows, err)
	}
	ask := store.FleetAsk{Reason: "change", OutboxIDs: []string{rows[0].ID}, Format: enforce.HashFormat}
	if _, err := i.store.AskFleet(tb.Context(), ask); err != nil {
		tb.Fatal(err)
	}
}

// crowd registers groups that ask for an interval of 1,000 ms.
func (i *instance) crowd(tb testing.TB, groups int) {
	tb.Helper()
	for n := range groups {
		id := "g" + strconv.Itoa(n)
		i.group(tb, id)
		i.save(tb, id, `{"actions": {"message": {"min_interval_ms": 1000}}}`)
	}
}

// intervals counts the intervals that groups and default hashes have.
func (at site) intervals(tb testing.TB, groups int) map[string]int {
	tb.Helper()
	pipe := at.rdb.Pipeline()
	for n := range groups {
		pipe.HGet(tb.Context(), at.keys.Policy("message", "g"+strconv.Itoa(n)), "min_interval_ms")
	}
	for shard := range enforce.Shards {
		pipe.HGet(tb.Context(), at.keys.Default(uint8(shard), "message"), "min_interval_ms")
	}
	cmds, _ := pipe.Exec(tb.Context())
	counts := map[string]int{}
	for i, c := range cmds {
		kind := "default"
		if i < groups {
			kind = "group"
		}
		counts[kind+" "+c.(interface{ Val() string }).Val()]++
	}
	return counts
}

func (at site) allAt(tb testing.TB, groups int, group, defaults string) func() bool {
	tb.Helper()
	return func() bool {
		return cmp.Equal(at.intervals(tb, groups), map[string]int{"group " + group: groups, "default " + defaults: enforce.Shards})
	}
}

// abandoned leaves part of a job claimed, as an instance does that is killed. The lease is that of any instance.
func (i *instance) abandoned(tb testing.TB, shards int) {
	tb.Helper()
	by := store.FleetClaimer{Taker: "dead", Format: enforce.HashFormat, Lease: time.Second}
	claim, err := i.store.ClaimFleet(tb.Context(), by, shards)
	if err != nil || len(claim) != shards {
		tb.Fatalf("claimed %d, %v", len(claim), err)
	}
}

// TestFleetOfAKilledInstance kills an instance in each state of the job; another one ends it.
func TestFleetOfAKilledInstance(t *testing.T) {
	t.Parallel()
	const groups = 40
	for name, kill := range map[string]func(t *testing.T, s *store.Store, by store.FleetClaimer){
		"after asking": func(*testing.T, *store.Store, store.FleetClaimer) {},
		"in a claim": func(t *testing.T, s *store.Store, by store.FleetClaimer) {
			t.Helper()
			if claim, err := s.ClaimFleet(t.Context(), by, 100); err != nil || len(claim) != 100 {
				t.Fatal(len(claim), err)
			}
		},
		"in a claim of all": func(t *testing.T, s *store.Store, by store.FleetClaimer) {
			t.Helper()
			if claim, err := s.ClaimFleet(t.Context(), by, enforce.Shards); err != nil || len(claim) != enforce.Shards {
				t.Fatal(len(claim), err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := real(t)
			a := start(t, at)
			a.crowd(t, groups)
			eventually(t, "as saved", at.allAt(t, groups, "1000", "2000"))
			a.stop()
			dead := pgtest.Open(t, at.url)
			(&instance{store: dead}).askToClampAt(t, 3000)
			kill(t, dead, store.FleetClaimer{Taker: "dead", Format: enforce.HashFormat, Lease: 500 * time.Millisecond})

			b := start(t, at, func(c *policysync.Config) { c.FleetLease = 500 * time.Millisecond })
			eventually(t, "clamped", at.allAt(t, groups, "3000", "3000"))
			eventually(t, "nothing is left", func() bool {
				status, err := b.store.SyncStatus(t.Context())
				return err == nil && status == store.SyncStatus{}
			})
		})
	}
}

// TestFleetNewestBoundsWin changes the bounds over and over while two instances publish them; all ends at the last.
func TestFleetNewestBoundsWin(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, at site) {
		t.Helper()
		const groups = 300
		a := start(t, at)
		both := []*instance{a}
		if !strings.HasPrefix(at.url, "sqlite:") {
			both = append(both, start(t, at))
		}
		a.crowd(t, groups)
		for n := range 12 {
			both[n%len(both)].clampAt(t, int64(2000+100*n))
		}
		eventually(t, "at the last bounds", at.allAt(t, groups, "3100", "3100"))
		eventually(t, "the job ends", func() bool {
			st, err := a.store.FleetStatus(t.Context())
			return err == nil && !st.Running() && a.Status().Fleet.Groups >= groups && !a.Status().Fleet.Running
		})
		if !at.allAt(t, groups, "3100", "3100")() {
			t.Errorf("after the job: %v", at.intervals(t, groups))
		}
	})
}

// TestFleetDefaultsComeLast watches a shard's default hash while its groups are stuck in another instance: it keeps the old
// bounds until they are done. The other shards do not wait for it.
func TestFleetDefaultsComeLast(t *testing.T) {
	t.Parallel()
	at := real(t)
	const groups = 60
	a := start(t, at)
	a.crowd(t, groups)
	eventually(t, "as saved", at.allAt(t, groups, "1000", "2000"))
	a.stop()
	idle := &instance{store: pgtest.Open(t, at.url)}
	idle.askToClampAt(t, 3000)
	by := store.FleetClaimer{Taker: "slow", Format: enforce.HashFormat, Lease: time.Hour}
	claim, err := idle.store.ClaimFleet(t.Context(), by, 1)
	if err != nil || len(claim) != 1 {
		t.Fatal(claim, err)
	}
	b := prepare(t, at, nil, func(c *policysync.Config) { c.FleetLease = time.Hour }).run(t)
	eventually(t, "all but the slow one's", func() bool { st := b.Status().Fleet; return st.Running && st.Done == enforce.Shards-1 })
	slow := at.keys.Default(claim[0].Shard, "message")
	if got := at.intervals(t, groups); got["default 3000"] != enforce.Shards-1 || got["group 3000"] < groups/2 || at.field(t, slow, "min_interval_ms") != "2000" {
		t.Errorf("while a shard is left: %v", got)
	}
	if err := idle.store.GiveFleetBack(t.Context(), by, claim); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all", at.allAt(t, groups, "3000", "3000"))
}

// TestRebuildUnderSteadyChanges loses all of Redis while the bounds change faster than a claim takes: the rebuild ends, and
// hurries to its end.
func TestRebuildUnderSteadyChanges(t *testing.T) {
	t.Parallel()
	at := real(t)
	const groups = 300
	a := start(t, at, rarely)
	a.crowd(t, groups)
	a.drained(t)
	eventually(t, "nothing runs", func() bool { return !a.Status().Fleet.Running })
	n, began := 0, time.Now()
	change := func() { a.clampAt(t, int64(2000+n%1000)); n++ }
	at.flush(t)
	eventually(t, "it has begun", func() bool { change(); return a.Status().RebuildingShards > 0 || at.whole(t) })
	eventually(t, "whole, under changes", func() bool {
		change()
		status, err := a.store.FleetStatus(t.Context())
		if err == nil && status.Left > 0 && !status.Unpaced && !at.whole(t) {
			t.Errorf("a rebuild is paced: %+v", status)
		}
		return at.whole(t)
	})
	t.Logf("whole after %v and %d changes", time.Since(began), n)
	eventually(t, "nothing is left", func() bool {
		status, err := a.store.SyncStatus(t.Context())
		return err == nil && status == store.SyncStatus{}
	})
}

// TestFleetWithdrawsWhatTheRegistryDropped takes `speech` from an action: what was published of it because of penalties
// alone goes, by the fleet job itself.
func TestFleetWithdrawsWhatTheRegistryDropped(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, at site) {
		t.Helper()
		a := start(t, at, func(c *policysync.Config) { c.ReconcileEvery = time.Hour })
		a.group(t, "g1")
		a.live(t, a.save(t, "g1", `{"penalties": {"ladder": [{"after": 2, "do": "mute", "for_ms": 60000}]}}`))
		comment := at.keys.Policy("comment", "g1")
		if at.field(t, comment, "ladder") != "2m60" {
			t.Fatal("a speech action is not published")
		}
		if _, _, err := a.store.PutAction(t.Context(), operator, policy.ActionSpec{Name: "comment"}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "withdrawn", func() bool { return at.field(t, comment, "deleted") == "1" })
		if at.field(t, at.keys.Policy("message", "g1"), "ladder") != "2m60" {
			t.Error("the other one went too")
		}
		if _, _, err := a.store.PutAction(t.Context(), operator, policy.ActionSpec{Name: "comment", Speech: true}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "published again", func() bool { return at.field(t, comment, "ladder") == "2m60" })
	})
}

// TestRebuildOfAKilledInstance leaves a rebuild behind at each step: epochs begun and nothing else, then asked for, then half
// of it claimed. Another instance makes Redis whole.
func TestRebuildOfAKilledInstance(t *testing.T) {
	t.Parallel()
	for name, steps := range map[string]int{"begun": 1, "asked": 2, "claimed": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := real(t)
			editor := &instance{store: pgtest.Open(t, at.url)}
			editor.crowd(t, 20)
			all := make([]uint8, enforce.Shards)
			for i := range all {
				all[i] = uint8(i)
			}
			pub := enforce.NewPublisher(at.rdb, at.keys)
			if _, err := pub.SwapEpochs(t.Context(), all, make([]string, enforce.Shards), "~dead"); err != nil {
				t.Fatal(err)
			}
			if steps > 1 {
				ask := store.FleetAsk{Whole: true, Unpaced: true, Nonce: "dead", Format: enforce.HashFormat}
				if _, err := editor.store.AskFleet(t.Context(), ask); err != nil {
					t.Fatal(err)
				}
			}
			if steps > 2 {
				editor.abandoned(t, 128)
			}
			prepare(t, at, nil, func(c *policysync.Config) { c.OrphanAfter, c.FleetLease = time.Second, time.Second }).run(t).ready(t)
			if !at.whole(t) || !at.allAt(t, 20, "1000", "2000")() {
				t.Errorf("ready, and not whole: %v", at.intervals(t, 20))
			}
			if epoch := at.rdb.Get(t.Context(), at.keys.Epoch(0)).Val(); steps > 1 && epoch != "dead" {
				t.Errorf("the job was not gone on with: epoch %q", epoch)
			}
		})
	}
}
