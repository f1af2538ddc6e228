package store_test

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// mutation is one call of a mutating method. Made twice it changes something once, unless it is a new thing each time.
type mutation struct {
	action string // of the one entry it writes
	call   func(s *store.Store) error
	once   bool // a second call makes a second thing, or answers CodeNotFound
}

// mutations lists every mutating method in an order in which each has something to do. token is the id of a token.
func mutations(t *testing.T, token string, end int64) []mutation {
	t.Helper()
	ctx, a, any := t.Context(), actor(), store.Anything()
	bounds := func(s *store.Store) error {
		b := must(s.Bounds(ctx))(t).Bounds
		b.ExemptionsMax = 50
		_, _, err := s.UpdateBounds(ctx, a, any, b)
		return err
	}
	group := func(name string) func(s *store.Store) error {
		return func(s *store.Store) error { _, _, err := s.PutGroup(ctx, a, any, "g1", name, "en"); return err }
	}
	exempt := func(note string) func(s *store.Store) error {
		return func(s *store.Store) error {
			_, err := s.PutExemption(ctx, a, "g1", any, store.Exemption{UserID: "u1", Note: note})
			return err
		}
	}
	return []mutation{
		{"group.create", group("one"), false},
		{"group.update", group("two"), false},
		{"policy.update", func(s *store.Store) error {
			_, _, err := s.UpdatePolicy(ctx, a, "g1", any, replace(parse(t, interval("3000"))))
			return err
		}, false},
		{"policy.delete", func(s *store.Store) error { _, _, err := s.DeletePolicy(ctx, a, "g1", any, nil); return err }, false},
		{"policy.restore", func(s *store.Store) error { _, _, err := s.RestorePolicy(ctx, a, "g1", any, 1, nil); return err }, false},
		{"exemption.add", exempt("x"), false},
		{"exemption.update", exempt("y"), false},
		{"exemption.remove", func(s *store.Store) error { _, err := s.RemoveExemption(ctx, a, "g1", any, "u1"); return err }, true},
		{"mute.put", func(s *store.Store) error {
			_, err := s.PutMute(ctx, a, "g1", "u1", any, store.MuteInput{EndMS: end})
			return err
		}, false},
		{"mute.lift", func(s *store.Store) error { _, err := s.LiftMute(ctx, a, "g1", "u1", any); return err }, true},
		{"ban.lift", func(s *store.Store) error { _, err := s.LiftBan(ctx, a, "g1", "message", "u1"); return err }, true},
		{"bounds.update", bounds, false},
		{"defaults.update", func(s *store.Store) error {
			_, _, err := s.UpdateDefaults(ctx, a, any, parse(t, interval("2500")))
			return err
		}, false},
		{"action.put", func(s *store.Store) error {
			_, _, err := s.PutAction(ctx, a, policy.ActionSpec{Name: "wave"})
			return err
		}, false},
		{"token.create", func(s *store.Store) error {
			_, _, err := s.CreateToken(ctx, a, store.TokenInput{Name: "x", Role: store.RoleGateway})
			return err
		}, true},
		{"token.revoke", func(s *store.Store) error { _, err := s.RevokeToken(ctx, a, token); return err }, false},
		{"session.create", func(s *store.Store) error { return s.SignedIn(ctx, a) }, true},
		{"session.revoke", func(s *store.Store) error { return s.SignedOut(ctx, a) }, true},
		{"group.archive", func(s *store.Store) error { _, err := s.ArchiveGroup(ctx, a, any, "g1"); return err }, false},
		{"group.unarchive", group("two"), false},
	}
}

// TestEveryMutationIsAuditedOnce walks all mutating methods: one entry for a change, none for a no-op.
func TestEveryMutationIsAuditedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		tok, _, err := s.CreateToken(t.Context(), actor(), store.TokenInput{Name: "y", Role: store.RoleGateway})
		if err != nil {
			t.Fatal(err)
		}
		seen := 1
		for _, m := range mutations(t, tok.ID, inMinutes(9)) {
			if m.action == "ban.lift" {
				apply(t, s, "1-1", event("u1", inMinutes(0), inMinutes(9)))
			}
			for round := range 2 {
				before := outboxDepth(t, s)
				if round == 1 && m.once {
					continue
				}
				if err := m.call(s); err != nil {
					t.Fatalf("%s: %v", m.action, err)
				}
				if round == 0 {
					seen++
				}
				got := auditActions(t, s)
				if len(got) != seen || got[len(got)-1] != m.action {
					t.Fatalf("%s, call %d: the audit says %v", m.action, round+1, got)
				}
				if round == 1 && outboxDepth(t, s) != before {
					t.Errorf("%s: a no-op told Redis", m.action)
				}
			}
		}
	})
}

