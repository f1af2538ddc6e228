package store

import (
	"context"

	"gorm.io/gorm"
)

// RunOnce runs fn under a key in a transaction of its own, and writes an audit entry each time that it ran.
func (s *Store) RunOnce(ctx context.Context, a Actor, o Once, fn func() (map[string]int64, error)) (map[string]int64, error) {
	var result map[string]int64
	err := s.writeBulk(ctx, func(t *tx) (err error) {
		result, err = once(t, o, func() (map[string]int64, error) {
			answer, err := fn()
			if err != nil {
				return nil, err
			}
			return answer, t.auditAll(a, []entry{{action: "ran", target: o.Operation}, {action: "and", target: o.Key}})
		})
		return err
	})
	return result, err
}

// Compiles says whether a connection of the pool, and one of a fleet reader, would compile statements.
func (s *Store) Compiles(ctx context.Context) (pool, reader string, err error) {
	err = s.read(ctx, func(db *gorm.DB) error { return one(db.Raw("SHOW jit"), &pool) })
	if err != nil {
		return "", "", err
	}
	r := s.FleetReader()
	defer r.Close(ctx)
	if _, err := r.Page(ctx, 0, "", 1); err != nil {
		return "", "", err
	}
	err = r.conn.QueryRow(ctx, "SHOW jit").Scan(&reader)
	return pool, reader, err
}
