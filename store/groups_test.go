package store_test

import (
	"encoding/base64"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

func TestPutGroupIsIdempotent(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx := t.Context()
		g, created, err := s.PutGroup(ctx, actor(), store.Anything(), "g1", "Night owls", "zh")
		if err != nil || !created || g.Revision != 1 || g.Name != "Night owls" || g.Archived() {
			t.Fatalf("group = %+v, %v, %v", g, created, err)
		}
		again, created, err := s.PutGroup(ctx, actor(), store.Exactly(1), "g1", "Night owls", "zh")
		if err != nil || created {
			t.Fatalf("again: %v, %v", created, err)
		}
		if diff := cmp.Diff(g, again); diff != "" {
			t.Error(diff)
		}
		renamed, _, err := s.PutGroup(ctx, actor(), store.Exactly(1), "g1", "", "")
		if err != nil || renamed.Revision != 2 || renamed.Name != "" || renamed.Locale != "" {
			t.Fatalf("renamed = %+v, %v", renamed, err)
		}
		_, _, err = s.PutGroup(ctx, actor(), store.Exactly(1), "g1", "x", "en")
		wantCode(t, err, policy.CodeStale)
		_, _, err = s.PutGroup(ctx, actor(), store.Exactly(1), "g2", "x", "en")
		wantCode(t, err, policy.CodeStale)
		_, _, err = s.PutGroup(ctx, actor(), store.Anything(), "a b", "x", "en")
		wantCode(t, err, policy.CodeInvalid)
		if diff := cmp.Diff([]string{"group.create", "group.update"}, auditActions(t, s)); diff != "" {
			t.Error(diff)
		}
		if d := outboxDepth(t, s); d != 0 {
			t.Errorf("a name concerns nobody in Redis, yet %d rows wait", d)
		}
	})
}

func TestArchiveAndBack(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx := t.Context()
		register(t, s, "g1")
		save(t, s, "g1", interval("3000"))
		must(s.PutExemption(ctx, actor(), "g1", store.Anything(), store.Exemption{UserID: "u"}))(t)
		g := must(s.ArchiveGroup(ctx, actor(), store.Anything(), "g1"))(t)
		if !g.Archived() {
			t.Fatal("not archived")
		}
		must(s.ArchiveGroup(ctx, actor(), store.Anything(), "g1"))(t)
		if r := must(s.Policy(ctx, "g1"))(t); r.Version != 2 || string(r.Document.JSON()) != interval("3000") {
			t.Errorf("record = %+v", r)
		}
		if e := must(s.ExemptionsForPublish(ctx, "g1"))(t); len(e.Entries) != 0 || e.Version != 2 {
			t.Errorf("exemptions of an archived group = %+v", e)
		}
		refusesWrites(t, s, "g1")
		register(t, s, "g1")
		if r := must(s.Policy(ctx, "g1"))(t); r.Version != 3 || r.Group.Archived() {
			t.Errorf("record = %+v", r)
		}
		if e := must(s.ExemptionsForPublish(ctx, "g1"))(t); len(e.Entries) != 1 || e.Version != 3 {
			t.Errorf("exemptions = %+v", e)
		}
		want := []string{"group.create", "policy.update", "exemption.add", "group.archive", "group.unarchive"}
		if diff := cmp.Diff(want, auditActions(t, s)); diff != "" {
			t.Error(diff)
		}
		_, err := s.ArchiveGroup(ctx, actor(), store.Anything(), "nobody")
		wantCode(t, err, policy.CodeNotFound)
	})
}

func refusesWrites(t *testing.T, s *store.Store, id string) {
	t.Helper()
	ctx, any := t.Context(), store.Anything()
	_, _, err := s.UpdatePolicy(ctx, actor(), id, any, replace(policy.Document{}))
	wantCode(t, err, policy.CodeArchived)
	_, _, err = s.DeletePolicy(ctx, actor(), id, any, nil)
	wantCode(t, err, policy.CodeArchived)
	_, err = s.PutExemption(ctx, actor(), id, any, store.Exemption{UserID: "u2"})
	wantCode(t, err, policy.CodeArchived)
	_, err = s.RemoveExemption(ctx, actor(), id, any, "u")
	wantCode(t, err, policy.CodeArchived)
	_, err = s.PutMute(ctx, actor(), id, "u", any, store.MuteInput{EndMS: 1 << 50})
	wantCode(t, err, policy.CodeArchived)
}

