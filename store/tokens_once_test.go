package store_test

import (
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

func TestTokens_OneSecretMakesOneToken(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, c := b.t, newClock()
		s := b.store(c.set)
		in := store.TokenInput{Name: "gate", Role: store.RoleGroupAdmin, Groups: []string{"b", "a", "b"}, Secret: must(s.NewSecret())(t)}
		first, secret, err := s.CreateToken(t.Context(), actor(), in)
		if err != nil || secret != in.Secret {
			t.Fatalf("%q, %v", secret, err)
		}
		c.advance(59 * time.Second)
		again, secret, err := s.CreateToken(t.Context(), actor(), in)
		if err != nil || secret != in.Secret || again.ID != first.ID {
			t.Fatalf("%+v, %v", again, err)
		}
		other := in
		other.Groups = []string{"a"}
		_, _, err = s.CreateToken(t.Context(), actor(), other)
		wantCode(t, err, policy.CodeConflict)
		stranger := actor()
		stranger.Name = "Tomas"
		_, _, err = s.CreateToken(t.Context(), stranger, in)
		wantCode(t, err, policy.CodeConflict)
		c.advance(time.Second)
		_, _, err = s.CreateToken(t.Context(), actor(), in)
		wantCode(t, err, policy.CodeConflict)
		in.Secret = "pk_" + first.ID + "_short"
		_, _, err = s.CreateToken(t.Context(), actor(), in)
		wantCode(t, err, policy.CodeMalformed)
		if got := auditActions(t, s); len(got) != 1 {
			t.Errorf("audit: %v", got)
		}
	})
}
