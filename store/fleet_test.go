package store_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

func claimer(name string) store.FleetClaimer {
	return store.FleetClaimer{Taker: name, Format: 1, Lease: time.Minute}
}

// shards lists the shards of a claim.
func shards(claim []store.FleetShard) []uint8 {
	var out []uint8
	for _, c := range claim {
		out = append(out, c.Shard)
	}
	return out
}

func ask(tb testing.TB, s *store.Store, a store.FleetAsk) int64 {
	tb.Helper()
	return must(s.AskFleet(tb.Context(), a))(tb)
}

// endAll publishes nothing and says that all is done.
func endAll(tb testing.TB, s *store.Store, by store.FleetClaimer) {
	tb.Helper()
	for {
		claim := must(s.ClaimFleet(tb.Context(), by, 64))(tb)
		if len(claim) == 0 {
			break
		}
		if !must(s.EndFleetShards(tb.Context(), by, claim, 1))(tb) {
			tb.Fatal("a claim was lost")
		}
	}
	end := must(s.ClaimFleetEnd(tb.Context(), by))(tb)
	if err := s.EndFleet(tb.Context(), end); err != nil {
		tb.Fatal(err)
	}
}

func TestFleetIsSharedByTwo(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		s, now := b.store(), b.store()
		register(b.t, s, "g1", "g2", "g3")
		n := ask(b.t, s, store.FleetAsk{Reason: "change", By: "me"})
		mine := must(s.ClaimFleet(b.t.Context(), claimer("a"), 200))(b.t)
		theirs := must(now.ClaimFleet(b.t.Context(), claimer("b"), 200))(b.t)
		all := append(shards(mine), shards(theirs)...)
		slices.Sort(all)
		if len(slices.Compact(all)) != 256 || len(mine) != 200 || len(theirs) != 56 {
			b.t.Fatalf("claims of %d and %d shards", len(mine), len(theirs))
		}
		if held := must(s.RenewFleet(b.t.Context(), claimer("a"), mine, 2))(b.t); !held {
			b.t.Error("a fresh claim is lost")
		}
		st := must(s.FleetStatus(b.t.Context()))(b.t)
		if st.Number != n || st.Reason != "change" || st.AskedBy != "me" || st.Shards != 256 || st.Left != 256 || st.Groups != 2 ||
			st.About != 3 || st.Ended != 0 || !cmp.Equal(st.Takers, []string{"a", "b"}) || st.BeganAt.IsZero() {
			b.t.Errorf("status %+v", st)
		}
		if end := must(s.ClaimFleetEnd(b.t.Context(), claimer("a")))(b.t); len(end.Shards) != 0 {
			b.t.Error("the end is given out while shards are left")
		}
		for by, claim := range map[string][]store.FleetShard{"a": mine, "b": theirs} {
			if !must(s.EndFleetShards(b.t.Context(), claimer(by), claim, 1))(b.t) {
				b.t.Error("a claim was lost")
			}
		}
		end := must(s.ClaimFleetEnd(b.t.Context(), claimer("a")))(b.t)
		if again := must(s.ClaimFleetEnd(b.t.Context(), claimer("b")))(b.t); len(end.Shards) != 256 || len(again.Shards) != 0 {
			b.t.Errorf("the end is given out with %d and %d shards", len(end.Shards), len(again.Shards))
		}
		if err := s.EndFleet(b.t.Context(), end); err != nil {
			b.t.Fatal(err)
		}
		st = must(s.FleetStatus(b.t.Context()))(b.t)
		if st.Running() || st.Ended != n || st.Groups != 2 || st.EndedAt.IsZero() {
			b.t.Errorf("status at the end %+v", st)
		}
	})
}