// TestC36_IdsAreBytes covers C14 and C15 too: ids that look alike, or like numbers, stay apart and come back whole.
func TestC36_IdsAreBytes(t *testing.T) {
	t.Parallel()
	ids := []string{
		"*", "-1002471352452", "007", "15947634569000323", "7", "9007199254740993", "A", "Group", "a", "a%b", "a*", "a:b",
		"a_b", "group", "ß", "é", "e\u0301", "!a/b🐈:example.org", "1e3", "0x10", "ss", "群",
	}
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx := t.Context()
		register(t, s, ids...)
		for i, id := range ids {
			save(t, s, id, interval(strconv.Itoa(2000+i)))
			must(s.PutExemption(ctx, actor(), id, store.Anything(), store.Exemption{UserID: id}))(t)
		}
		var got []string
		q := store.GroupQuery{Limit: 5}
		for {
			p := must(s.ListGroups(ctx, q))(t)
			for _, g := range p.Items {
				got = append(got, g.ID)
			}
			if q.Cursor = p.Next; q.Cursor == "" {
				break
			}
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(ids)), got); diff != "" {
			t.Error(diff)
		}
		for i, id := range ids {
			r := must(s.Policy(ctx, id))(t)
			if r.Group.ID != id || string(r.Document.JSON()) != interval(strconv.Itoa(2000+i)) {
				t.Errorf("%q: %+v", id, r)
			}
			e := must(s.ExemptionsForPublish(ctx, id))(t)
			if len(e.Entries) != 1 || e.Entries[0].UserID != id {
				t.Errorf("%q: %+v", id, e)
			}
		}
	})
}

func TestListGroups(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		register(t, s, "a1", "a2", "b_1", "bx1")
		list := func(q store.GroupQuery) []string {
			t.Helper()
			out := []string{}
			for _, g := range must(s.ListGroups(t.Context(), q))(t).Items {
				out = append(out, g.ID)
			}
			return out
		}
		for name, c := range map[string]struct {
			q    store.GroupQuery
			want []string
		}{
			"all":             {store.GroupQuery{}, []string{"a1", "a2", "b_1", "bx1"}},
			"id":              {store.GroupQuery{Search: "b_"}, []string{"b_1"}},
			"name, folded":    {store.GroupQuery{Search: "GROUP A"}, []string{"a1", "a2"}},
			"percent":         {store.GroupQuery{Search: "%"}, []string{}},
			"allowed":         {store.GroupQuery{Allowed: []string{"a2", "zz"}}, []string{"a2"}},
			"nothing allowed": {store.GroupQuery{Allowed: []string{}}, []string{}},
			"allowed, search": {store.GroupQuery{Allowed: []string{"a2", "b_1"}, Search: "a2"}, []string{"a2"}},
		} {
			if diff := cmp.Diff(c.want, list(c.q)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	})
}

func TestCursorsAreStableUnderInserts(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		register(t, s, "b", "d", "f")
		p := must(s.ListGroups(t.Context(), store.GroupQuery{Limit: 2}))(t)
		register(t, s, "a", "c", "e")
		var got []string
		for _, g := range must(s.ListGroups(t.Context(), store.GroupQuery{Cursor: p.Next}))(t).Items {
			got = append(got, g.ID)
		}
		if diff := cmp.Diff([]string{"e", "f"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestBadCursors(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx := t.Context()
		register(t, s, "g1", "g2")
		foreign := must(s.ListGroups(ctx, store.GroupQuery{Limit: 1}))(t).Next
		for _, c := range []string{
			"?", "AAAA", foreign[:len(foreign)-1], base64.RawURLEncoding.EncodeToString([]byte(`["versions","x"]`)),
			base64.RawURLEncoding.EncodeToString([]byte(`["audit","x"]`)),
		} {
			_, err := s.ListGroups(ctx, store.GroupQuery{Cursor: c})
			wantCode(t, err, policy.CodeInvalid)
		}
		for _, c := range []string{"?", foreign, base64.RawURLEncoding.EncodeToString([]byte(`["versions","x"]`))} {
			_, err := s.Versions(ctx, "g1", c, 0)
			wantCode(t, err, policy.CodeInvalid)
			_, err = s.ListExemptions(ctx, "g1", store.ExemptionQuery{Cursor: c})
			wantCode(t, err, policy.CodeInvalid)
			_, err = s.ListMutes(ctx, "g1", c, 0)
			wantCode(t, err, policy.CodeInvalid)
			_, err = s.ListBans(ctx, "g1", c, 0)
			wantCode(t, err, policy.CodeInvalid)
			_, err = s.ListTokens(ctx, c, 0)
			wantCode(t, err, policy.CodeInvalid)
			_, err = s.ListAudit(ctx, store.AuditQuery{Cursor: c})
			wantCode(t, err, policy.CodeInvalid)
		}
	})
}
