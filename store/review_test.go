package store_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

func TestAuditRefusesFiltersThatSelectNothingEver(t *testing.T) {
	t.Parallel()
	s := pgtest.Open(t, pgtest.SQLite(t))
	moment := time.Unix(1_700_000_000, 0)
	for pointer, q := range map[string]store.AuditQuery{
		"/role":    {Role: "admin"},
		"/channel": {Channel: "rest"},
		"/action":  {Action: "*"},
		"/changed": {Changed: "actions"},
		"/to":      {From: moment, To: moment},
	} {
		_, err := s.ListAudit(t.Context(), q)
		wantCode(t, err, policy.CodeInvalid)
		if fields := fieldsOf(err); len(fields) != 1 || fields[0].Pointer != pointer {
			t.Errorf("%s: %+v", pointer, fields)
		}
		_, err = s.ExportAudit(t.Context(), q)
		wantCode(t, err, policy.CodeInvalid)
	}
}

func fieldsOf(err error) []policy.FieldError {
	known, ok := errors.AsType[*policy.Error](err)
	if !ok {
		return nil
	}
	return known.Fields
}

// TestAuditPagesAreStableUnderInserts turns the pages of a filter while new entries come in.
func TestAuditPagesAreStableUnderInserts(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		register(t, s, "g1")
		for n := range 6 {
			save(t, s, "g1", interval(strconv.Itoa(2000+n)))
		}
		var seen []int64
		q := store.AuditQuery{Changed: "/actions/message/min_interval_ms", Limit: 2}
		for n := 0; ; n++ {
			page := must(s.ListAudit(t.Context(), q))(t)
			for _, e := range page.Items {
				seen = append(seen, e.Seq)
			}
			if q.Cursor = page.Next; page.Next == "" {
				break
			}
			save(t, s, "g1", interval(strconv.Itoa(3000+n)))
		}
		if diff := cmp.Diff([]int64{7, 6, 5, 4, 3, 2}, seen); diff != "" {
			t.Error(diff)
		}
	})
}

// TestAuditDerivesWhatOlderVersionsSealed forgets the changed fields, as a version that knew none left them.
func TestAuditDerivesWhatOlderVersionsSealed(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		db, _ := eightEntries(t, b)
		execute(t, db, "UPDATE audit_entries SET changed = NULL WHERE seq < 6", "DELETE FROM audit_changes", "UPDATE audit_head SET indexed = 0")
		s := b.store()
		page := must(s.ListAudit(t.Context(), store.AuditQuery{Changed: "/actions/message"}))(t)
		if len(page.Items) != 7 {
			t.Errorf("%d entries, want 7", len(page.Items))
		}
		wantGood(t, s, 8)
		execute(t, db, "UPDATE audit_entries SET changed = '' WHERE seq = 4")
		wantBad(t, s, "", 4, "changed fields")
		execute(t, db, "UPDATE audit_entries SET changed = (SELECT changed FROM audit_entries WHERE seq = 5) WHERE seq = 4",
			"DELETE FROM audit_changes WHERE field = '/actions/message'")
		wantBad(t, s, "", 2, "lacks")
	})
}

func TestAuditEntryIsFoundByItsNumber(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		register(t, s, "g1", "g2")
		if e := must(s.AuditEntry(t.Context(), 2))(t); e.Seq != 2 || e.Target != "g2" {
			t.Errorf("found %+v", e)
		}
		_, err := s.AuditEntry(t.Context(), 3)
		wantCode(t, err, policy.CodeNotFound)
	})
}

// TestC38_RestoredValueStays saves a bad value, restores the old version, and saves again without a change.
func TestC38_RestoredValueStays(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s, ctx := b.t, b.store(), b.t.Context()
		register(t, s, "g1")
		save(t, s, "g1", interval("3000"))
		save(t, s, "g1", interval("9000"))
		r, changed, err := s.RestorePolicy(ctx, actor(), "g1", store.Exactly(2), 1, nil)
		if err != nil || !changed || r.Version != 3 || string(r.Document.JSON()) != interval("3000") {
			t.Fatalf("restored %+v, %v, %v", r.Version, changed, err)
		}
		if v := must(s.Version(ctx, "g1", 3))(t); v.Kind != "restore" || string(v.Document.JSON()) != interval("3000") {
			t.Errorf("version %+v", v)
		}
		_, changed, err = s.RestorePolicy(ctx, actor(), "g1", store.Anything(), 1, nil)
		if err != nil || changed {
			t.Errorf("restored again: %v, %v", changed, err)
		}
		if r := save(t, s, "g1", interval("3000")); r.Version != 3 {
			t.Errorf("an unchanged save made version %d", r.Version)
		}
		_, _, err = s.RestorePolicy(ctx, actor(), "g1", store.Exactly(2), 2, nil)
		wantCode(t, err, policy.CodeStale)
		_, _, err = s.RestorePolicy(ctx, actor(), "g1", store.Anything(), 9, nil)
		wantCode(t, err, policy.CodeNotFound)
		if diff := cmp.Diff([]string{"group.create", "policy.update", "policy.update", "policy.restore"}, auditActions(t, s)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestRestoreHoldsBackRolesThatAreGone restores a version that exempts a role which operators removed meanwhile.
func TestRestoreHoldsBackRolesThatAreGone(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s, ctx := b.t, b.store(), b.t.Context()
		register(t, s, "g1")
		own := must(s.Bounds(ctx))(t).Bounds
		own.Roles = []string{"host"}
		if _, _, err := s.UpdateBounds(ctx, actor(), store.Anything(), own); err != nil {
			t.Fatal(err)
		}
		save(t, s, "g1", `{"exempt_roles":["host"]}`)
		save(t, s, "g1", `{}`)
		own.Roles = nil
		if _, _, err := s.UpdateBounds(ctx, actor(), store.Anything(), own); err != nil {
			t.Fatal(err)
		}
		r, changed, err := s.RestorePolicy(ctx, actor(), "g1", store.Anything(), 1, nil)
		if err != nil || !changed {
			t.Fatal(changed, err)
		}
		if _, clamps := r.System.Resolve(r.Document); len(clamps) != 1 || clamps[0].Path != "/exempt_roles/0" {
			t.Errorf("clamps %+v", clamps)
		}
	})
}

func TestDiffVersions(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s, ctx := b.t, b.store(), b.t.Context()
		register(t, s, "g1")
		save(t, s, "g1", interval("3000"))
		save(t, s, "g1", interval("9000"))
		for _, d := range []struct {
			from, to      int64
			before, after string
		}{{0, 1, "", "3000"}, {1, 2, "3000", "9000"}, {2, 1, "9000", "3000"}} {
			changes := must(s.DiffVersions(ctx, "g1", d.from, d.to))(t)
			if len(changes) != 1 || string(changes[0].Before) != d.before || string(changes[0].After) != d.after {
				t.Errorf("%d to %d: %+v", d.from, d.to, changes)
			}
		}
		_, err := s.DiffVersions(ctx, "g1", 0, 3)
		wantCode(t, err, policy.CodeNotFound)
		_, err = s.DiffVersions(ctx, "nobody", 0, 0)
		wantCode(t, err, policy.CodeNotFound)
	})
}