// TestFleetOfTheDeadIsTakenOver lets the lease of a claim, and then that of the end, run out.
func TestFleetOfTheDeadIsTakenOver(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		clock := time.Now()
		s := b.store(func(c *store.Config) { c.Now = func() time.Time { return clock } })
		ask(b.t, s, store.FleetAsk{Shards: []uint8{7, 9}})
		dead := must(s.ClaimFleet(b.t.Context(), claimer("dead"), 5))(b.t)
		if none := must(s.ClaimFleet(b.t.Context(), claimer("heir"), 5))(b.t); len(dead) != 2 || len(none) != 0 {
			b.t.Fatalf("claims %v, %v", dead, none)
		}
		clock = clock.Add(time.Minute + time.Millisecond)
		if got := must(s.ClaimFleet(b.t.Context(), claimer("heir"), 5))(b.t); len(got) != 2 {
			b.t.Fatalf("the heir gets %v", got)
		}
		if held := must(s.EndFleetShards(b.t.Context(), claimer("dead"), dead, 1))(b.t); held {
			b.t.Error("who lost the claim may end it")
		}
		if !must(s.EndFleetShards(b.t.Context(), claimer("heir"), dead, 1))(b.t) {
			b.t.Error("the heir may not end it")
		}
		if end := must(s.ClaimFleetEnd(b.t.Context(), claimer("dead")))(b.t); len(end.Shards) != 2 {
			b.t.Fatalf("the end has %v", end)
		}
		clock = clock.Add(time.Minute + time.Millisecond)
		if end := must(s.ClaimFleetEnd(b.t.Context(), claimer("heir")))(b.t); len(end.Shards) != 2 {
			b.t.Errorf("the end has %v for the heir", end)
		}
	})
}

// TestFleetSurvivesClockSteps claims by a clock that is an hour ahead, and sets it back.
func TestFleetSurvivesClockSteps(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		clock := time.Now().Add(time.Hour)
		s := b.store(func(c *store.Config) { c.Now = func() time.Time { return clock } })
		ask(b.t, s, store.FleetAsk{})
		must(s.ClaimFleet(b.t.Context(), claimer("dead"), 256))(b.t)
		clock = clock.Add(-time.Hour)
		if got := must(s.ClaimFleet(b.t.Context(), claimer("heir"), 256))(b.t); len(got) != 256 {
			b.t.Errorf("%d shards", len(got))
		}
	})
}

// TestFleetIsSuperseded asks again while shards are claimed and done: all of them begin anew, and nothing that was asked for
// before is forgotten.
func TestFleetIsSuperseded(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		s := b.store()
		first := ask(b.t, s, store.FleetAsk{Shards: []uint8{1, 2, 3}, Whole: true, Unpaced: true, Nonce: "n1"})
		done := must(s.ClaimFleet(b.t.Context(), claimer("a"), 1))(b.t)
		must(s.EndFleetShards(b.t.Context(), claimer("a"), done, 1))(b.t)
		held := must(s.ClaimFleet(b.t.Context(), claimer("a"), 1))(b.t)
		bounds := policy.ShippedBounds()
		bounds.LadderStepsMax = 3
		if _, _, err := s.UpdateBounds(b.t.Context(), actor(), store.Anything(), bounds); err != nil {
			b.t.Fatal(err)
		}
		second := ask(b.t, s, store.FleetAsk{})
		if must(s.RenewFleet(b.t.Context(), claimer("a"), held, 1))(b.t) {
			b.t.Error("a superseded claim is still held")
		}
		claim := must(s.ClaimFleet(b.t.Context(), claimer("b"), 256))(b.t)
		if len(claim) != 256 {
			b.t.Fatalf("%d shards", len(claim))
		}
		for _, c := range claim {
			want := store.FleetShard{Shard: c.Shard, Asked: second, Counters: store.Counters{Generation: 1, BoundsVersion: 1}}
			if c.Shard >= 1 && c.Shard <= 3 {
				want.Whole, want.Unpaced, want.Nonce = true, true, "n1"
			}
			if diff := cmp.Diff(want, c); diff != "" {
				b.t.Error(diff)
			}
		}
		if st := must(s.FleetStatus(b.t.Context()))(b.t); st.Ended >= first {
			b.t.Errorf("ended %d though %d was superseded", st.Ended, first)
		}
		endAll(b.t, s, claimer("b"))
	})
}

