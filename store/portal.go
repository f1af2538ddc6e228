package store

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

// The lives of a portal session: the code of its link, and the session that comes of it, from the link's making on.
const (
	PortalCodeLife    = 60 * time.Second
	PortalSessionLife = 12 * time.Hour

	portalKept = 30 * 24 * time.Hour // how long the row is kept after its end
)

// PortalSession is a person whom the chat platform sent to the pages, who sees the named groups as their admin.
type PortalSession struct {
	ID            string
	UserID        string // the platform's
	Name          string // "" = unknown
	Groups        []string
	Locale        string // BCP 47; "" = unknown
	CreatedAt     time.Time
	CreatedBy     string
	CodeExpiresAt time.Time
	ExpiresAt     time.Time
	UsedAt        time.Time // zero = nobody has signed in with it
	RevokedAt     time.Time // zero = not revoked
}

// Holds says whether the session may be used at a moment.
func (p PortalSession) Holds(now time.Time) bool {
	return !p.UsedAt.IsZero() && p.RevokedAt.IsZero() && now.Before(p.ExpiresAt)
}

// Principal is whoever uses the session.
func (p PortalSession) Principal() Principal {
	name := p.Name
	if name == "" {
		name = p.UserID
	}
	return Principal{TokenID: p.ID, Name: name, Role: RoleGroupAdmin, Groups: p.Groups}
}

// PortalInput describes a portal session to make.
type PortalInput struct {
	UserID string
	Name   string
	Groups []string
	Locale string
}

type portalRow struct {
	ID, CodeHash, UserID, Name, Groups, Locale string
	CreatedAt                                  int64
	CreatedBy                                  string
	CodeExpiresAt, ExpiresAt                   int64
	UsedAt, RevokedAt                          *int64
}

func (r portalRow) public() PortalSession {
	var groups []string
	if err := json.Unmarshal([]byte(r.Groups), &groups); err != nil {
		groups = nil // a damaged list names no group
	}
	return PortalSession{
		ID: r.ID, UserID: r.UserID, Name: r.Name, Groups: groups, Locale: r.Locale, CreatedAt: fromMicros(&r.CreatedAt),
		CreatedBy: r.CreatedBy, CodeExpiresAt: fromMicros(&r.CodeExpiresAt), ExpiresAt: fromMicros(&r.ExpiresAt),
		UsedAt: fromMicros(r.UsedAt), RevokedAt: fromMicros(r.RevokedAt),
	}
}

// json is the session as audit entries show it, without its code.
func (r portalRow) json() string {
	return asJSON(struct {
		ID        string   `json:"id"`
		UserID    string   `json:"user_id"`
		Name      string   `json:"name,omitempty"`
		Groups    []string `json:"groups"`
		ExpiresAt string   `json:"expires_at"`
	}{r.ID, r.UserID, r.Name, r.public().Groups, jsonTime(fromMicros(&r.ExpiresAt))})
}

