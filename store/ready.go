package store

import (
	"context"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

// Ready says what keeps the database from serving: it does not answer, its schema is not this program's, or it takes no
// writes (a standby, default_transaction_read_only). Always CodeUnavailable; nil when nothing does. Two short statements,
// cheap enough for every probe.
func (s *Store) Ready(ctx context.Context) error {
	current, err := s.MigrationsCurrent(ctx)
	switch {
	case err != nil:
		return err
	case !current:
		return policy.Errorf(policy.CodeUnavailable, "the database's schema is not the one of this program")
	}
	readOnly := false
	err = s.read(ctx, func(db *gorm.DB) error { return s.dialect.readOnly(db, &readOnly) })
	if err == nil && readOnly {
		err = policy.Errorf(policy.CodeUnavailable, "the database is read-only")
	}
	return err
}