// TestFleetOfANewGeneration asks for all there is, once: who asks need not know of the new generation.
func TestFleetOfANewGeneration(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		s := b.store()
		for _, step := range []struct{ bumped, whole bool }{{}, {true, true}, {}} {
			if step.bumped {
				if _, _, err := s.BumpGeneration(b.t.Context(), actor(), 0); err != nil {
					b.t.Fatal(err)
				}
			}
			ask(b.t, s, store.FleetAsk{})
			claim := must(s.ClaimFleet(b.t.Context(), claimer("a"), 256))(b.t)
			for _, c := range claim {
				if c.Whole != step.whole || c.Stale != step.whole {
					b.t.Fatalf("%+v: whole %v, stale %v", step, c.Whole, c.Stale)
				}
			}
			must(s.EndFleetShards(b.t.Context(), claimer("a"), claim, 1))(b.t)
			endAll(b.t, s, claimer("a"))
		}
	})
}

// TestFleetTellsThePaceOfTheLast ends a job that hurries, and one that does not.
func TestFleetTellsThePaceOfTheLast(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		s := b.store()
		for _, unpaced := range []bool{true, false} {
			ask(b.t, s, store.FleetAsk{Shards: []uint8{3, 4}, Unpaced: unpaced})
			if st := must(s.FleetStatus(b.t.Context()))(b.t); st.Unpaced != unpaced {
				b.t.Errorf("running: %+v", st)
			}
			endAll(b.t, s, claimer("a"))
			if st := must(s.FleetStatus(b.t.Context()))(b.t); st.Running() || st.Unpaced != unpaced {
				b.t.Errorf("ended: %+v", st)
			}
		}
	})
}

// TestFleetEndLeavesWhatWasAskedMeanwhile asks again after the end was given out.
func TestFleetEndLeavesWhatWasAskedMeanwhile(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		s := b.store()
		first := ask(b.t, s, store.FleetAsk{})
		claim := must(s.ClaimFleet(b.t.Context(), claimer("a"), 256))(b.t)
		must(s.EndFleetShards(b.t.Context(), claimer("a"), claim, 0))(b.t)
		end := must(s.ClaimFleetEnd(b.t.Context(), claimer("a")))(b.t)
		ask(b.t, s, store.FleetAsk{Shards: []uint8{5}})
		if err := s.EndFleet(b.t.Context(), end); err != nil {
			b.t.Fatal(err)
		}
		if st := must(s.FleetStatus(b.t.Context()))(b.t); st.Shards != 1 || st.Left != 1 || st.Ended != first {
			b.t.Errorf("status %+v", st)
		}
	})
}

// TestFleetJoin has an instance that starts take part in what does as much, and wait for the end of what does not.
// TestFleetAskAndEndAtOnce asks for jobs while others end: neither waits for the other for ever.
func TestFleetAskAndEndAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		s, other := b.store(), b.store()
		var asking sync.WaitGroup
		asking.Go(func() {
			for range 40 {
				if _, err := other.AskFleet(b.t.Context(), store.FleetAsk{Reason: "change", Format: 1}); err != nil {
					b.t.Error(err)
				}
			}
		})
		for range 40 {
			claim, err := s.ClaimFleet(b.t.Context(), claimer("a"), 256)
			if err == nil {
				_, err = s.EndFleetShards(b.t.Context(), claimer("a"), claim, 1)
			}
			if err != nil {
				b.t.Error(err)
			}
			end, err := s.ClaimFleetEnd(b.t.Context(), claimer("a"))
			if err == nil && len(end.Shards) > 0 {
				err = s.EndFleet(b.t.Context(), end)
			}
			if err != nil {
				b.t.Error(err)
			}
		}
		asking.Wait()
	})
}

