package sync_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/store"
)

// oddIDs are group ids that a careless rebuild would fold, split or renumber (C36, C15).
func oddIDs() []string {
	return []string{"!a:b", "!a", "A", "a", "007", "7", "-1002471352452", "!a/b🐈:example.org", "*", "9007199254740993"}
}

// furnish gives each group a policy, a notice and exemptions.
func (i *instance) furnish(t *testing.T, ids []string) {
	t.Helper()
	for n, id := range ids {
		i.group(t, id)
		i.save(t, id, `{"actions": {"message": {"min_interval_ms": `+strconv.Itoa(1000+n)+`}}, "exempt_roles": ["vip"], "notices": {"zh": {"too_many": "慢一点"}}}`)
		for _, user := range []string{id, "u:" + id} {
			if _, err := i.store.PutExemption(t.Context(), operator, id, store.Anything(), store.Exemption{UserID: user}); err != nil {
				t.Fatal(err)
			}
		}
	}
	eventually(t, "outbox empty", func() bool {
		status, err := i.store.SyncStatus(t.Context())
		return err == nil && status.OutboxDepth == 0
	})
}

// whole reports whether all epochs are there and complete.
func (at site) whole(t *testing.T) bool {
	t.Helper()
	for shard := range enforce.Shards {
		epoch := at.rdb.Get(t.Context(), at.keys.Epoch(uint8(shard))).Val()
		if epoch == "" || epoch[0] == '~' {
			return false
		}
	}
	return true
}

func TestC36_RebuildGivesTheSame(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, at site) {
		t.Helper()
		a := start(t, at)
		a.furnish(t, oddIDs())
		before := at.snapshot(t)
		if want := len(oddIDs())*5 + 7*enforce.Shards; len(before) < want {
			t.Fatalf("%d keys before the rebuild, want at least %d", len(before), want)
		}
		at.flush(t)
		eventually(t, "whole again", func() bool { return at.whole(t) })
		if diff := cmp.Diff(before, at.snapshot(t)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestC54_FlushIsNoticed wipes Redis: policies, defaults, exemptions, mutes and bans return by themselves.
func TestC54_FlushIsNoticed(t *testing.T) {
	t.Parallel()
	at := real(t)
	a, _ := start(t, at), start(t, at)
	a.furnish(t, []string{"g1", "g2"})
	until := time.Now().Add(time.Hour).UnixMilli()
	if _, err := a.store.PutMute(t.Context(), operator, "g1", "loud", store.Anything(), store.MuteInput{EndMS: until}); err != nil {
		t.Fatal(err)
	}
	at.banFor(t, a, "g2", "liker")
	eventually(t, "muted and banned", func() bool {
		return at.check(t, "loud").Code == 12 && at.like(t, "g2", "liker").Code == 13
	})
	before := at.snapshot(t)

	began := time.Now()
	at.flush(t)
	eventually(t, "whole again", func() bool { return at.whole(t) })
	t.Logf("FLUSHDB to whole: %v", time.Since(began))
	if diff := cmp.Diff(before, at.snapshot(t)); diff != "" {
		t.Error(diff)
	}
	if d := at.check(t, "loud"); d.Code != 12 {
		t.Errorf("the muted member may speak: %+v", d)
	}
	if d := at.like(t, "g2", "liker"); d.Code != 13 {
		t.Errorf("the banned member may act: %+v", d)
	}
}

// banFor drives a member over a limit that bans, and waits until the database knows it.
func (at site) banFor(t *testing.T, i *instance, group, user string) {
	t.Helper()
	for range 11 { // like: 10 per 10 s, then banned 1 h
		at.like(t, group, user)
	}
	if err := i.Drain(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	bans, err := i.store.ListBans(t.Context(), group, "", 10)
	if err != nil || len(bans.Items) != 1 || bans.Items[0].UserID != user {
		t.Fatalf("bans %+v, %v", bans.Items, err)
	}
}

// TestLiftedMuteStaysLifted takes a mute of the script over, lifts it, and lets its event come late and Redis be rebuilt.
func TestLiftedMuteStaysLifted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, at site) {
		t.Helper()
		a := start(t, at)
		a.group(t, "g1")
		a.live(t, a.save(t, "g1", `{"actions": {"message": {"min_interval_ms": null, "window": {"algorithm": "sliding_window", "limit": 3, "period_ms": 5000}}},
			"penalties": {"ladder": [{"after": 2, "do": "mute", "for_ms": 60000}]}}`))
		now := time.Now().UnixMilli()
		for n := range 3 {
			at.checkAt(t, "g1", "u1", now+int64(n))
		}
		at.checkAt(t, "g1", "u1", now+1500) // first strike
		if d := at.checkAt(t, "g1", "u1", now+3000); d.Step != 1 {
			t.Fatalf("second strike answers %+v", d)
		}
		if err := a.Drain(t.Context(), "g1"); err != nil {
			t.Fatal(err)
		}
		m, err := a.store.Mute(t.Context(), "g1", "u1")
		if err != nil || m.Cause != store.CauseLadder || m.StartMS != now+3000 || m.EndMS != now+63_000 {
			t.Fatalf("mute in the database %+v, %v", m, err)
		}
		if _, err := a.store.LiftMute(t.Context(), operator, "g1", "u1", store.Anything()); err != nil {
			t.Fatal(err)
		}
		free := func() bool { return at.peek(t, "g1", "u1").Code != 12 }
		eventually(t, "lifted in Redis", free)

		late := store.HoldEvent{GroupID: "g1", Action: "message", UserID: "u1", Cause: m.Cause, Step: 1, MuteStartMS: m.StartMS, MuteEndMS: m.EndMS}
		batch := store.EventBatch{Shard: enforce.Shard("g1"), Cursor: "0-1", Events: []store.HoldEvent{late}}
		if err := a.store.ApplyEvents(t.Context(), []store.EventBatch{batch}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.store.Mute(t.Context(), "g1", "u1"); err == nil {
			t.Error("a late event brings the mute back")
		}
		at.flush(t)
		eventually(t, "whole again", func() bool { return at.whole(t) })
		if !free() {
			t.Error("a rebuild brings the mute back")
		}
	})
}
