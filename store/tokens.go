package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

type tokenRow struct {
	ID, Name, Role, Groups string
	SecretHash             string
	ExpiresAt              *int64
	CreatedAt              int64
	CreatedBy              string
	RevokedAt              *int64
}

func (r tokenRow) public() Token {
	return Token{
		ID: r.ID, Name: r.Name, Role: r.Role, Groups: r.groups(), ExpiresAt: fromMicros(r.ExpiresAt),
		CreatedAt: fromMicros(&r.CreatedAt), CreatedBy: r.CreatedBy, RevokedAt: fromMicros(r.RevokedAt),
	}
}

// groups reads the stored list; a damaged one names no group.
func (r tokenRow) groups() []string {
	var out []string
	if err := json.Unmarshal([]byte(r.Groups), &out); err != nil {
		return nil
	}
	return out
}

// json is the token as audit entries show it, without any secret.
func (r tokenRow) json() string {
	return asJSON(struct {
		ID        string   `json:"id"`
		Name      string   `json:"name"`
		Role      string   `json:"role"`
		Groups    []string `json:"groups,omitempty"`
		ExpiresAt string   `json:"expires_at,omitempty"`
	}{r.ID, r.Name, r.Role, r.groups(), jsonTime(fromMicros(r.ExpiresAt))})
}

// hashSecret is SHA-256 of the whole token as hex: tokens are 256 random bits, which need no salt and no slow hash.
func hashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// newSecret makes pk_<id>_<64 hex digits>.
func (s *Store) newSecret(id string) (string, error) {
	var random [32]byte
	if _, err := io.ReadFull(s.cfg.Random, random[:]); err != nil {
		return "", err
	}
	return "pk_" + id + "_" + hex.EncodeToString(random[:]), nil
}

// CreateToken makes a token and returns its secret, which is never shown again. CodeInvalid names every fault of in;
// CodeConflict where in.Secret has made a token before (see madeBefore).
func (s *Store) CreateToken(ctx context.Context, a Actor, in TokenInput) (Token, string, error) {
	if err := in.check(s); err != nil {
		return Token{}, "", err
	}
	secret, err := in.Secret, error(nil)
	if secret == "" {
		secret, err = s.NewSecret()
	}
	id, ok := idOfSecret(secret)
	if err != nil || !ok {
		return Token{}, "", cmp.Or(err, errSecret())
	}
	var row tokenRow
	err = s.write(ctx, func(t *tx) error {
		row = t.insertToken(a, id, secret, in)
		return nil
	})
	if in.Secret != "" && isConflict(err) {
		row, err = s.madeBefore(ctx, a, id, in)
	}
	return row.public(), secret, err
}

