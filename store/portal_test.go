package store_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

func TestAPortalCodeSignsInOnceWithinAMinute(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		var ahead atomic.Int64
		s := b.store(func(c *store.Config) {
			real := c.Now
			c.Now = func() time.Time { return real().Add(time.Duration(ahead.Load())) }
		})
		in := store.PortalInput{UserID: "u17", Groups: []string{"b", "a", "b"}}
		p, code, err := s.CreatePortalSession(b.t.Context(), actor(), in)
		if err != nil || len(p.Groups) != 2 || p.Groups[0] != "a" || p.Holds(p.CreatedAt) {
			b.t.Fatalf("%+v, %v", p, err)
		}
		used, err := s.UsePortalCode(b.t.Context(), actor(), code)
		if err != nil || used.ID != p.ID || used.Principal().Name != "u17" || !used.Holds(used.UsedAt) || used.Holds(p.ExpiresAt) {
			b.t.Fatalf("%+v, %v", used, err)
		}
		for _, wrong := range []string{code, "", "0000"} {
			_, err := s.UsePortalCode(b.t.Context(), actor(), wrong)
			wantCode(b.t, err, policy.CodeUnauthenticated)
		}
		_, late, err := s.CreatePortalSession(b.t.Context(), actor(), in)
		if err != nil {
			b.t.Fatal(err)
		}
		ahead.Store(int64(store.PortalCodeLife))
		_, err = s.UsePortalCode(b.t.Context(), actor(), late)
		wantCode(b.t, err, policy.CodeUnauthenticated)
		ahead.Store(int64(60 * 24 * time.Hour))
		if err := s.Cleanup(b.t.Context()); err != nil {
			b.t.Fatal(err)
		}
		if page, err := s.ListPortalSessions(b.t.Context(), "", 10); err != nil || len(page.Items) != 0 {
			b.t.Errorf("kept %v, %v", page.Items, err)
		}
	})
}

func TestPortalSessionsAreListedRevokedAndAudited(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		s := b.store()
		var last string
		for range 3 {
			p, code, err := s.CreatePortalSession(b.t.Context(), actor(), store.PortalInput{UserID: "u", Name: "Mei", Groups: []string{"a"}})
			if err != nil {
				b.t.Fatal(err)
			}
			last = p.ID
			if err := s.RevokePortalSession(b.t.Context(), actor(), p.ID); err != nil {
				b.t.Fatal(err)
			}
			_, err = s.UsePortalCode(b.t.Context(), actor(), code)
			wantCode(b.t, err, policy.CodeUnauthenticated)
		}
		before := len(auditActions(b.t, s))
		if err := s.RevokePortalSession(b.t.Context(), actor(), last); err != nil {
			b.t.Fatal(err)
		}
		if after := len(auditActions(b.t, s)); after != before || before != 6 {
			b.t.Errorf("%d entries, %d after revoking again", before, after)
		}
		first, err := s.ListPortalSessions(b.t.Context(), "", 2)
		if err != nil || len(first.Items) != 2 || first.Items[0].ID != last || first.Items[0].RevokedAt.IsZero() {
			b.t.Fatalf("%+v, %v", first, err)
		}
		if rest, err := s.ListPortalSessions(b.t.Context(), first.Next, 2); err != nil || len(rest.Items) != 1 || rest.Next != "" {
			b.t.Errorf("%+v, %v", rest, err)
		}
		wantCode(b.t, s.RevokePortalSession(b.t.Context(), actor(), "nobody"), policy.CodeNotFound)
		for _, bad := range []store.PortalInput{{UserID: "u"}, {UserID: "two words", Groups: []string{"a"}}, {UserID: "u", Groups: []string{"~a"}}} {
			_, _, err := s.CreatePortalSession(b.t.Context(), actor(), bad)
			wantCode(b.t, err, policy.CodeInvalid)
		}
	})
}
