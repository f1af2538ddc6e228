package pgtest

import (
	"crypto/rand"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pacekeeper/pacekeeper/store"
)

// shared is the server of this test binary; it ends with the process.
//
//nolint:gochecknoglobals // one server per test binary is the point
var shared = sync.OnceValues(func() (*Server, error) { return start(Options{}) })

// Postgres makes a migrated database of the test's own on the binary's shared server and returns its URL.
func Postgres(tb testing.TB) string {
	tb.Helper()
	s, err := shared()
	if err != nil {
		tb.Fatal(err)
	}
	return s.Database(tb)
}

// SQLite makes a migrated SQLite file of the test's own and returns its URL.
func SQLite(tb testing.TB) string {
	tb.Helper()
	parent := "/dev/shm"
	if _, err := os.Stat(parent); err != nil {
		parent = os.TempDir()
	}
	dir, err := os.MkdirTemp(parent, "sqlitetest-") //nolint:usetesting // in memory, which TempDir is not
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	url := "sqlite:" + filepath.Join(dir, "pacekeeper.db")
	s, err := store.Open(config(url))
	if err != nil {
		tb.Fatal(err)
	}
	if err := s.Migrate(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
	return url
}

// Each runs the test on both dialects, in parallel, each on a migrated database of its own.
func Each(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, Postgres(t))
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, SQLite(t))
	})
}

// Open opens a store on the URL with the real clock and randomness, as edited, and closes it with the test.
func Open(tb testing.TB, url string, edits ...func(*store.Config)) *store.Store {
	tb.Helper()
	cfg := config(url)
	for _, edit := range edits {
		edit(&cfg)
	}
	s, err := store.Open(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// config is the real clock and randomness: tests meet the world here as cmd/server does.
func config(url string) store.Config {
	return store.Config{
		DatabaseURL: url,
		Now:         time.Now, //nolint:forbidigo // tests run on the real clock unless they bring their own
		NewID:       func() string { return uuid.Must(uuid.NewV7()).String() },
		Random:      rand.Reader,
		AuditKey:    []byte("the audit key of the tests: 32 B."),
		Timeout:     time.Minute, // tests share the machine; those about time set their own
	}
}

// SQL opens the database itself, for what a store does not offer: damage, and bulk.
func SQL(tb testing.TB, url string) *sql.DB {
	tb.Helper()
	driver, dsn := "pgx", url
	if path, ok := strings.CutPrefix(url, "sqlite:"); ok {
		driver, dsn = "sqlite", "file:"+path+"?_pragma=busy_timeout(10000)"
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = db.Close() })
	return db
}
