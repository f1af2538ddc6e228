package store_test

import (
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

func TestSystemStartsAsShipped(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		if s.LastSystem() != nil {
			t.Error("a system before the first read")
		}
		system := must(s.System(t.Context()))(t)
		if system.Generation != 1 || system.BoundsVersion != 0 || system.DefaultsVersion != 0 {
			t.Errorf("system = %+v", system.SystemConfig)
		}
		if diff := cmp.Diff(len(policy.ShippedActions()), len(system.Actions)); diff != "" {
			t.Error(diff)
		}
		if again := must(s.System(t.Context()))(t); again != system || s.LastSystem() != system {
			t.Error("the system is built anew for each call")
		}
	})
}

func TestUpdateBounds(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx := t.Context()
		old := must(s.Bounds(ctx))(t)
		same, changed, err := s.UpdateBounds(ctx, actor(), store.Exactly(0), old.Bounds)
		if err != nil || changed || same.Version != 0 {
			t.Fatalf("the same bounds: %v, %v", changed, err)
		}
		next := old.Bounds
		next.ExemptionsMax = 7
		r, changed, err := s.UpdateBounds(ctx, actor(), store.Exactly(0), next)
		if err != nil || !changed || r.Version != 1 || r.System.Order(0) != 1<<40+1 {
			t.Fatalf("record = %+v, %v, %v", r.Version, changed, err)
		}
		r, _, err = s.UpdateBounds(ctx, actor(), store.Exactly(0), old.Bounds)
		wantCode(t, err, policy.CodeStale)
		if r.Version != 1 || r.Bounds.ExemptionsMax != 7 {
			t.Error("the current bounds are not told")
		}
		read := must(s.Bounds(ctx))(t)
		names := []string{"message", "comment", "like", "upload", "sms", "login", "coupon"}
		if diff := cmp.Diff(string(next.JSON(names)), string(read.Bounds.JSON(names))); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"bounds.update"}, auditActions(t, s)); diff != "" || outboxDepth(t, s) != 1 {
			t.Error(diff)
		}
	})
}

func TestUpdateDefaultsAndActions(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx := t.Context()
		old := must(s.Defaults(ctx))(t)
		if _, changed, err := s.UpdateDefaults(ctx, actor(), store.Exactly(0), old.Document); err != nil || changed {
			t.Fatalf("the same defaults: %v, %v", changed, err)
		}
		doc := parse(t, interval("4000"))
		r, changed, err := s.UpdateDefaults(ctx, actor(), store.Exactly(0), doc)
		if err != nil || !changed || r.Version != 1 {
			t.Fatalf("%+v, %v, %v", r.Version, changed, err)
		}
		_, _, err = s.UpdateDefaults(ctx, actor(), store.Exactly(0), old.Document)
		wantCode(t, err, policy.CodeStale)
		created, changed, err := s.PutAction(ctx, actor(), policy.ActionSpec{Name: "wave", Speech: true})
		if err != nil || !created || !changed {
			t.Fatalf("%v, %v, %v", created, changed, err)
		}
		created, changed, err = s.PutAction(ctx, actor(), policy.ActionSpec{Name: "wave", Speech: true})
		if err != nil || created || changed {
			t.Fatalf("the same action: %v, %v, %v", created, changed, err)
		}
		created, changed, err = s.PutAction(ctx, actor(), policy.ActionSpec{Name: "wave"})
		if err != nil || created || !changed {
			t.Fatalf("no longer speech: %v, %v, %v", created, changed, err)
		}
		_, _, err = s.PutAction(ctx, actor(), policy.ActionSpec{Name: "Wave!"})
		wantCode(t, err, policy.CodeInvalid)
		d := must(s.Defaults(ctx))(t)
		if d.Version != 3 || string(d.Document.JSON()) != interval("4000") {
			t.Errorf("defaults %d = %s", d.Version, d.Document.JSON())
		}
		want := []string{"defaults.update", "action.put", "action.put"}
		if diff := cmp.Diff(want, auditActions(t, s)); diff != "" || outboxDepth(t, s) != 3 {
			t.Error(diff)
		}
		register(t, s, "g1")
		save(t, s, "g1", `{"actions":{"wave":{"min_interval_ms":1500}}}`)
	})
}

// TestOrderNeverFalls edits groups and bounds in parallel, and reads meanwhile: the order of what is read, which is the
// sum of counters of one statement, never falls.
func TestOrderNeverFalls(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		s := b.store()
		register(t, s, "g1")
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := range 60 {
				save(t, s, "g1", interval(strconv.Itoa(2000+i)))
			}
		})
		wg.Go(func() {
			for i := range 60 {
				capAt(t, s, int64(100+i))
			}
		})
		var last int64
		for range 300 {
			row := must(s.PublishRows(t.Context(), []string{"g1"}))(t)[0]
			system := must(s.SystemAt(t.Context(), row.Counters))(t)
			if order := system.Order(row.Version); order < last {
				t.Fatalf("order fell from %d to %d", last, order)
			} else {
				last = order
			}
		}
		wg.Wait()
		row := must(s.PublishRows(t.Context(), []string{"g1", "nobody"}))(t)[0]
		if row.Version != 60 || row.Counters.BoundsVersion != 60 {
			t.Errorf("row = %+v", row)
		}
	})
}

// TestPutAction_RegistryIsBounded: no more than policy.MaxActions; those that are there may still change.
func TestPutAction_RegistryIsBounded(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		for i := len(policy.ShippedActions()); i < policy.MaxActions; i++ {
			if created, _, err := s.PutAction(t.Context(), actor(), policy.ActionSpec{Name: "a" + strconv.Itoa(i)}); err != nil || !created {
				t.Fatal(created, err)
			}
		}
		_, _, err := s.PutAction(t.Context(), actor(), policy.ActionSpec{Name: "more"})
		wantCode(t, err, policy.CodeInvalid)
		if _, changed, err := s.PutAction(t.Context(), actor(), policy.ActionSpec{Name: "like", Speech: true}); err != nil || !changed {
			t.Errorf("changed %v, %v", changed, err)
		}
	})
}
