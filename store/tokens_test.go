package store_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// clock is a clock that tests move.
type clock struct{ us atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.us.Store(time.Now().UnixMicro())
	return c
}

func (c *clock) now() time.Time          { return time.UnixMicro(c.us.Load()) }
func (c *clock) advance(d time.Duration) { c.us.Add(d.Microseconds()) }
func (c *clock) set(cfg *store.Config)   { cfg.Now = c.now }

func TestTokens(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx := t.Context()
		tok, secret, err := s.CreateToken(ctx, actor(), store.TokenInput{Name: "Ann", Role: store.RoleGroupAdmin, Groups: []string{"g2", "g1", "g2"}})
		if err != nil || !strings.HasPrefix(secret, "pk_"+tok.ID+"_") || len(secret) > 128 {
			t.Fatalf("%+v, %q, %v", tok, secret, err)
		}
		p := must(s.Authenticate(ctx, secret))(t)
		want := store.Principal{TokenID: tok.ID, Name: "Ann", Role: store.RoleGroupAdmin, Groups: []string{"g1", "g2"}}
		if diff := cmp.Diff(want, p); diff != "" {
			t.Error(diff)
		}
		if !p.Sees("g1") || p.Sees("g3") {
			t.Error("the groups of a group_admin do not bind")
		}
		_, err = s.Authenticate(ctx, secret+"x")
		wantCode(t, err, policy.CodeUnauthenticated)
		must(s.RevokeToken(ctx, actor(), tok.ID))(t)
		must(s.RevokeToken(ctx, actor(), tok.ID))(t)
		_, err = s.Authenticate(ctx, secret)
		wantCode(t, err, policy.CodeUnauthenticated)
		_, err = s.RevokeToken(ctx, actor(), "nobody")
		wantCode(t, err, policy.CodeNotFound)
		if got := must(s.Token(ctx, tok.ID))(t); got.RevokedAt.IsZero() || got.CreatedBy != "Mei" {
			t.Errorf("token = %+v", got)
		}
		if diff := cmp.Diff([]string{"token.create", "token.revoke"}, auditActions(t, s)); diff != "" {
			t.Error(diff)
		}
		for _, e := range must(s.ListAudit(ctx, store.AuditQuery{}))(t).Items {
			if strings.Contains(e.Before+e.After, secret[len(secret)-64:]) {
				t.Error("the audit shows a secret")
			}
		}
	})
}

func TestTokenInputIsChecked(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		for name, in := range map[string]store.TokenInput{
			"no name":   {Role: store.RoleOperator},
			"no role":   {Name: "x"},
			"no groups": {Name: "x", Role: store.RoleGroupAdmin},
			"groups":    {Name: "x", Role: store.RoleOperator, Groups: []string{"g"}},
			"past":      {Name: "x", Role: store.RoleOperator, ExpiresAt: time.Unix(1, 0)},
		} {
			_, _, err := s.CreateToken(t.Context(), actor(), in)
			if codeOf(err) != policy.CodeInvalid {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestTokensExpire(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		c := newClock()
		s := b.store(c.set)
		_, secret, err := s.CreateToken(t.Context(), actor(), store.TokenInput{Name: "x", Role: store.RoleOperator, ExpiresAt: c.now().Add(time.Second)})
		if err != nil {
			t.Fatal(err)
		}
		must(s.Authenticate(t.Context(), secret))(t)
		c.advance(time.Second)
		_, err = s.Authenticate(t.Context(), secret)
		wantCode(t, err, policy.CodeUnauthenticated)
	})
}

func TestRevocationReachesOtherInstancesIn5s(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		c := newClock()
		here, there := b.store(c.set), b.store(c.set)
		tok, secret, err := here.CreateToken(t.Context(), actor(), store.TokenInput{Name: "x", Role: store.RoleGateway})
		if err != nil {
			t.Fatal(err)
		}
		must(there.Authenticate(t.Context(), secret))(t)
		must(here.RevokeToken(t.Context(), actor(), tok.ID))(t)
		c.advance(5 * time.Second)
		_, err = there.Authenticate(t.Context(), secret)
		wantCode(t, err, policy.CodeUnauthenticated)
	})
}

func TestListTokensPages(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		for _, name := range []string{"a", "b", "c"} {
			if _, _, err := s.CreateToken(t.Context(), actor(), store.TokenInput{Name: name, Role: store.RoleAuditor}); err != nil {
				t.Fatal(err)
			}
		}
		p := must(s.ListTokens(t.Context(), "", 2))(t)
		q := must(s.ListTokens(t.Context(), p.Next, 2))(t)
		var names []string
		for _, x := range append(p.Items, q.Items...) {
			names = append(names, x.Name)
		}
		if diff := cmp.Diff([]string{"c", "b", "a"}, names); diff != "" || q.Next != "" {
			t.Error(diff)
		}
	})
}

func TestBootstrapOperator(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		secret := strings.Repeat("s3cret-", 6)
		var created atomic.Int64
		var wg sync.WaitGroup
		for range 4 {
			s := b.store()
			wg.Go(func() {
				token, ok, err := s.BootstrapOperator(t.Context(), secret)
				if err != nil {
					t.Error(err)
				}
				if ok {
					created.Add(1)
				}
				if ok && token != secret {
					t.Errorf("token = %q", token)
				}
			})
		}
		wg.Wait()
		if created.Load() != 1 {
			t.Errorf("%d of four instances created an operator", created.Load())
		}
		s := b.store()
		if p := must(s.Authenticate(t.Context(), secret))(t); p.Role != store.RoleOperator {
			t.Errorf("principal = %+v", p)
		}
		_, _, err := s.BootstrapOperator(t.Context(), "short")
		wantCode(t, err, policy.CodeInvalid)
	})
}

func TestBootstrapMakesATokenOnce(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		token, created, err := s.BootstrapOperator(t.Context(), "")
		if err != nil || !created {
			t.Fatal(created, err)
		}
		must(s.Authenticate(t.Context(), token))(t)
		if token, created, err = s.BootstrapOperator(t.Context(), ""); err != nil || created || token != "" {
			t.Errorf("again: %q, %v, %v", token, created, err)
		}
	})
}