func TestFleetJoin(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		s := b.store()
		pass := store.FleetAsk{Whole: true, Stale: true, Format: 1, Join: true, JoinAfter: -1}
		change := ask(b.t, s, store.FleetAsk{Format: 1})
		if n := ask(b.t, s, pass); n != 0 {
			b.t.Errorf("a pass supersedes a change: %d", n)
		}
		endAll(b.t, s, claimer("a"))
		first := ask(b.t, s, pass)
		if again := ask(b.t, s, pass); first != change+1 || again != first {
			b.t.Errorf("asked %d, joined %d", first, again)
		}
		later, newer := pass, pass
		later.JoinAfter, newer.Format = first, 2
		if n := ask(b.t, s, later); n != 0 {
			b.t.Errorf("joined %d, which began too early", n)
		}
		if n := ask(b.t, s, newer); n != 0 {
			b.t.Errorf("joined %d, which writes an older format", n)
		}
		endAll(b.t, s, claimer("a"))
	})
}

// TestFleetFormat leaves shards that ask for newer hashes to newer instances, but not for ever.
func TestFleetFormat(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		clock := time.Now()
		s := b.store(func(c *store.Config) { c.Now = func() time.Time { return clock } })
		ask(b.t, s, store.FleetAsk{Format: 2})
		if got := must(s.ClaimFleet(b.t.Context(), claimer("old"), 256))(b.t); len(got) != 0 {
			b.t.Errorf("an older instance gets %d shards", len(got))
		}
		clock = clock.Add(time.Minute)
		if got := must(s.ClaimFleet(b.t.Context(), claimer("old"), 256))(b.t); len(got) != 256 {
			b.t.Errorf("nobody newer is there, and an older instance gets %d shards", len(got))
		}
	})
}

func TestFleetAskTakesItsRows(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		s := b.store()
		if _, _, err := s.PutAction(b.t.Context(), actor(), policy.ActionSpec{Name: "comment"}); err != nil {
			b.t.Fatal(err)
		}
		rows := must(s.ClaimOutbox(b.t.Context(), 10, time.Minute))(b.t)
		if len(rows) != 1 || rows[0].Kind != store.KindFleet || rows[0].Action != "comment" {
			b.t.Fatalf("rows %+v", rows)
		}
		ask(b.t, s, store.FleetAsk{OutboxIDs: []string{rows[0].ID}})
		if st := must(s.SyncStatus(b.t.Context()))(b.t); st.OutboxDepth != 0 || st.FleetShards != 256 {
			b.t.Errorf("status %+v", st)
		}
	})
}

// TestFleetReader reads what PublishPage reads, page by page, and comes back after its connection was cut.
func TestFleetReader(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		s := b.store()
		register(b.t, s, "g1", "g2", "g3", "g4", "odd 🐈"[:3])
		save(b.t, s, "g2", interval("3000"))
		if _, err := s.PutExemption(b.t.Context(), actor(), "g3", store.Anything(), store.Exemption{UserID: "u"}); err != nil {
			b.t.Fatal(err)
		}
		if _, err := s.ArchiveGroup(b.t.Context(), actor(), store.Anything(), "g4"); err != nil {
			b.t.Fatal(err)
		}
		want := must(s.PublishPage(b.t.Context(), nil, "", 100))(b.t)
		for i := range want {
			want[i].Locale = ""
		}
		reader := s.FleetReader()
		defer reader.Close(b.t.Context())
		var got []store.PublishRow
		for shard := range 256 {
			after := ""
			for {
				page := must(reader.Page(b.t.Context(), uint8(shard), after, 1))(b.t)
				for i := range page {
					page[i].Locale = ""
				}
				got = append(got, page...)
				if len(page) < 1 {
					break
				}
				after = page[0].GroupID
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			b.t.Error(diff)
		}
	})
}
