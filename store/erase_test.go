package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

func console() store.Actor {
	return store.Actor{Name: "console", Role: store.RoleOperator, Channel: store.ChannelSystem, Reason: "he asked for it"}
}

// nameEverywhere leaves traces of a person in every table, beside those of somebody whose id begins alike.
func nameEverywhere(t *testing.T, s *store.Store, id string) {
	t.Helper()
	ctx, any := t.Context(), store.Anything()
	register(t, s, "g1", "g2")
	himself := actor()
	himself.Name, himself.Reason = id, ""
	fail := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	for _, user := range []string{id, id + "0"} {
		_, err := s.PutExemption(ctx, actor(), "g1", any, store.Exemption{UserID: user, Note: "host " + user})
		fail(err)
		_, err = s.PutMute(ctx, actor(), "g2", user, any, store.MuteInput{EndMS: inMinutes(9), Reason: user + " shouted"})
		fail(err)
		_, _, err = s.CreatePortalSession(ctx, actor(), store.PortalInput{UserID: user, Groups: []string{"g1"}})
		fail(err)
	}
	apply(t, s, "1-1", event(id, inMinutes(0), inMinutes(9)))
	_, err := s.PutExemption(ctx, himself, "g2", any, store.Exemption{UserID: "other", Note: "a friend of " + id + "."})
	fail(err)
	_, err = s.PutMute(ctx, himself, "g1", "other", any, store.MuteInput{EndMS: inMinutes(9), Reason: "shouted at " + id})
	fail(err)
	_, _, err = s.UpdatePolicy(ctx, himself, "g1", any, replace(parse(t, interval("3000"))))
	fail(err)
	fail(s.SignedIn(ctx, himself))
	fail(s.Sessions().CommitCtx(ctx, "session", []byte("user "+id), time.Now().Add(time.Hour)))
	fail(s.Sessions().CommitCtx(ctx, "other", []byte("nobody"), time.Now().Add(time.Hour)))
}

func TestErasePerson(t *testing.T) {
	t.Parallel()
	for name, id := range map[string]string{"plain": "u1", "glob": "u*[a]?%_\\", "accents": "<周岚>", "id of a group": "g1", "word of the log": "person"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(b bed) { erases(b, id) })
		})
	}
}

func erases(b bed, id string) {
	t, s := b.t, b.store()
	ctx := t.Context()
	nameEverywhere(t, s, id)
	found := must(s.TracesOf(ctx, id))(t)
	want := store.Traces{Exemptions: 1, Mutes: 2, Bans: 1, Sessions: 2, Mentions: 5, Entries: 7}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Fatal(diff)
	}
	before := must(s.VerifyAudit(ctx, ""))(t)
	if diff := cmp.Diff(want, must(s.ErasePerson(ctx, console(), id))(t)); diff != "" {
		t.Error(diff)
	}
	if left := must(s.TracesOf(ctx, id))(t); left.Any() {
		t.Errorf("left: %+v", left)
	}
	v := must(s.VerifyAudit(ctx, before.Head.String()))(t)
	if !v.OK || v.Erased != 7 || len(v.Erasures) != 7 || v.Entries != before.Entries+1 {
		t.Errorf("verdict %+v %+v", v, v.FirstBad)
	}
	for _, e := range must(s.ListAudit(ctx, store.AuditQuery{}))(t).Items {
		if slices.Contains(e.Erased, "what") && e.Target+e.Before+e.After+e.Reason != "" || slices.Contains(e.Erased, "who") && e.Actor+e.Address != "" {
			t.Errorf("erased, and still there: %+v", e)
		}
	}
	newest := must(s.ListAudit(ctx, store.AuditQuery{Limit: 1}))(t).Items[0]
	if newest.Action != policy.AuditErase || newest.Target != "person" || !strings.Contains(newest.After, `"entries":7`) {
		t.Errorf("the erasure says %+v", newest)
	}
	keepsOthers(t, s, id)
	must(s.ErasePerson(ctx, console(), id))(t)
	if again := must(s.VerifyAudit(ctx, ""))(t); again.Entries != v.Entries {
		t.Errorf("erasing nobody wrote %d entries", again.Entries-v.Entries)
	}
}

// keepsOthers holds that whoever has nearly the same id lost nothing.
func keepsOthers(t *testing.T, s *store.Store, id string) {
	t.Helper()
	ctx := t.Context()
	if _, version, err := s.Exemption(ctx, "g1", id+"0"); err != nil || version != 3 {
		t.Errorf("the other's exemption: version %d, %v", version, err)
	}
	if _, err := s.Mute(ctx, "g2", id+"0"); err != nil {
		t.Error(err)
	}
	if _, found, err := s.Sessions().FindCtx(ctx, "other"); err != nil || !found {
		t.Errorf("the other's session: %v, %v", found, err)
	}
	_, err := s.Mute(ctx, "g2", id)
	wantCode(t, err, policy.CodeNotFound)
	if m := must(s.Mute(ctx, "g1", "other"))(t); m.By != "erased" || m.Reason != "erased" {
		t.Errorf("the other's mute says %+v", m)
	}
	if v := must(s.Version(ctx, "g1", 1))(t); v.Actor != "erased" {
		t.Errorf("the version says %+v", v)
	}
}

func TestErasePersonRefusesToNameHim(t *testing.T) {
	t.Parallel()
	s := pgtest.Open(t, pgtest.SQLite(t))
	a := console()
	a.Reason = "request of u1, by letter"
	_, err := s.ErasePerson(t.Context(), a, "u1")
	wantCode(t, err, policy.CodeInvalid)
	_, err = s.TracesOf(t.Context(), "a|b")
	wantCode(t, err, policy.CodeInvalid)
}

func TestTracesTellOfDocuments(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		register(t, s, "g1", "g2")
		save(t, s, "g1", `{"notices":{"en":{"too_soon":"Ask u1: wait {wait}"}}}`)
		save(t, s, "g2", `{"notices":{"en":{"too_soon":"Ask u10: wait {wait}"}}}`)
		if got := must(s.TracesOf(t.Context(), "u1"))(t); len(got.Documents) != 1 || got.Documents[0] != "g1" {
			t.Errorf("documents %v", got.Documents)
		}
	})
}
