package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/store"
)

func TestFleetCounts(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		if n := must(s.FleetCounts(t.Context()))(t); n != (store.FleetCounts{}) {
			t.Errorf("of nothing: %+v", n)
		}
		register(t, s, "a", "b", "c")
		save(t, s, "a", interval("3000"))
		must(s.ArchiveGroup(t.Context(), actor(), store.Anything(), "c"))(t)
		for user, end := range map[string]time.Duration{"mei": time.Hour, "rafi": time.Hour, "over": -time.Hour} {
			in := store.MuteInput{EndMS: time.Now().Add(end).UnixMilli()}
			if _, err := s.PutMute(t.Context(), actor(), "a", user, store.Anything(), in); err != nil && end > 0 {
				t.Fatal(err)
			}
		}
		must(s.LiftMute(t.Context(), actor(), "a", "rafi", store.Anything()))(t)
		if diff := cmp.Diff(store.FleetCounts{Groups: 2, Archived: 1, Stated: 1, Muted: 1}, must(s.FleetCounts(t.Context()))(t)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestWhoSavedBoundsAndDefaults(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s, ctx := b.t, b.store(), b.t.Context()
		if got := must(s.BoundsSave(ctx, 0))(t); got != (store.SystemSave{}) {
			t.Errorf("of the shipped ones: %+v", got)
		}
		bounds := must(s.Bounds(ctx))(t).Bounds
		bounds.ExemptionsMax = 9
		who := actor()
		who.Name, who.Reason = "Ada", "spam"
		if _, _, err := s.UpdateBounds(ctx, who, store.Exactly(0), bounds); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.UpdateDefaults(ctx, who, store.Exactly(0), parse(t, interval("3000"))); err != nil {
			t.Fatal(err)
		}
		for _, got := range []store.SystemSave{must(s.BoundsSave(ctx, 1))(t), must(s.DefaultsSave(ctx, 1))(t)} {
			if got.Actor != "Ada" || got.Reason != "spam" || time.Since(got.At) > time.Minute {
				t.Errorf("%+v", got)
			}
		}
	})
}
