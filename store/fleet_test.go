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
	for over := false; !over; {
		claim := must(s.ClaimFleet(tb.Context(), by, 64))(tb)
		end := must(s.EndFleetShards(tb.Context(), by, claim, 1))(tb)
		if over = end.Over; !end.Held || len(claim) == 0 && !over {
			tb.Fatalf("a claim was lost: %d shards, %+v", len(claim), end)
		}
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
		if end := must(s.EndFleetShards(b.t.Context(), claimer("a"), mine, 1))(b.t); end != (store.FleetEnd{Held: true}) {
			b.t.Errorf("the first claim ends with %+v", end)
		}
		st = must(s.FleetStatus(b.t.Context()))(b.t)
		if st.Shards != 256 || st.Left != 56 || !st.EndedAt.IsZero() {
			b.t.Errorf("status between %+v", st)
		}
		if end := must(s.EndFleetShards(b.t.Context(), claimer("b"), theirs, 1))(b.t); end != (store.FleetEnd{Held: true, Over: true}) {
			b.t.Errorf("the last claim ends with %+v", end)
		}
		st = must(s.FleetStatus(b.t.Context()))(b.t)
		if st.Running() || st.Ended != n || st.Groups != 2 || st.EndedAt.IsZero() {
			b.t.Errorf("status at the end %+v", st)
		}
	})
}

// TestFleetOfTheDeadIsTakenOver lets the lease of a claim run out.
func TestFleetOfTheDeadIsTakenOver(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		s, dying := b.store(), claimer("dead")
		dying.Lease = 300 * time.Millisecond
		ask(b.t, s, store.FleetAsk{Shards: []uint8{7, 9}})
		dead := must(s.ClaimFleet(b.t.Context(), dying, 5))(b.t)
		if none := must(s.ClaimFleet(b.t.Context(), dying, 5))(b.t); len(dead) != 2 || len(none) != 0 {
			b.t.Fatalf("claims %v, %v", dead, none)
		}
		heir := claimer("heir")
		heir.Lease = 10 * time.Second
		var taken []store.FleetShard
		for until := time.Now().Add(20 * time.Second); len(taken) == 0 && time.Now().Before(until); {
			taken = must(s.ClaimFleet(b.t.Context(), heir, 5))(b.t)
		}
		if len(taken) != 2 {
			b.t.Fatalf("the heir gets %v", taken)
		}
		if end := must(s.EndFleetShards(b.t.Context(), dying, dead, 1))(b.t); end.Held || end.Over {
			b.t.Errorf("who lost the claim may end it: %+v", end)
		}
		if end := must(s.EndFleetShards(b.t.Context(), heir, taken, 1))(b.t); !end.Held || !end.Over {
			b.t.Errorf("the heir may not end it: %+v", end)
		}
	})
}

// TestFleetSurvivesClockSteps has instances whose clocks are hours apart claim and renew: nobody takes a claim that holds,
// and with SQLite, where the clock is the one process's, a lease from before it was set back counts for nothing.
func TestFleetSurvivesClockSteps(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		offset := time.Hour
		stepping := b.store(func(c *store.Config) { c.Now = func() time.Time { return time.Now().Add(offset) } })
		ask(b.t, stepping, store.FleetAsk{})
		claim := must(stepping.ClaimFleet(b.t.Context(), claimer("stepping"), 256))(b.t)
		offset = -time.Hour
		got := must(stepping.ClaimFleet(b.t.Context(), claimer("heir"), 256))(b.t)
		if !b.postgres() {
			if len(got) != 256 {
				b.t.Errorf("%d shards after the clock was set back", len(got))
			}
			return
		}
		for _, offset = range []time.Duration{-time.Hour, time.Hour, 0} {
			if got := must(stepping.ClaimFleet(b.t.Context(), claimer("thief"), 256))(b.t); len(got) != 0 {
				b.t.Errorf("%d shards are taken away by a clock that is off by %v", len(got), offset)
			}
			if !must(stepping.RenewFleet(b.t.Context(), claimer("stepping"), claim, 1))(b.t) {
				b.t.Errorf("the claim is lost by a clock that is off by %v", offset)
			}
		}
		if st := must(stepping.FleetStatus(b.t.Context()))(b.t); time.Since(st.BeganAt).Abs() > time.Minute {
			b.t.Errorf("the job began at %v", st.BeganAt)
		}
	})
}