// CreatePortalSession makes the code of a link to the pages, which is good for one sign-in within PortalCodeLife and is
// never shown again. CodeInvalid for ids that are none, and without groups.
func (s *Store) CreatePortalSession(ctx context.Context, a Actor, in PortalInput) (PortalSession, string, error) {
	if err := in.check(); err != nil {
		return PortalSession{}, "", err
	}
	var random [32]byte
	if _, err := io.ReadFull(s.cfg.Random, random[:]); err != nil {
		return PortalSession{}, "", err
	}
	code := hex.EncodeToString(random[:])
	var row portalRow
	err := s.write(ctx, func(t *tx) error {
		row = portalRow{
			ID: s.cfg.NewID(), CodeHash: hashSecret(code), UserID: in.UserID, Name: in.Name, Locale: in.Locale,
			Groups: asJSON(slices.Compact(slices.Sorted(slices.Values(in.Groups)))), CreatedAt: t.now.UnixMicro(), CreatedBy: a.Name,
			CodeExpiresAt: t.now.Add(PortalCodeLife).UnixMicro(), ExpiresAt: t.now.Add(PortalSessionLife).UnixMicro(),
		}
		t.finally(`INSERT INTO portal_sessions (id, code_hash, user_id, name, groups, locale, created_at, created_by,
				code_expires_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			row.ID, row.CodeHash, row.UserID, row.Name, row.Groups, row.Locale, row.CreatedAt, row.CreatedBy, row.CodeExpiresAt, row.ExpiresAt)
		t.audit(a, entry{action: "portal.create", target: row.ID, after: row.json()})
		return nil
	})
	return row.public(), code, err
}

func (in PortalInput) check() error {
	var fields []policy.FieldError
	var known *policy.Error
	if err := policy.CheckID("/user_id", in.UserID); errors.As(err, &known) {
		fields = append(fields, known.Fields...)
	}
	if len(in.Groups) == 0 {
		fields = append(fields, policy.FieldError{Pointer: "/groups", Code: "required", Detail: "a portal session names at least one group"})
	}
	for _, group := range in.Groups {
		if policy.CheckID("", group) != nil {
			fields = append(fields, policy.FieldError{Pointer: "/groups", Code: "format", Detail: "groups holds what is no group's id"})
			break
		}
	}
	if fields == nil {
		return nil
	}
	return &policy.Error{Code: policy.CodeInvalid, Message: "the portal session cannot be made", Fields: fields}
}

// UsePortalCode signs a person in: of several who bring a code, one is let in. a.Address and a.RequestID go into the
// audit; the actor is the person. CodeUnauthenticated for a code that is unknown, used, revoked or older than
// PortalCodeLife.
func (s *Store) UsePortalCode(ctx context.Context, a Actor, code string) (PortalSession, error) {
	var row portalRow
	err := s.write(ctx, func(t *tx) error {
		now := t.now.UnixMicro()
		err := one(t.Raw(`UPDATE portal_sessions SET used_at = ? WHERE code_hash = ? AND used_at IS NULL AND revoked_at IS NULL
			AND code_expires_at > ? RETURNING *`, now, hashSecret(code), now), &row)
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return policy.Errorf(policy.CodeUnauthenticated, "this link was used, or is too old")
		}
		if err != nil {
			return err
		}
		p := row.public().Principal()
		a.Name, a.Role = p.Name, p.Role
		t.audit(a, entry{action: "session.create", target: row.ID, after: row.json()})
		return nil
	})
	return row.public(), err
}

// PortalSession reads one, revoked and ended ones too. CodeNotFound.
func (s *Store) PortalSession(ctx context.Context, id string) (PortalSession, error) {
	var row portalRow
	err := s.read(ctx, func(db *gorm.DB) error {
		return noPortal(one(db.Raw("SELECT * FROM portal_sessions WHERE id = ?", id), &row))
	})
	return row.public(), err
}

func noPortal(err error) error {
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return policy.Errorf(policy.CodeNotFound, "no such portal session")
	}
	return err
}

// ListPortalSessions pages all that are kept, newest first. CodeInvalid for a bad cursor.
func (s *Store) ListPortalSessions(ctx context.Context, cursor string, limit int) (Page[PortalSession], error) {
	key, err := decodeCursor("portal", cursor, 1)
	if err != nil {
		return Page[PortalSession]{}, err
	}
	sql, args := "SELECT * FROM portal_sessions", []any{}
	if key != nil {
		sql, args = sql+" WHERE id < ?", append(args, key[0])
	}
	limit = pageLimit(limit)
	var rows []portalRow
	err = s.read(ctx, func(db *gorm.DB) error {
		return db.Raw(sql+" ORDER BY id DESC LIMIT ?", append(args, limit+1)...).Scan(&rows).Error
	})
	return pageOf(rows, limit, portalRow.public, func(r portalRow) string { return encodeCursor("portal", r.ID) }), err
}

// RevokePortalSession ends a session with its next request, and its link at once. A revoked one stays as it is.
// CodeNotFound.
func (s *Store) RevokePortalSession(ctx context.Context, a Actor, id string) error {
	return s.write(ctx, func(t *tx) error {
		var row portalRow
		err := noPortal(one(t.Raw("SELECT * FROM portal_sessions WHERE id = ?"+s.dialect.forUpdate("portal_sessions"), id), &row))
		if err != nil || row.RevokedAt != nil {
			return err
		}
		t.finally("UPDATE portal_sessions SET revoked_at = ? WHERE id = ?", t.now.UnixMicro(), id)
		t.audit(a, entry{action: "portal.revoke", target: id, before: row.json()})
		return nil
	})
}
