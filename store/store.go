// Package store keeps what people decide: groups, policies and their versions, exemptions, mutes, bans, bounds,
// defaults, tokens, and the audit of every change. It is the only speaker of gorm. Postgres is the database that
// counts; SQLite serves the embedded mode. Every write commits its row, its version, its audit entry and its outbox row
// in one transaction, and a write that changes nothing writes nothing.
//
// All methods of Store are safe for concurrent use. All return *policy.Error (found by errors.As); CodeUnavailable,
// within two seconds, while the database is away.
package store

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/migrations"
)

// Config is what Open needs. Now, NewID, Random and AuditKey are required.
type Config struct {
	// DatabaseURL is postgres://… (or a keyword DSN) for Postgres, sqlite:<path> for SQLite.
	DatabaseURL string
	// Now is the clock; the store keeps UTC cut to microseconds.
	Now func() time.Time
	// NewID makes the ids of rows: UUIDv7, so that they sort by time.
	NewID func() string
	// Random makes the secrets of tokens and the salts of the audit: crypto/rand.Reader outside of tests.
	Random io.Reader
	// AuditKey signs the entries of the audit log and its head: 32 bytes or more, the same in all instances, for good.
	AuditKey []byte
	// OnCommit receives each change that Redis must learn of, after its commit, on the caller's goroutine. It must not
	// block. Nil = nobody listens in this process; the outbox poll finds the rows.
	OnCommit func(Change)
	// MaxConns caps the pool. Zero = 20.
	MaxConns int
	// Timeout caps each call, in addition to the caller's deadline. Zero = 1.5 s.
	Timeout time.Duration
}

// Store is the database. Make it with Open; Close it at the end.
type Store struct {
	cfg     Config
	sqlDB   *sql.DB
	db      *gorm.DB
	dialect dialect
	systems systemCache
	tokens  tokenCache
	heads   lastHead
	refused refusals
	writer  chan struct{}  // one token: SQLite's writers queue here instead of polling for the file lock
	work    sync.WaitGroup // refreshes of tokens beside their requests
}

const (
	defaultMaxConns = 20
	defaultTimeout  = 1500 * time.Millisecond
	minAuditKey     = 32 // bytes
)

// Open prepares the pool. It does not connect to Postgres: a database that is away is found by the first call. A SQLite
// file is opened at once.
func Open(cfg Config) (*Store, error) {
	if cfg.Now == nil || cfg.NewID == nil || cfg.Random == nil {
		return nil, errors.New("store: Now, NewID and Random are required")
	}
	if len(cfg.AuditKey) < minAuditKey {
		return nil, errors.New("store: AuditKey must have 32 bytes or more")
	}
	if cfg.MaxConns == 0 {
		cfg.MaxConns = defaultMaxConns
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	d, sqlDB, err := openDialect(cfg)
	if err != nil {
		return nil, err
	}
	db, err := openGorm(d, sqlDB, cfg.Now)
	if err != nil {
		return nil, errors.Join(err, sqlDB.Close())
	}
	return &Store{
		cfg: cfg, sqlDB: sqlDB, db: db, dialect: d, writer: make(chan struct{}, 1),
		systems: newSystemCache(), tokens: newTokenCache(),
	}, nil
}

// Close ends the pool, after the refreshes under way.
func (s *Store) Close() error {
	s.work.Wait()
	return s.sqlDB.Close()
}

// Migrate brings the schema up to date. Several processes may call it at once: one applies, the others wait.
func (s *Store) Migrate(ctx context.Context) error {
	return translate(migrations.Up(ctx, s.sqlDB, s.dialect.migrations()))
}

// MigrationsCurrent reports whether the schema is the one that this program knows.
func (s *Store) MigrationsCurrent(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	current, err := migrations.Current(ctx, s.sqlDB)
	return current, translate(err)
}

// read runs fn on the pool, under the store's timeout, and translates its error.
func (s *Store) read(ctx context.Context, fn func(*gorm.DB) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	return translate(fn(s.db.WithContext(ctx)))
}

// write runs fn in one transaction (an immediate one on SQLite), under the store's timeout, and hands the changes that
// fn collected to OnCommit once they are committed.
func (s *Store) write(ctx context.Context, fn func(*tx) error) error {
	return s.writeWithin(ctx, s.cfg.Timeout, fn)
}

// bulkTimeout caps a write of thousands of rows.
const bulkTimeout = 15 * time.Second

// writeBulk is write for thousands of rows at once, which may take longer than the store's timeout.
func (s *Store) writeBulk(ctx context.Context, fn func(*tx) error) error {
	return s.writeWithin(ctx, max(bulkTimeout, s.cfg.Timeout), fn)
}

func (s *Store) writeWithin(ctx context.Context, timeout time.Duration, fn func(*tx) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	release, err := s.queue(ctx)
	if err != nil {
		return translate(err)
	}
	defer release()
	t := &tx{store: s, now: s.now()}
	err = s.db.WithContext(ctx).Transaction(func(db *gorm.DB) error {
		t.DB = db
		if err := fn(t); err != nil {
			return err
		}
		return t.flush()
	})
	if err != nil {
		return translate(err)
	}
	s.announce(t.changes)
	return nil
}

// queue waits for the writer's turn on SQLite; on Postgres writers only wait for each other's rows.
func (s *Store) queue(ctx context.Context) (release func(), err error) {
	if s.dialect.postgres {
		return func() {}, nil
	}
	select {
	case s.writer <- struct{}{}:
		return func() { <-s.writer }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *Store) announce(changes []Change) {
	if s.cfg.OnCommit == nil {
		return
	}
	for _, c := range changes {
		s.cfg.OnCommit(c)
	}
}

// now is the clock in UTC, cut to the microseconds that both databases keep.
func (s *Store) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Microsecond) }
