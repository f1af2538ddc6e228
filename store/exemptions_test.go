package store_test

import (
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

func TestExemptions(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx, any := t.Context(), store.Anything()
		register(t, s, "g1")
		end := time.Date(2030, 1, 2, 3, 4, 5, 6789, time.UTC)
		r := must(s.PutExemption(ctx, actor(), "g1", store.Exactly(0), store.Exemption{UserID: "u1", ExpiresAt: end, Note: "host"}))(t)
		if !r.Created || !r.Changed || r.Version != 1 || r.Exemption.GrantedBy != "Mei" || !r.Exemption.ExpiresAt.Equal(end.Truncate(time.Microsecond)) {
			t.Fatalf("added: %+v", r)
		}
		r = must(s.PutExemption(ctx, actor(), "g1", any, store.Exemption{UserID: "u1", ExpiresAt: end, Note: "host"}))(t)
		if r.Created || r.Changed || r.Version != 1 {
			t.Fatalf("the same again: %+v", r)
		}
		r = must(s.PutExemption(ctx, actor(), "g1", store.Exactly(1), store.Exemption{UserID: "u1"}))(t)
		if r.Created || !r.Changed || r.Version != 2 {
			t.Fatalf("replaced: %+v", r)
		}
		_, err := s.PutExemption(ctx, actor(), "g1", store.Exactly(1), store.Exemption{UserID: "u2"})
		wantCode(t, err, policy.CodeStale)
		e, version, err := s.Exemption(ctx, "g1", "u1")
		if err != nil || version != 2 || e.Note != "" || !e.ExpiresAt.IsZero() {
			t.Fatalf("%+v, %d, %v", e, version, err)
		}
		set := must(s.ExemptionsForPublish(ctx, "g1"))(t)
		want := store.ExemptionSet{
			GroupID: "g1", Shard: set.Shard, Version: 2, Order: 1<<40 + 2, Entries: []store.ExemptionEntry{{UserID: "u1"}},
		}
		if diff := cmp.Diff(want, set); diff != "" {
			t.Error(diff)
		}
		if v := must(s.RemoveExemption(ctx, actor(), "g1", store.Exactly(2), "u1"))(t); v != 3 {
			t.Errorf("version = %d", v)
		}
		_, err = s.RemoveExemption(ctx, actor(), "g1", any, "u1")
		wantCode(t, err, policy.CodeNotFound)
		_, _, err = s.Exemption(ctx, "g1", "u1")
		wantCode(t, err, policy.CodeNotFound)
		wantActions := []string{"group.create", "exemption.add", "exemption.update", "exemption.remove"}
		if diff := cmp.Diff(wantActions, auditActions(t, s)); diff != "" {
			t.Error(diff)
		}
		if r := must(s.Policy(ctx, "g1"))(t); r.Version != 0 {
			t.Error("exemptions disturb the document's version")
		}
	})
}

func TestC31_ParallelAdditionsFromTwoInstances(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		stores := []*store.Store{b.store(), b.store()}
		register(t, stores[0], "g1")
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				_, err := stores[i%2].PutExemption(t.Context(), actor(), "g1", store.Anything(), store.Exemption{UserID: fmt.Sprint("u", i)})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		set := must(stores[0].ExemptionsForPublish(t.Context(), "g1"))(t)
		if len(set.Entries) != 100 || set.Version != 100 {
			t.Errorf("%d entries, version %d", len(set.Entries), set.Version)
		}
	})
}

// capAt lowers the cap of exemptions to n.
func capAt(tb testing.TB, s *store.Store, n int64) {
	tb.Helper()
	b := must(s.Bounds(tb.Context()))(tb).Bounds
	b.ExemptionsMax = n
	if _, _, err := s.UpdateBounds(tb.Context(), actor(), store.Anything(), b); err != nil {
		tb.Fatal(err)
	}
}

func TestC37_AtTheCapAnEntryCanBeReplaced(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx, any := t.Context(), store.Anything()
		register(t, s, "g1")
		capAt(t, s, 3)
		for i := range 3 {
			must(s.PutExemption(ctx, actor(), "g1", any, store.Exemption{UserID: fmt.Sprint("u", i)}))(t)
		}
		_, err := s.PutExemption(ctx, actor(), "g1", any, store.Exemption{UserID: "u3"})
		wantCode(t, err, policy.CodeInvalid)
		r := must(s.PutExemption(ctx, actor(), "g1", any, store.Exemption{UserID: "u1", Note: "replaced"}))(t)
		if !r.Changed || r.Created || r.Version != 4 {
			t.Errorf("replaced: %+v", r)
		}
		must(s.RemoveExemption(ctx, actor(), "g1", any, "u0"))(t)
		must(s.PutExemption(ctx, actor(), "g1", any, store.Exemption{UserID: "u3"}))(t)
	})
}

// TestC37_TenThousandEntries works on a group at the shipped cap; BenchmarkExemptionsAtTheCap says how fast.
func TestC37_TenThousandEntries(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		register(t, s, "g1")
		fill(t, pgtest.SQL(t, b.url), entriesAtTheCap)
		workAtTheCap(t, s)
		_, err := s.PutExemption(t.Context(), actor(), "g1", store.Anything(), store.Exemption{UserID: "one-more"})
		wantCode(t, err, policy.CodeInvalid)
	})
}

const entriesAtTheCap = 10_000

// workAtTheCap replaces an entry, lists, searches, and reads all for the publisher.
func workAtTheCap(tb testing.TB, s *store.Store) {
	tb.Helper()
	ctx := tb.Context()
	must(s.PutExemption(ctx, actor(), "g1", store.Anything(), store.Exemption{UserID: "u77", Note: "host"}))(tb)
	p := must(s.ListExemptions(ctx, "g1", store.ExemptionQuery{Limit: 500}))(tb)
	found := must(s.ListExemptions(ctx, "g1", store.ExemptionQuery{Search: "HOST"}))(tb)
	set := must(s.ExemptionsForPublish(ctx, "g1"))(tb)
	if len(p.Items) != 500 || p.Next == "" || len(found.Items) != 1 || len(set.Entries) != entriesAtTheCap {
		tb.Errorf("%d, %d, %d entries", len(p.Items), len(found.Items), len(set.Entries))
	}
}

// fill gives g1 the users u1 to un.
func fill(tb testing.TB, db *sql.DB, n int) {
	tb.Helper()
	for _, statement := range []string{
		fmt.Sprintf(`INSERT INTO exemptions (group_id, user_id, note, granted_by, granted_at)
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			SELECT 'g1', 'u' || i, 'guest', 'Mei', i FROM n`, n),
		fmt.Sprintf("UPDATE groups SET exemptions_count = %d, exemptions_version = %d WHERE id = 'g1'", n, n),
	} {
		if _, err := db.ExecContext(tb.Context(), statement); err != nil {
			tb.Fatal(err)
		}
	}
}

// TestNothingIsCompiled: on a busy server compiling a statement takes longer than the store waits for it.
func TestNothingIsCompiled(t *testing.T) {
	t.Parallel()
	s := pgtest.Open(t, pgtest.Postgres(t))
	if pool, reader, err := s.Compiles(t.Context()); err != nil || pool != "off" || reader != "off" {
		t.Errorf("jit is %s in the pool and %s in the fleet's reader, %v", pool, reader, err)
	}
}
