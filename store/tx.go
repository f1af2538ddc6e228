package store

import (
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"
)

// tx is one write under way: the transaction, its moment, the statements that its end will send, and the changes that
// OnCommit will be told.
type tx struct {
	*gorm.DB
	store   *Store
	now     time.Time
	last    []statement
	lossy   bool  // what it writes is made good by itself if lost: its commit does not wait for the disk
	fault   error // of what the end would send
	changes []Change
}

type statement struct {
	sql  string
	args []any
}

// finally adds an INSERT, UPDATE or DELETE to what the transaction does last. Such statements must not depend on each
// other, nor touch one row twice.
func (t *tx) finally(sql string, args ...any) {
	t.last = append(t.last, statement{sql, args})
}

// flush sends the last statements. Postgres takes them as one, which spares the rows' locks a round trip for each;
// SQLite knows no writes in WITH, and has no round trips.
func (t *tx) flush() error {
	if t.fault != nil || len(t.last) == 0 {
		return t.fault
	}
	if t.store.dialect.postgres {
		sql, args := together(t.last)
		if t.lossy {
			return t.Exec(sql+" SELECT set_config('synchronous_commit', 'off', true)", args...).Error
		}
		return t.Exec(sql+" SELECT 1", args...).Error
	}
	for _, s := range t.last {
		if err := t.Exec(s.sql, s.args...).Error; err != nil {
			return err
		}
	}
	return nil
}

// together makes one statement of all: WITH w0 AS (…), w1 AS (…), for a SELECT to follow.
func together(statements []statement) (string, []any) {
	var sql strings.Builder
	var args []any
	for i, s := range statements {
		sql.WriteString(map[bool]string{true: "WITH w", false: ", w"}[i == 0])
		sql.WriteString(strconv.Itoa(i) + " AS (" + s.sql + ")")
		args = append(args, s.args...)
	}
	return sql.String(), args
}