func (t *tx) insertToken(a Actor, id, secret string, in TokenInput) tokenRow {
	groups := slices.Compact(slices.Sorted(slices.Values(in.Groups)))
	if groups == nil {
		groups = []string{}
	}
	row := tokenRow{
		ID: id, Name: in.Name, Role: in.Role, Groups: asJSON(groups), SecretHash: hashSecret(secret),
		ExpiresAt: micros(in.ExpiresAt), CreatedAt: t.now.UnixMicro(), CreatedBy: a.Name,
	}
	t.finally(`INSERT INTO tokens (id, name, role, groups, secret_hash, expires_at, created_at, created_by)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		row.ID, row.Name, row.Role, row.Groups, row.SecretHash, row.ExpiresAt, row.CreatedAt, row.CreatedBy)
	t.audit(a, entry{action: "token.create", target: id, after: row.json()})
	return row
}

func (in TokenInput) check(s *Store) error {
	var fields []policy.FieldError
	switch {
	case in.Name == "":
		fields = append(fields, policy.FieldError{Pointer: "/name", Code: "required", Detail: "a token has a name"})
	case !policy.IsLine(in.Name):
		fields = append(fields, policy.FieldError{Pointer: "/name", Code: "format", Detail: "name " + policy.LineRule})
	}
	switch in.Role {
	case RoleOperator, RoleAuditor, RolePlatform, RoleGateway, RoleGroupAdmin:
	default:
		fields = append(fields, policy.FieldError{
			Pointer: "/role", Code: "unknown", Detail: "role is operator, auditor, platform, gateway or group_admin",
		})
	}
	if (in.Role == RoleGroupAdmin) != (len(in.Groups) > 0) {
		fields = append(fields, policy.FieldError{
			Pointer: "/groups", Code: "required", Detail: "a group_admin names its groups, other roles name none",
		})
	}
	if !in.ExpiresAt.IsZero() && !in.ExpiresAt.After(s.now()) {
		fields = append(fields, policy.FieldError{
			Pointer: "/expires_at", Code: "range", Detail: "expires_at lies in the future",
		})
	}
	if fields == nil {
		return nil
	}
	return &policy.Error{Code: policy.CodeInvalid, Message: "the token cannot be made", Fields: fields}
}

// Token reads one token, revoked or not. CodeNotFound.
func (s *Store) Token(ctx context.Context, id string) (Token, error) {
	var row tokenRow
	err := s.read(ctx, func(db *gorm.DB) error { return noToken(one(db.Raw("SELECT * FROM tokens WHERE id = ?", id), &row)) })
	return row.public(), err
}

func noToken(err error) error {
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return policy.Errorf(policy.CodeNotFound, "no such token")
	}
	return err
}

// ListTokens pages all tokens, revoked ones too, newest first. CodeInvalid for a bad cursor.
func (s *Store) ListTokens(ctx context.Context, cursor string, limit int) (Page[Token], error) {
	key, err := decodeCursor("tokens", cursor, 1)
	if err != nil {
		return Page[Token]{}, err
	}
	sql, args := "SELECT * FROM tokens", []any{}
	if key != nil {
		sql, args = sql+" WHERE id < ?", append(args, key[0])
	}
	limit = pageLimit(limit)
	var rows []tokenRow
	err = s.read(ctx, func(db *gorm.DB) error {
		return db.Raw(sql+" ORDER BY id DESC LIMIT ?", append(args, limit+1)...).Scan(&rows).Error
	})
	return pageOf(rows, limit, tokenRow.public, func(r tokenRow) string { return encodeCursor("tokens", r.ID) }), err
}

// RevokeToken revokes a token: at once in this process, within 5 s in others. A revoked one stays as it is.
// CodeNotFound.
func (s *Store) RevokeToken(ctx context.Context, a Actor, id string) (Token, error) {
	var row tokenRow
	err := s.write(ctx, func(t *tx) error {
		err := noToken(one(t.Raw("SELECT * FROM tokens WHERE id = ?"+s.dialect.forUpdate("tokens"), id), &row))
		if err != nil || row.RevokedAt != nil {
			return err
		}
		row.RevokedAt = micros(t.now)
		t.finally("UPDATE tokens SET revoked_at = ? WHERE id = ?", row.RevokedAt, id)
		t.audit(a, entry{action: "token.revoke", target: id, before: row.json()})
		return nil
	})
	if err == nil {
		s.tokens.drop(row.SecretHash)
	}
	return row.public(), err
}

// The lengths of a bootstrap token, in bytes.
const (
	minBootstrap = 32
	maxBootstrap = 128
)

// BootstrapOperator makes the first operator token if no operator ever existed: secret itself, or a new one for "". It
// returns the token, or created = false where there was an operator. Of several instances that start at once one
// creates. CodeInvalid for a secret that is not 32–128 printable ASCII bytes.
func (s *Store) BootstrapOperator(ctx context.Context, secret string) (token string, created bool, err error) {
	if secret != "" && !validBootstrap(secret) {
		return "", false, policy.Errorf(policy.CodeInvalid,
			"the bootstrap token has %d to %d printable ASCII characters without spaces", minBootstrap, maxBootstrap)
	}
	id := s.cfg.NewID()
	if secret == "" {
		if secret, err = s.newSecret(id); err != nil {
			return "", false, err
		}
	}
	err = s.write(ctx, func(t *tx) error {
		if err := s.dialect.lock(t.DB, lockBootstrap); err != nil {
			return err
		}
		var operators int64
		err := t.Raw("SELECT count(*) FROM tokens WHERE role = ?", RoleOperator).Scan(&operators).Error
		if err != nil || operators > 0 {
			return err
		}
		created = true
		system := Actor{Name: "bootstrap", Role: RoleOperator, Channel: ChannelSystem}
		t.insertToken(system, id, secret, TokenInput{Name: "bootstrap", Role: RoleOperator})
		return nil
	})
	if err != nil || !created {
		return "", false, err
	}
	return secret, true, nil
}

func validBootstrap(secret string) bool {
	if len(secret) < minBootstrap || len(secret) > maxBootstrap {
		return false
	}
	return !slices.ContainsFunc([]byte(secret), func(b byte) bool { return b <= ' ' || b > '~' })
}
