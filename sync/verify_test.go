package sync_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	policysync "github.com/pacekeeper/pacekeeper/sync"
)

// TestVerifyCountsEachKind damages a fleet that nobody mends: Verify counts each difference, and changes nothing.
func TestVerifyCountsEachKind(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, at site) {
		t.Helper()
		a := start(t, at, func(c *policysync.Config) { c.ReconcileEvery = time.Hour })
		a.furnish(t, oddIDs())
		a.furnish(t, []string{"g1", "g2", "g3", "g4"})
		eventually(t, "the first pass of the reconciler", func() bool { return !a.Status().Reconcile.At.IsZero() })
		clean, err := a.Verify(t.Context(), nil)
		if err != nil || clean.Groups != int64(len(oddIDs())+4) || len(clean.Differences) != 0 || clean.Waiting != 0 {
			t.Fatalf("nothing was damaged: %+v, %v", clean, err)
		}
		ctx := t.Context()
		at.rdb.Del(ctx, at.keys.Policy("message", "g1"))
		at.rdb.HSet(ctx, at.keys.Policy("like", "g2"), "limit", "1")
		at.rdb.HSet(ctx, at.keys.Notice("g3"), "en.too_soon", "?")
		at.rdb.Set(ctx, at.keys.Policy("sms", "g4"), "x", 0)
		at.rdb.ZRem(ctx, at.keys.Exempt("g4"), "g4")
		at.rdb.HSet(ctx, at.keys.Default(9, "message"), "limit", "1")
		before := at.snapshot(t)
		got, err := a.Verify(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]int{"missing": 1, "fields": 3, "type": 1, "exemptions": 1}
		if diff := cmp.Diff(want, got.Differences); diff != "" || got.Keys != clean.Keys {
			t.Errorf("%d keys, before %d: %s", got.Keys, clean.Keys, diff)
		}
		if diff := cmp.Diff(before, at.snapshot(t)); diff != "" {
			t.Error(diff)
		}
	})
}
