package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// items is an import of entries as they are, and of faults.
func items(entries []store.Exemption, faults ...policy.FieldError) store.ExemptionImport {
	return store.ExemptionImport{
		Match: store.Anything(),
		Read:  func() ([]store.Exemption, []policy.FieldError, error) { return entries, faults, nil },
	}
}

// guests are the users u1 to un.
func guests(n int, note string) []store.Exemption {
	out := make([]store.Exemption, 0, n)
	for i := range n {
		out = append(out, store.Exemption{UserID: fmt.Sprint("u", i+1), Note: note})
	}
	return out
}

func TestImportExemptions(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx := t.Context()
		register(t, s, "g1")
		end := time.Date(2030, 1, 2, 3, 4, 5, 6789, time.UTC)
		must(s.PutExemption(ctx, actor(), "g1", store.Anything(), store.Exemption{UserID: "u1", Note: "same"}))(t)
		must(s.PutExemption(ctx, actor(), "g1", store.Anything(), store.Exemption{UserID: "u2", Note: "old"}))(t)
		fault := policy.FieldError{Pointer: "/items/9/user_id", Code: "format", Detail: "bad"}
		in := items([]store.Exemption{{UserID: "u1", Note: "same"}, {UserID: "u2", Note: "new"}, {UserID: "u3", ExpiresAt: end}}, fault)
		r := must(s.ImportExemptions(ctx, actor(), "g1", in))(t)
		want := store.ImportResult{Version: 3, Added: 1, Updated: 1, Unchanged: 1, Faults: []policy.FieldError{fault}}
		if diff := cmp.Diff(want, r); diff != "" {
			t.Error(diff)
		}
		set := must(s.ExemptionsForPublish(ctx, "g1"))(t)
		wantSet := []store.ExemptionEntry{{UserID: "u1"}, {UserID: "u2"}, {UserID: "u3", ExpiresMS: end.UnixMilli() + 1}}
		if diff := cmp.Diff(wantSet, set.Entries); diff != "" || set.Version != 3 {
			t.Error(set.Version, diff)
		}
		wantActions := []string{"group.create", "exemption.add", "exemption.add", "exemption.update", "exemption.add"}
		if diff := cmp.Diff(wantActions, auditActions(t, s)); diff != "" {
			t.Error(diff)
		}
		depth := outboxDepth(t, s)
		if again := must(s.ImportExemptions(ctx, actor(), "g1", in))(t); again.Version != 3 || again.Unchanged != 3 {
			t.Errorf("again: %+v", again)
		}
		if n := len(auditActions(t, s)); n != 5 || outboxDepth(t, s) != depth {
			t.Errorf("%d audit entries; the outbox had %d rows", n, depth)
		}
		if v := must(s.VerifyAudit(ctx, ""))(t); v.FirstBad != nil {
			t.Errorf("%+v", v)
		}
	})
}

func TestImportRefused(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx := t.Context()
		register(t, s, "g1", "g2")
		if _, err := s.ArchiveGroup(ctx, actor(), store.Anything(), "g2"); err != nil {
			t.Fatal(err)
		}
		before := auditActions(t, s)
		refused := func(groupID string, in store.ExemptionImport, want policy.Code) {
			t.Helper()
			_, err := s.ImportExemptions(ctx, actor(), groupID, in)
			wantCode(t, err, want)
		}
		strict := items(guests(3, ""), policy.FieldError{Pointer: "/items/3", Code: "type"})
		strict.Strict = true
		refused("g1", strict, policy.CodeInvalid)
		stale := items(guests(3, ""))
		stale.Match = store.Exactly(7)
		refused("g1", stale, policy.CodeStale)
		refused("g2", items(guests(3, "")), policy.CodeArchived)
		refused("g3", items(guests(3, "")), policy.CodeNotFound)
		broken := items(nil)
		broken.Read = func() ([]store.Exemption, []policy.FieldError, error) { return nil, nil, errors.New("broken") }
		if _, err := s.ImportExemptions(ctx, actor(), "g1", broken); err == nil {
			t.Error("a broken body is taken")
		}
		if diff := cmp.Diff(before, auditActions(t, s)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestC37_ImportAtTheCap(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx := t.Context()
		register(t, s, "g1")
		capAt(t, s, 3)
		if r := must(s.ImportExemptions(ctx, actor(), "g1", items(guests(3, "a"))))(t); r.Added != 3 {
			t.Errorf("to the cap: %+v", r)
		}
		_, err := s.ImportExemptions(ctx, actor(), "g1", items(append(guests(1, "b"), store.Exemption{UserID: "one-more"})))
		wantCode(t, err, policy.CodeInvalid)
		if set := must(s.ExemptionsForPublish(ctx, "g1"))(t); len(set.Entries) != 3 || set.Version != 1 {
			t.Errorf("an import beyond the cap leaves %+v", set)
		}
		if r := must(s.ImportExemptions(ctx, actor(), "g1", items(guests(3, "c"))))(t); r.Updated != 3 {
			t.Errorf("at the cap: %+v", r)
		}
		capAt(t, s, 2)
		if r := must(s.ImportExemptions(ctx, actor(), "g1", items(guests(2, "d"))))(t); r.Updated != 2 {
			t.Errorf("above the cap: %+v", r)
		}
	})
}

// TestC37_ImportTenThousand imports up to the shipped cap and imports the same again; both are single requests.
func TestC37_ImportTenThousand(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		register(t, s, "g1")
		in := items(guests(entriesAtTheCap, "guest"))
		in.Once = keyed("k1", "all")
		for range 2 {
			if r := must(s.ImportExemptions(t.Context(), actor(), "g1", in))(t); r.Added != entriesAtTheCap {
				t.Errorf("%+v", r)
			}
		}
		workAtTheCap(t, s)
		if r := must(s.ImportExemptions(t.Context(), actor(), "g1", items(guests(entriesAtTheCap, "guest"))))(t); r.Updated != 1 {
			t.Errorf("%+v", r)
		}
		if n := count(t, b.url, "audit_entries"); n != 1+entriesAtTheCap+2 {
			t.Errorf("%d audit entries", n)
		}
	})
}

// count counts the rows of a table.
func count(tb testing.TB, url, table string) (n int) {
	tb.Helper()
	if err := pgtest.SQL(tb, url).QueryRowContext(tb.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		tb.Fatal(err)
	}
	return n
}
