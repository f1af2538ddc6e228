package store_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

func TestOnCommitHearsEachChangeAfterItsCommit(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		var heard []store.Change
		s := b.store(func(c *store.Config) { c.OnCommit = func(ch store.Change) { heard = append(heard, ch) } })
		register(t, s, "g1")
		save(t, s, "g1", interval("3000"))
		save(t, s, "g1", interval("3000"))
		must(s.PutExemption(t.Context(), actor(), "g1", store.Anything(), store.Exemption{UserID: "u"}))(t)
		capAt(t, s, 5)
		var got []string
		for _, c := range heard {
			if c.OutboxID == "" || c.At.IsZero() {
				t.Errorf("change = %+v", c)
			}
			got = append(got, fmt.Sprint(c.Kind, " ", c.GroupID, " ", c.Version))
		}
		if diff := cmp.Diff([]string{"policy g1 1", "exemptions g1 1", "fleet  0"}, got); diff != "" {
			t.Error(diff)
		}
		if rows := must(s.ClaimOutbox(t.Context(), 10, time.Minute))(t); len(rows) != 0 {
			t.Error("fresh rows belong to the process that wrote them, for a second")
		}
	})
}

// TestClaimsAreExclusive lets two instances claim 200 rows at once.
func TestClaimsAreExclusive(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		stores := []*store.Store{b.store(), b.store()}
		register(t, stores[0], "g1")
		for i := range 200 {
			save(t, stores[0], "g1", interval(strconv.Itoa(2000+i)))
		}
		var mu sync.Mutex
		claimed := map[string]int{}
		var wg sync.WaitGroup
		for _, s := range stores {
			wg.Go(func() {
				for {
					rows := must(s.ClaimOutbox(t.Context(), 7, time.Minute))(t)
					if len(rows) == 0 {
						return
					}
					mu.Lock()
					for _, r := range rows {
						claimed[r.ID]++
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		for id, n := range claimed {
			if n != 1 {
				t.Errorf("%s was claimed %d times", id, n)
			}
		}
		if len(claimed) < 190 { // a claimer may pass by rows that the other holds at that moment, and then stop
			t.Errorf("%d rows were claimed", len(claimed))
		}
	})
}

func TestLeasesEndAndAreExtended(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		ctx, c := t.Context(), newClock()
		s := b.store(c.set)
		register(t, s, "g1")
		save(t, s, "g1", interval("3000"))
		row := must(s.ClaimOutbox(ctx, 10, time.Minute))(t)[0]
		want := store.OutboxRow{ID: row.ID, Kind: store.KindPolicy, GroupID: "g1", Version: 1, CreatedAt: c.now().UTC()}
		if diff := cmp.Diff(want, row); diff != "" {
			t.Error(diff)
		}
		c.advance(50 * time.Second)
		if n := must(s.ExtendOutbox(ctx, []string{row.ID, "gone"}, time.Minute))(t); n != 1 {
			t.Errorf("%d extended", n)
		}
		c.advance(50 * time.Second)
		if rows := must(s.ClaimOutbox(ctx, 10, time.Minute))(t); len(rows) != 0 {
			t.Error("a lease that was extended has ended")
		}
		c.advance(10 * time.Second)
		if rows := must(s.ClaimOutbox(ctx, 10, time.Minute))(t); len(rows) != 1 {
			t.Error("a dead claimer's row is stuck")
		}
	})
}

// TestLeasesOfAWrongClock: an instance whose clock is far ahead leases a row and dies; the others do not wait for its hour.
func TestLeasesOfAWrongClock(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		ahead := newClock()
		ahead.advance(24 * time.Hour)
		s, fast := b.store(newClock().set), b.store(ahead.set)
		register(b.t, s, "g1")
		save(b.t, s, "g1", interval("3000"))
		if rows := must(fast.ClaimOutbox(b.t.Context(), 10, time.Minute))(b.t); len(rows) != 1 {
			b.t.Fatal("nothing was claimed")
		}
		if rows := must(s.ClaimOutbox(b.t.Context(), 10, time.Minute))(b.t); len(rows) != 1 {
			b.t.Error("the row is stuck until the wrong clock's hour")
		}
	})
}

// TestLeaseOfAChangeOfBounds: who claimed it asks for the fleet job at once, so others need not wait long if he died.
func TestLeaseOfAChangeOfBounds(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		c := newClock()
		s := b.store(c.set)
		bounds := policy.ShippedBounds()
		bounds.LadderStepsMax--
		if _, _, err := s.UpdateBounds(b.t.Context(), actor(), store.Anything(), bounds); err != nil {
			b.t.Fatal(err)
		}
		for second, want := range []int{1, 0, 0, 1, 0} {
			if rows := must(s.ClaimOutbox(b.t.Context(), 10, time.Minute))(b.t); len(rows) != want {
				b.t.Errorf("after %d s %d rows are claimed, want %d", second, len(rows), want)
			}
			c.advance(time.Second)
		}
	})
}

func TestCompleteRecordsTheNewestPublication(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx := t.Context()
		register(t, s, "g1")
		save(t, s, "g1", interval("3000"))
		at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
		pub := func(version int64) store.Publication {
			return store.Publication{GroupID: "g1", Version: version, Order: 1<<40 + version, At: at, LagMS: 2}
		}
		row := must(s.ClaimOutbox(ctx, 10, time.Minute))(t)[0]
		for range 2 {
			if err := s.CompleteOutbox(ctx, []string{row.ID}, []store.Publication{pub(1), pub(0)}); err != nil {
				t.Fatal(err)
			}
		}
		r := must(s.Policy(ctx, "g1"))(t)
		want := pub(1)
		if diff := cmp.Diff(&want, r.Live); diff != "" || r.Pending || outboxDepth(t, s) != 0 {
			t.Errorf("%s, pending %v", diff, r.Pending)
		}
		if !save(t, s, "g1", interval("4000")).Pending || !must(s.Policy(ctx, "g1"))(t).Pending {
			t.Error("a fresh save is pending")
		}
		if err := s.CompleteOutbox(ctx, nil, []store.Publication{pub(0)}); err != nil {
			t.Fatal(err)
		}
		if got := must(s.Policy(ctx, "g1"))(t).Live.Version; got != 1 {
			t.Errorf("an older publication replaced a newer one: %d", got)
		}
	})
}

func TestPublishPageVisitsEveryGroupOnce(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx := t.Context()
		want := map[string]int{}
		for i := range 30 {
			id := fmt.Sprint("g", i)
			want[id] = 1
			register(t, s, id)
		}
		must(s.ArchiveGroup(ctx, actor(), store.Anything(), "g3"))(t)
		got, after := map[string]int{}, ""
		shards := map[uint8]int{}
		for {
			rows := must(s.PublishPage(ctx, nil, after, 7))(t)
			for _, r := range rows {
				got[r.GroupID]++
				shards[r.Shard]++
				after = r.GroupID
				if r.Err != nil || r.Archived != (r.GroupID == "g3") || r.Counters.Generation != 1 {
					t.Errorf("row = %+v", r)
				}
			}
			if len(rows) < 7 {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		for shard, n := range shards {
			if rows := must(s.PublishPage(ctx, []uint8{shard}, "", 50))(t); len(rows) != n {
				t.Errorf("shard %d has %d groups, not %d", shard, len(rows), n)
			}
		}
	})
}