// TestFleetAskedAgain asks again while shards are claimed and done: who works goes on, what is done of a rebuild stays done,
// what is left of it keeps its hurry, and nothing that was asked for before is forgotten.
func TestFleetAskedAgain(t *testing.T) {
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
		if !must(s.RenewFleet(b.t.Context(), claimer("a"), held, 1))(b.t) {
			b.t.Error("who works does not go on")
		}
		rest := must(s.ClaimFleet(b.t.Context(), claimer("b"), 256))(b.t)
		if end := must(s.EndFleetShards(b.t.Context(), claimer("a"), held, 1))(b.t); !end.Held || end.Over {
			b.t.Errorf("the claim ends with %+v", end)
		}
		if st := must(s.FleetStatus(b.t.Context()))(b.t); st.Ended >= first || st.Left != 256 || !st.Unpaced {
			b.t.Errorf("shard 3 is left of %d: %+v", first, st)
		}
		rest = append(rest, must(s.ClaimFleet(b.t.Context(), claimer("c"), 256))(b.t)...)
		if len(rest) != 256 || rest[0].Shard != 0 || rest[255].Shard != 2 {
			b.t.Fatalf("%d shards, or those that were worked on are not the last", len(rest))
		}
		for _, c := range rest {
			want := store.FleetShard{Shard: c.Shard, Asked: second, Counters: store.Counters{Generation: 1, BoundsVersion: 1}}
			switch c.Shard {
			case 2: // the pace of the first asking stays; its rebuild is done
				want.Whole, want.Unpaced = true, true
			case 3:
				want.Whole, want.Unpaced, want.Nonce = true, true, "n1"
			}
			if diff := cmp.Diff(want, c); diff != "" {
				b.t.Error(diff)
			}
		}
		for by, n := range map[string]int{"b": 255, "c": 1} {
			must(s.EndFleetShards(b.t.Context(), claimer(by), rest[:n], 1))(b.t)
			rest = rest[n:]
		}
	})
}

// TestFleetServesTheHurriedFirst asks for a few shards that hurry among many that do not.
func TestFleetServesTheHurriedFirst(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		s := b.store()
		ask(b.t, s, store.FleetAsk{})
		ask(b.t, s, store.FleetAsk{Shards: []uint8{200, 250}, Unpaced: true, Whole: true, Nonce: "n"})
		claim := must(s.ClaimFleet(b.t.Context(), claimer("a"), 2))(b.t)
		if diff := cmp.Diff([]uint8{200, 250}, shards(claim)); diff != "" {
			b.t.Fatal(diff)
		}
		must(s.EndFleetShards(b.t.Context(), claimer("a"), claim, 1))(b.t)
		if st := must(s.FleetStatus(b.t.Context()))(b.t); st.Unpaced || st.Left != 254 {
			b.t.Errorf("when the hurried are done: %+v", st)
		}
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
		}
		asking.Wait()
	})
}

// TestFleetJoin has an instance that starts take part in what does as much, and ask for what does not.
func TestFleetJoin(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		s := b.store()
		pass := store.FleetAsk{Whole: true, Stale: true, Format: 1, Join: true, JoinAfter: -1}
		change := ask(b.t, s, store.FleetAsk{Format: 1})
		first := ask(b.t, s, pass)
		if again := ask(b.t, s, pass); first != change+1 || again != first {
			b.t.Errorf("asked %d, joined %d", first, again)
		}
		later, newer := pass, pass
		later.JoinAfter, newer.Format = first, 2
		if n := ask(b.t, s, later); n != first+1 {
			b.t.Errorf("joined %d, which began too early", n)
		}
		if n := ask(b.t, s, newer); n != first+2 {
			b.t.Errorf("joined %d, which writes an older format", n)
		}
		by := claimer("a")
		by.Format = 2
		claim := must(s.ClaimFleet(b.t.Context(), by, 100))(b.t)
		must(s.EndFleetShards(b.t.Context(), by, claim, 1))(b.t)
		if n := ask(b.t, s, pass); n != first+3 {
			b.t.Errorf("joined %d, of which part was done before", n)
		}
		if got := must(s.ClaimFleet(b.t.Context(), by, 256))(b.t); len(got) != 256 || got[0].Asked != first+3 || got[255].Asked != first+2 {
			b.t.Errorf("what was not done is asked for once more: %+v", got)
		}
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
		if b.postgres() { // whose clock it is
			b.exec("UPDATE fleet_shards SET claimed_until = claimed_until - 60000000")
		}
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
