package store

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

// onceFor is how long a request for a token, sent again, is answered like the first: what a double click takes, and not
// so long that whoever comes by later can have the secret shown.
const onceFor = time.Minute

// NewSecret makes the secret of a token that does not exist yet: a form that carries it makes one token, however often it
// is sent. It opens nothing until CreateToken takes it.
func (s *Store) NewSecret() (string, error) { return s.newSecret(s.cfg.NewID()) }

// idOfSecret is the id of the token that a secret of newSecret belongs to; false for other texts.
func idOfSecret(secret string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(secret, "pk_")
	i := strings.LastIndexByte(rest, '_')
	if !ok || i < 0 || policy.CheckID("", rest[:i]) != nil {
		return "", false
	}
	random, err := hex.DecodeString(rest[i+1:])
	return rest[:i], err == nil && len(random) == 32
}

func errSecret() error {
	return policy.Errorf(policy.CodeMalformed, "the secret of a token to make is none that was made for it")
}

// madeBefore is the token that the same request of the same person made a moment ago. CodeConflict if it was another, was
// made longer ago or is revoked.
func (s *Store) madeBefore(ctx context.Context, a Actor, id string, in TokenInput) (row tokenRow, err error) {
	err = s.read(ctx, func(db *gorm.DB) error { return noToken(one(db.Raw("SELECT * FROM tokens WHERE id = ?", id), &row)) })
	if err != nil {
		return tokenRow{}, err
	}
	groups := slices.Compact(slices.Sorted(slices.Values(in.Groups)))
	age := s.now().Sub(fromMicros(&row.CreatedAt))
	if row.SecretHash != hashSecret(in.Secret) || row.Name != in.Name || row.Role != in.Role || row.CreatedBy != a.Name ||
		!slices.Equal(row.groups(), groups) || row.RevokedAt != nil || age >= onceFor ||
		in.ExpiresAt.Sub(fromMicros(row.ExpiresAt)).Abs() >= onceFor {
		return tokenRow{}, policy.Errorf(policy.CodeConflict, "this secret has made a token already")
	}
	return row, nil
}