func TestAuditEntrySaysWhoWhatWhenWhereWhy(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		c := newClock()
		s := b.store(c.set)
		register(t, s, "g1")
		c.advance(time.Second)
		save(t, s, "g1", interval("3000"))
		page := must(s.ListAudit(t.Context(), store.AuditQuery{}))(t).Items
		got := page[0]
		want := store.AuditEntry{
			Seq: 2, At: c.now().UTC(), Actor: "Mei", Role: "operator", Channel: "api", Action: "policy.update", Target: "g1",
			GroupID: "g1", Before: "{}", After: interval("3000"), Reason: "quieter nights", RequestID: "req-1",
			Address: "192.0.2.7", Erased: []string{}, PrevHash: page[1].Hash, Hash: got.Hash,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if len(got.Hash) != 64 || got.Hash == got.PrevHash || page[1].PrevHash != "" {
			t.Errorf("hashes %q, %q, %q", page[1].PrevHash, got.PrevHash, got.Hash)
		}
	})
}

func TestAuditFiltersAndPages(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		c := newClock()
		s := b.store(c.set)
		register(t, s, "g1", "g2")
		c.advance(time.Minute)
		middle := c.now()
		save(t, s, "g1", interval("3000"))
		if err := s.SignedIn(t.Context(), store.Actor{Name: "Bo", Role: "auditor", Channel: "ui", RequestID: "req-2"}); err != nil {
			t.Fatal(err)
		}
		for name, f := range map[string]struct {
			q    store.AuditQuery
			want string
		}{
			"all":     {store.AuditQuery{}, "4 3 2 1"},
			"actor":   {store.AuditQuery{Actor: "Bo"}, "4"},
			"role":    {store.AuditQuery{Role: "operator"}, "3 2 1"},
			"channel": {store.AuditQuery{Channel: "ui"}, "4"},
			"group":   {store.AuditQuery{GroupID: "g1"}, "3 1"},
			"action":  {store.AuditQuery{Action: "group.create"}, "2 1"},
			"kind":    {store.AuditQuery{Action: "policy.*"}, "3"},
			"field":   {store.AuditQuery{Changed: "/actions/message/min_interval_ms"}, "3"},
			"object":  {store.AuditQuery{Changed: "/actions/message"}, "3"},
			"other":   {store.AuditQuery{Changed: "/actions/message/min_interval"}, ""},
			"both":    {store.AuditQuery{Changed: "/name", GroupID: "g2"}, "2"},
			"request": {store.AuditQuery{RequestID: "req-2"}, "4"},
			"from":    {store.AuditQuery{From: middle}, "4 3"},
			"to":      {store.AuditQuery{To: middle}, "2 1"},
			"pages":   {store.AuditQuery{Limit: 1, Role: "operator"}, "3 2 1"},
		} {
			var got []string
			for {
				p := must(s.ListAudit(t.Context(), f.q))(t)
				for _, e := range p.Items {
					got = append(got, strconv.FormatInt(e.Seq, 10))
				}
				if f.q.Cursor = p.Next; f.q.Cursor == "" {
					break
				}
			}
			if diff := cmp.Diff(f.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	})
}

// TestSealIsGapFreeUnderConcurrency seals from two instances while both save.
func TestSealIsGapFreeUnderConcurrency(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		stores := []*store.Store{b.store(), b.store()}
		var wg sync.WaitGroup
		for i, s := range stores {
			wg.Go(func() {
				for n := range 50 {
					register(t, s, fmt.Sprint(i, "-", n))
				}
			})
			wg.Go(func() {
				for range 50 {
					if _, err := s.SealAudit(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		p := must(stores[0].ListAudit(t.Context(), store.AuditQuery{Limit: 500}))(t)
		for i, e := range p.Items {
			if e.Seq != int64(100-i) {
				t.Fatalf("entry %d stands in place %d", e.Seq, i)
			}
		}
		if len(p.Items) != 100 {
			t.Errorf("%d entries", len(p.Items))
		}
	})
}
