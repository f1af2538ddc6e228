package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/store"
)

func TestExemptionDeltas(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx, any := t.Context(), store.Anything()
		register(t, s, "g1", "g2", "g3")
		put := func(groupID, user string, end time.Time) {
			t.Helper()
			must(s.PutExemption(ctx, actor(), groupID, any, store.Exemption{UserID: user, ExpiresAt: end}))(t)
		}
		put("g1", "u1", time.Time{})
		put("g1", "u2", time.Time{})
		put("g1", "u2", time.UnixMilli(1_900_000_000_000))
		must(s.RemoveExemption(ctx, actor(), "g1", any, "u1"))(t)
		must(s.ImportExemptions(ctx, actor(), "g1", items(guests(3, "x"))))(t) // u1 anew, u2 changed, u3
		put("g2", "u1", time.Time{})
		want := func(since map[string]int64, want ...store.ExemptionDelta) {
			t.Helper()
			if diff := cmp.Diff(want, must(s.ExemptionDeltas(ctx, since))(t)); diff != "" {
				t.Error(diff)
			}
		}
		const generation = 1 << 40
		none := store.ExemptionDelta{GroupID: "g1", Base: generation + 5, Order: generation + 5, Count: 3, Known: true}
		want(map[string]int64{"g1": 5, "g9": 4}, none)
		all := store.ExemptionDelta{
			GroupID: "g1", Base: generation + 1, Order: generation + 5, Count: 3, Known: true,
			Put: []store.ExemptionEntry{{UserID: "u2"}, {UserID: "u1"}, {UserID: "u3"}},
		}
		first := store.ExemptionDelta{
			GroupID: "g2", Base: generation, Order: generation + 1, Count: 1, Put: []store.ExemptionEntry{{UserID: "u1"}},
		}
		want(map[string]int64{"g1": 1, "g2": 0}, all, first) // nothing can be built on version 0
		must(s.RemoveExemption(ctx, actor(), "g2", any, "u1"))(t)
		want(map[string]int64{"g2": 1}, store.ExemptionDelta{
			GroupID: "g2", Base: generation + 1, Order: generation + 2, Known: true, Removed: []string{"u1"},
		})
		if _, err := s.ArchiveGroup(ctx, actor(), any, "g2"); err != nil {
			t.Fatal(err)
		}
		want(map[string]int64{"g2": 2}, store.ExemptionDelta{GroupID: "g2", Base: generation + 2, Order: generation + 3})
	})
}

// TestExemptionChangesAreForgotten tells no delta of changes that are too old or too many.
func TestExemptionChangesAreForgotten(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx := t.Context()
		register(t, s, "g1")
		for i := range 260 {
			must(s.ImportExemptions(ctx, actor(), "g1", items(guests(1, time.Duration(i).String()))))(t)
		}
		known := func(since int64) bool {
			t.Helper()
			return must(s.ExemptionDeltas(ctx, map[string]int64{"g1": since}))(t)[0].Known
		}
		if n := count(t, b.url, "exemption_changes"); n != 256 || !known(4) || known(3) {
			t.Errorf("%d rows are kept; known since 4: %v, since 3: %v", n, known(4), known(3))
		}
		must(s.ImportExemptions(ctx, actor(), "g1", items(guests(256, "few"))))(t)
		if !known(260) {
			t.Error("256 changes at once cannot be told")
		}
		must(s.ImportExemptions(ctx, actor(), "g1", items(guests(257, "many"))))(t)
		if known(261) || known(260) || !known(262) {
			t.Error("257 changes at once are told")
		}
	})
}
