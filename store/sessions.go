package store

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"
)

// Sessions keeps the sessions of the pages beside everything else: it is an scs.CtxStore.
type Sessions struct{ store *Store }

// Sessions is the store of the pages' sessions.
func (s *Store) Sessions() *Sessions { return &Sessions{store: s} }

// FindCtx reads the data of a session that is not over; found is false without one.
func (s *Sessions) FindCtx(ctx context.Context, token string) (data []byte, found bool, err error) {
	var row struct{ Data []byte }
	err = s.store.read(ctx, func(db *gorm.DB) error {
		return one(db.Raw("SELECT data FROM sessions WHERE token = ? AND expires_at > ?", hashSecret(token),
			s.store.now().UnixMicro()), &row)
	})
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, false, nil
	}
	return row.Data, err == nil, err
}

// CommitCtx saves a session until expiry. The token itself is not kept, only its hash.
func (s *Sessions) CommitCtx(ctx context.Context, token string, data []byte, expiry time.Time) error {
	return s.store.write(ctx, func(t *tx) error {
		return t.Exec(`INSERT INTO sessions (token, data, expires_at) VALUES (?, ?, ?) ON CONFLICT (token) DO UPDATE
			SET data = excluded.data, expires_at = excluded.expires_at`, hashSecret(token), data, expiry.UnixMicro()).Error
	})
}

// DeleteCtx ends a session; without one nothing happens.
func (s *Sessions) DeleteCtx(ctx context.Context, token string) error {
	return s.store.write(ctx, func(t *tx) error {
		return t.Exec("DELETE FROM sessions WHERE token = ?", hashSecret(token)).Error
	})
}

// Find is FindCtx without a deadline of the caller's, as scs.Store asks.
func (s *Sessions) Find(token string) (data []byte, found bool, err error) {
	return s.FindCtx(context.Background(), token)
}

// Commit is CommitCtx without a deadline of the caller's.
func (s *Sessions) Commit(token string, data []byte, expiry time.Time) error {
	return s.CommitCtx(context.Background(), token, data, expiry)
}

// Delete is DeleteCtx without a deadline of the caller's.
func (s *Sessions) Delete(token string) error { return s.DeleteCtx(context.Background(), token) }
