package store

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/glebarez/sqlite"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/pacekeeper/pacekeeper/migrations"
)

// dialect holds every place where Postgres and SQLite need different words. Everything else is the same SQL.
type dialect struct {
	postgres bool
	pgx      *pgx.ConnConfig // of Postgres, for LISTEN's own connection
}

// forUpdate locks the rows that a SELECT read; an immediate transaction of SQLite has the whole file already.
func (d dialect) forUpdate(tables string) string {
	if !d.postgres {
		return ""
	}
	return " FOR UPDATE OF " + tables
}

// skipLocked lets claimers pass by each other's rows; SQLite has one writer at a time.
func (d dialect) skipLocked() string {
	if !d.postgres {
		return ""
	}
	return " FOR UPDATE SKIP LOCKED"
}

// contains is the condition that a column contains the parameter, literally.
func (d dialect) contains(column string) string {
	if !d.postgres {
		return "instr(lower(" + column + "), lower(?)) > 0"
	}
	return "strpos(lower(" + column + "), lower(?)) > 0"
}

// holds is the condition that a column holds the parameter, letter by letter.
func (d dialect) holds(column string) string {
	if !d.postgres {
		return "instr(" + column + ", ?) > 0"
	}
	return "strpos(" + column + ", ?) > 0"
}

// hasWord is the condition that a column of words with spaces between them has the parameter as a word.
func (d dialect) hasWord(column string) string {
	if !d.postgres {
		return "instr(' ' || " + column + " || ' ', ' ' || ? || ' ') > 0"
	}
	return "strpos(' ' || " + column + " || ' ', ' ' || CAST(? AS text) || ' ') > 0"
}

// The names of advisory locks; any fixed numbers of our own.
const (
	lockSeal      = 0x70616365_0001
	lockBootstrap = 0x70616365_0002
)

// lock makes transactions of one kind follow each other; an immediate transaction of SQLite does so by itself.
func (d dialect) lock(db *gorm.DB, key int64) error {
	if !d.postgres {
		return nil
	}
	return db.Exec("SELECT pg_advisory_xact_lock(?)", key).Error
}

// readOnly asks whether the server takes no writes, be it a standby or told so. A file of SQLite is not asked.
func (d dialect) readOnly(db *gorm.DB, is *bool) error {
	if !d.postgres {
		return nil
	}
	return one(db.Raw("SELECT current_setting('transaction_read_only') = 'on'"), is)
}

func (d dialect) migrations() migrations.Dialect {
	if d.postgres {
		return migrations.Postgres
	}
	return migrations.SQLite
}

func openDialect(cfg Config) (dialect, *sql.DB, error) {
	if path, ok := strings.CutPrefix(cfg.DatabaseURL, "sqlite:"); ok {
		db, err := openSQLite(path, cfg)
		return dialect{}, db, err
	}
	return openPostgres(cfg)
}

// openSQLite opens with WAL, so that readers do not wait, and with immediate transactions, so that writers queue
// instead of failing with SQLITE_BUSY.
func openSQLite(path string, cfg Config) (*sql.DB, error) {
	dsn := fmt.Sprintf("file:%s?_pragma=busy_timeout(%d)&_pragma=foreign_keys(1)&_pragma=journal_mode(WAL)&_txlock=immediate",
		(&url.URL{Path: path}).EscapedPath(), cfg.Timeout.Milliseconds())
	db, err := sql.Open(sqlite.DriverName, dsn)
	if err == nil {
		db.SetMaxOpenConns(cfg.MaxConns)
		db.SetMaxIdleConns(cfg.MaxConns)
	}
	return db, err
}

// session is how each connection begins. An instance that was stopped inside a transaction does not keep its locks; and
// no statement is compiled first, which takes seconds on a busy server where the statement itself takes milliseconds:
// longer than the store waits (measured: 3.5 s of 3.8 s, for the exemptions of one group).
const session = "SET idle_in_transaction_session_timeout = '5s'; SET jit = off"

func openPostgres(cfg Config) (dialect, *sql.DB, error) {
	conn, err := pgx.ParseConfig(cfg.DatabaseURL)
	if err != nil {
		return dialect{}, nil, fmt.Errorf("store: the database URL cannot be read: %w", err)
	}
	if conn.ConnectTimeout == 0 || conn.ConnectTimeout > cfg.Timeout {
		conn.ConnectTimeout = cfg.Timeout
	}
	conn.AfterConnect = func(ctx context.Context, c *pgconn.PgConn) error { return c.Exec(ctx, session).Close() }
	db := stdlib.OpenDB(*conn)
	db.SetMaxOpenConns(cfg.MaxConns)
	db.SetMaxIdleConns(cfg.MaxConns)
	return dialect{postgres: true, pgx: conn}, db, nil
}

func openGorm(d dialect, db *sql.DB, now func() time.Time) (*gorm.DB, error) {
	dialector := postgres.New(postgres.Config{Conn: db})
	if !d.postgres {
		dialector = &sqlite.Dialector{Conn: db}
	}
	return gorm.Open(dialector, &gorm.Config{
		TranslateError:         true,
		SkipDefaultTransaction: true,
		DisableAutomaticPing:   true,
		NowFunc:                func() time.Time { return now().UTC().Truncate(time.Microsecond) },
		Logger:                 logger.Discard,
	})
}
