package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"

	gosqlite "github.com/glebarez/go-sqlite"
	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

// dbError is a translated error: the *policy.Error is for the caller, the cause for the log at the edge.
type dbError struct {
	public *policy.Error
	cause  error
}

// Error names both; faces show the *policy.Error alone.
func (e *dbError) Error() string { return e.public.Error() + ": " + e.cause.Error() }

// Unwrap leads errors.As to the *policy.Error and errors.Is to the cause.
func (e *dbError) Unwrap() []error { return []error{e.public, e.cause} }

// translate turns a database's error into a *policy.Error. Errors that are one already pass; unknown ones pass too and
// are a fault of the program.
func translate(err error) error {
	var known *policy.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	code := codeOf(err)
	if code == "" {
		return err
	}
	return &dbError{public: policy.Errorf(code, "%s", messageOf(code)), cause: err}
}

func messageOf(code policy.Code) string {
	switch code { //nolint:exhaustive // the codes that codeOf returns
	case policy.CodeUnavailable:
		return "the database does not answer"
	case policy.CodeNotFound:
		return "not found"
	case policy.CodeConflict:
		return "it exists already"
	default:
		return "the database refuses a value"
	}
}

func codeOf(err error) policy.Code {
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound), errors.Is(err, sql.ErrNoRows):
		return policy.CodeNotFound
	case errors.Is(err, gorm.ErrDuplicatedKey):
		return policy.CodeConflict
	case errors.Is(err, gorm.ErrForeignKeyViolated), errors.Is(err, gorm.ErrCheckConstraintViolated):
		return policy.CodeInvalid
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return codeOfPostgres(pg.Code)
	}
	if lite, ok := errors.AsType[*gosqlite.Error](err); ok {
		return codeOfSQLite(lite.Code())
	}
	if isAway(err) {
		return policy.CodeUnavailable
	}
	return ""
}

// isAway reports errors of the connection and of time running out.
func isAway(err error) bool {
	for _, target := range []error{
		context.DeadlineExceeded, context.Canceled, driver.ErrBadConn, sql.ErrConnDone, sql.ErrTxDone,
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, pgconn.ErrConnClosed,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	var network net.Error
	var connect *pgconn.ConnectError
	return errors.As(err, &network) || errors.As(err, &connect) || pgconn.Timeout(err) || pgconn.SafeToRetry(err)
}

// codeOfPostgres reads an SQLSTATE (PostgreSQL 15, appendix A).
func codeOfPostgres(state string) policy.Code {
	switch state {
	case "23505":
		return policy.CodeConflict
	case "23502", "23503", "23514", "22021", "22P05", "22001", "22003":
		return policy.CodeInvalid
	case "40001", "40P01", "55P03", "57014", "25006", "42P01", "3D000":
		return policy.CodeUnavailable // serialization, deadlock, lock, cancelled, read-only, not migrated, no database
	}
	switch state[:min(2, len(state))] {
	case "08", "53", "57", "58", "XX", "25", "28":
		return policy.CodeUnavailable // connection, resources, shutdown, system, internal, transaction state, sign-in
	}
	return ""
}

// codeOfSQLite reads a result code (sqlite.org/rescode.html), extended or not.
func codeOfSQLite(code int) policy.Code {
	switch code {
	case 1555, 2067:
		return policy.CodeConflict
	case 275, 787, 1299:
		return policy.CodeInvalid
	}
	switch code & 0xff {
	case 5, 6, 8, 9, 10, 13, 14: // busy, locked, read-only, interrupt, IO, full, cannot open
		return policy.CodeUnavailable
	}
	return ""
}
