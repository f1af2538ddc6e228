// Package migrations holds the schema as SQL, one folder for Postgres and SQLite, and runs it.
package migrations

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

//go:embed *.sql
var files embed.FS

// Dialect is a database that the schema is written for.
type Dialect string

// The dialects. The values are the words of "-- +only" blocks.
const (
	Postgres Dialect = "postgres"
	SQLite   Dialect = "sqlite"
)

// tokens are the places where the dialects' types differ.
func (d Dialect) tokens() *strings.Replacer {
	if d == SQLite {
		return strings.NewReplacer("{{id}}", "text", "{{bytes}}", "blob", "{{hot}}", "")
	}
	return strings.NewReplacer("{{id}}", `text COLLATE "C"`, "{{bytes}}", "bytea", "{{hot}}", "WITH (fillfactor = 80)")
}

// FS is the folder as the dialect reads it.
func FS(d Dialect) fs.FS { return filtered{files: files, dialect: d} }

// Hash names the whole schema of a dialect: 16 hex digits that change with any migration.
func Hash(d Dialect) (string, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, name := range names {
		text, err := fs.ReadFile(FS(d), name)
		if err != nil {
			return "", err
		}
		_, _ = fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text) // a hash never fails
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// Up applies what is missing. On Postgres a session lock lets one of several callers work while the others wait, up to
// a minute.
func Up(ctx context.Context, db *sql.DB, d Dialect) error {
	p, err := provider(db, d)
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// Current reports whether every migration of this program is applied, and none that it does not know. It is one short
// statement; an error where nothing was ever applied.
func Current(ctx context.Context, db *sql.DB) (bool, error) {
	names, err := fs.Glob(files, "*.sql") // sorted
	if err != nil {
		return false, err
	}
	var applied, newest int64
	err = db.QueryRowContext(ctx, `SELECT count(DISTINCT version_id), COALESCE(max(version_id), 0)
		FROM goose_db_version WHERE is_applied AND version_id > 0`).Scan(&applied, &newest)
	if err != nil || len(names) == 0 {
		return false, err
	}
	latest, _, _ := strings.Cut(names[len(names)-1], "_")
	known, err := strconv.ParseInt(latest, 10, 64)
	return err == nil && applied == int64(len(names)) && newest == known, err
}

func provider(db *sql.DB, d Dialect) (*goose.Provider, error) {
	if d == SQLite {
		return goose.NewProvider(goose.DialectSQLite3, db, FS(d), goose.WithDisableGlobalRegistry(true))
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 60))
	if err != nil {
		return nil, errors.Join(errors.New("migrations: session lock"), err)
	}
	return goose.NewProvider(goose.DialectPostgres, db, FS(d), goose.WithDisableGlobalRegistry(true),
		goose.WithSessionLocker(locker))
}
