package store_test

import (
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/store"
)

func TestBoundsSince(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s, ctx := b.t, b.store(), b.t.Context()
		begin := time.Now().Add(-time.Minute)
		if past := must(s.BoundsSince(ctx, begin))(t); len(past) != 1 || !past[0].At.IsZero() {
			t.Errorf("of nothing: %+v", past)
		}
		bounds := must(s.Bounds(ctx))(t).Bounds
		for n := range int64(3) {
			bounds.ExemptionsMax = n + 1
			if _, _, err := s.UpdateBounds(ctx, actor(), store.Anything(), bounds); err != nil {
				t.Fatal(err)
			}
		}
		all := must(s.BoundsSince(ctx, begin))(t)
		if len(all) != 4 || all[1].Bounds.ExemptionsMax != 1 || all[3].Bounds.ExemptionsMax != 3 || all[3].At.Before(all[1].At) {
			t.Errorf("all: %+v", all)
		}
		if last := must(s.BoundsSince(ctx, all[3].At))(t); len(last) != 1 || last[0].Bounds.ExemptionsMax != 3 {
			t.Errorf("since the last: %+v", last)
		}
	})
}
