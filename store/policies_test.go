package store_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

func TestPolicyStartsEmpty(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		register(t, s, "g1")
		r := must(s.Policy(t.Context(), "g1"))(t)
		if r.Version != 0 || r.Live != nil || r.Pending || string(r.Document.JSON()) != "{}" {
			t.Errorf("record = %+v", r)
		}
		_, err := s.Policy(t.Context(), "g2")
		wantCode(t, err, policy.CodeNotFound)
	})
}

func TestUpdatePolicyKeepsAVersion(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		register(t, s, "g1")
		r, changed, err := s.UpdatePolicy(t.Context(), actor(), "g1", store.Exactly(0), replace(parse(t, interval("3000"))))
		if err != nil || !changed || r.Version != 1 || !r.Pending {
			t.Fatalf("record = %+v, %v, %v", r, changed, err)
		}
		v := must(s.Version(t.Context(), "g1", 1))(t)
		if string(v.Document.JSON()) != interval("3000") || v.Kind != "update" || v.Actor != "Mei" || v.Reason == "" {
			t.Errorf("version = %+v", v)
		}
		read := must(s.Policy(t.Context(), "g1"))(t)
		if diff := cmp.Diff(string(r.Document.JSON()), string(read.Document.JSON())); diff != "" || read.Version != 1 {
			t.Error(diff)
		}
		_, err = s.Version(t.Context(), "g1", 2)
		wantCode(t, err, policy.CodeNotFound)
	})
}

func TestC13_UnchangedSaveMakesNoVersionAndNoAuditEntry(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		register(t, s, "g1")
		save(t, s, "g1", interval("3000"))
		before, depth := auditActions(t, s), outboxDepth(t, s)
		for range 100 {
			r, changed, err := s.UpdatePolicy(t.Context(), actor(), "g1", store.Anything(), replace(parse(t, interval("3000"))))
			if err != nil || changed || r.Version != 1 {
				t.Fatalf("version %d, changed %v, %v", r.Version, changed, err)
			}
		}
		if diff := cmp.Diff(before, auditActions(t, s)); diff != "" || depth != outboxDepth(t, s) {
			t.Errorf("an unchanged save wrote: %s", diff)
		}
	})
}

func TestC30_SecondSaverIsToldAndNothingIsLost(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		register(t, s, "g1")
		save(t, s, "g1", interval("3000"))
		save(t, s, "g1", interval("4000"))
		r, changed, err := s.UpdatePolicy(t.Context(), actor(), "g1", store.Exactly(1), replace(parse(t, "{}")))
		wantCode(t, err, policy.CodeStale)
		if changed || r.Version != 2 || string(r.Document.JSON()) != interval("4000") {
			t.Errorf("the current record is not told: %+v", r)
		}
	})
}

func TestC32_EditsElsewhereDoNotDisturb(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		register(t, s, "a", "b")
		held := save(t, s, "a", interval("3000")).Version
		for i := range 20 {
			save(t, s, "b", interval(strconv.Itoa(2000+i)))
		}
		if _, _, err := s.UpdatePolicy(t.Context(), actor(), "a", store.Exactly(held), replace(parse(t, interval("5000")))); err != nil {
			t.Fatal(err)
		}
	})
}

func TestC35_FalseNullAndEmptyAreKept(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"actions":{"message":{"enabled":false}}}`,
		`{"actions":{"message":{"min_interval_ms":null,"window":null,"ban":null}}}`,
		`{"actions":{"message":{"window":{"algorithm":"sliding_window","limit":8,"period_ms":30000,"count_refused":false}}}}`,
		`{"exempt_roles":[]}`,
		`{"penalties":{"ladder":[]}}`,
	} {
		want := string(parse(t, text).JSON())
		each(t, func(b bed) {
			t, s := b.t, b.store()
			register(t, s, "g1")
			save(t, s, "g1", text)
			if diff := cmp.Diff(want, string(must(s.Policy(t.Context(), "g1"))(t).Document.JSON())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDeletePolicyIsAVersionAndVersionsNeverRestart(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		register(t, s, "g1")
		save(t, s, "g1", interval("3000"))
		r, changed, err := s.DeletePolicy(t.Context(), actor(), "g1", store.Exactly(1), nil)
		if err != nil || !changed || r.Version != 2 || string(r.Document.JSON()) != "{}" {
			t.Fatalf("record = %+v, %v, %v", r, changed, err)
		}
		if _, changed, err = s.DeletePolicy(t.Context(), actor(), "g1", store.Anything(), nil); err != nil || changed {
			t.Fatalf("deleting again: %v, %v", changed, err)
		}
		must(s.ArchiveGroup(t.Context(), actor(), store.Anything(), "g1"))(t)
		register(t, s, "g1")
		if got := save(t, s, "g1", interval("4000")).Version; got != 5 {
			t.Errorf("version = %d, want 5", got)
		}
		p := must(s.Versions(t.Context(), "g1", "", 2))(t)
		p2 := must(s.Versions(t.Context(), "g1", p.Next, 500))(t)
		var kinds []string
		for _, v := range append(p.Items, p2.Items...) {
			kinds = append(kinds, fmt.Sprint(v.Version, v.Kind))
		}
		want := []string{"5update", "4unarchive", "3archive", "2delete", "1update"}
		if diff := cmp.Diff(want, kinds); diff != "" {
			t.Error(diff)
		}
	})
}

func TestUpdatePolicyRefusesWhatTheSystemRefuses(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		register(t, s, "g1")
		_, _, err := s.UpdatePolicy(t.Context(), actor(), "g1", store.Anything(),
			replace(parse(t, `{"actions":{"teleport":{"enabled":true}}}`)))
		wantCode(t, err, policy.CodeInvalid)
		_, _, err = s.UpdatePolicy(t.Context(), actor(), "g1", store.Anything(),
			func(*policy.System, policy.Document) (policy.Document, error) {
				return policy.Document{}, policy.Errorf(policy.CodeForbidden, "no")
			})
		wantCode(t, err, policy.CodeForbidden)
		if r := must(s.Policy(t.Context(), "g1"))(t); r.Version != 0 {
			t.Errorf("version = %d", r.Version)
		}
	})
}

// TestRacingEdits lets two stores on one database save 200 times in parallel: versions have no gaps, and there is one
// audit entry for each.
func TestRacingEdits(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		stores := []*store.Store{b.store(), b.store()}
		register(t, stores[0], "g1")
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				doc := parse(t, interval(strconv.Itoa(2000+i)))
				_, _, err := stores[i%2].UpdatePolicy(t.Context(), actor(), "g1", store.Anything(), replace(doc))
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := must(stores[0].Policy(t.Context(), "g1"))(t).Version; got != 200 {
			t.Errorf("version = %d", got)
		}
		p := must(stores[0].Versions(t.Context(), "g1", "", 500))(t)
		for i, v := range p.Items {
			if v.Version != int64(200-i) {
				t.Fatalf("version %d stands in place %d", v.Version, i)
			}
		}
		a := must(stores[1].ListAudit(t.Context(), store.AuditQuery{GroupID: "g1", Action: "policy.*", Limit: 500}))(t)
		if len(a.Items) != 200 || len(p.Items) != 200 {
			t.Errorf("%d versions, %d audit entries", len(p.Items), len(a.Items))
		}
	})
}
