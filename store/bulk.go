package store

import (
	"strconv"
	"strings"

	"github.com/pacekeeper/pacekeeper/policy"
)

// column is one column of rows to insert.
type column struct {
	name   string
	kind   string // of Postgres
	values any    // a slice, as pgx takes it for an array
	at     func(i int) any
}

// columnOf takes a column's values from rows. T is string, int64, *int64 (nil = NULL) or []byte.
func columnOf[R, T any](rows []R, name, kind string, get func(*R) T) column {
	values := make([]T, len(rows))
	for i := range rows {
		values[i] = get(&rows[i])
	}
	return column{name: name, kind: kind, values: values, at: func(i int) any { return values[i] }}
}

// rowsOfSQLite is how many rows one statement brings to SQLite: its driver looks through all parameters for each of them.
const rowsOfSQLite = 10

// insertAll inserts n rows, given by their columns, with rest behind the values ("ON CONFLICT …"). Postgres takes an
// array for each column, which needs neither a parameter for each value nor a plan for each number of rows; SQLite takes
// rows.
func (t *tx) insertAll(table string, n int, rest string, columns ...column) error {
	if n == 0 {
		return nil
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	into := "INSERT INTO " + table + " (" + strings.Join(names, ", ") + ") "
	if t.store.dialect.postgres {
		return t.insertArrays(into, rest, columns)
	}
	for start := 0; start < n; start += rowsOfSQLite {
		end := min(start+rowsOfSQLite, n)
		args := make([]any, 0, (end-start)*len(columns))
		for i := start; i < end; i++ {
			for _, c := range columns {
				args = append(args, c.at(i))
			}
		}
		// Not through gorm, which takes what stands behind "(" for a list.
		sql := into + "VALUES " + places(end-start, len(columns)) + " " + rest
		if _, err := t.Statement.ConnPool.ExecContext(t.Statement.Context, sql, args...); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) insertArrays(into, rest string, columns []column) error {
	arrays, args := make([]string, len(columns)), make([]any, len(columns))
	for i, c := range columns {
		arrays[i], args[i] = "CAST($"+strconv.Itoa(i+1)+" AS "+c.kind+"[])", c.values
	}
	sql := into + "SELECT * FROM unnest(" + strings.Join(arrays, ", ") + ") " + rest
	_, err := t.Statement.ConnPool.ExecContext(t.Statement.Context, sql, args...)
	return err
}

// updateAll updates rows of a table by its id, which is the first column. Postgres takes an array for each column; SQLite a
// statement for each row.
func (t *tx) updateAll(table string, n int, columns ...column) error {
	sets := make([]string, 0, len(columns)-1)
	if t.store.dialect.postgres {
		arrays, names, args := make([]string, len(columns)), make([]string, len(columns)), make([]any, len(columns))
		for i, c := range columns {
			arrays[i], names[i], args[i] = "CAST($"+strconv.Itoa(i+1)+" AS "+c.kind+"[])", c.name, c.values
			if i > 0 {
				sets = append(sets, c.name+" = v."+c.name)
			}
		}
		sql := "UPDATE " + table + " AS t SET " + strings.Join(sets, ", ") + " FROM unnest(" + strings.Join(arrays, ", ") +
			") AS v(" + strings.Join(names, ", ") + ") WHERE t.id = v.id"
		_, err := t.Statement.ConnPool.ExecContext(t.Statement.Context, sql, args...)
		return err
	}
	for _, c := range columns[1:] {
		sets = append(sets, c.name+" = ?")
	}
	sql := "UPDATE " + table + " SET " + strings.Join(sets, ", ") + " WHERE id = ?"
	for i := range n {
		args := make([]any, 0, len(columns))
		for _, c := range append(columns[1:len(columns):len(columns)], columns[0]) {
			args = append(args, c.at(i))
		}
		if _, err := t.Statement.ConnPool.ExecContext(t.Statement.Context, sql, args...); err != nil {
			return err
		}
	}
	return nil
}

// auditAll is audit for many entries of one change of many things; it writes at once.
func (t *tx) auditAll(a Actor, entries []entry) error {
	rows := make([]policy.AuditRecord, len(entries))
	for i, e := range entries {
		var err error
		if rows[i], err = t.store.record(a, e, t.now); err != nil {
			return err
		}
	}
	text := func(name string, get func(*policy.AuditRecord) string) column {
		return columnOf(rows, name, "text", get)
	}
	data := func(name string, get func(*policy.AuditRecord) []byte) column {
		return columnOf(rows, name, "bytea", get)
	}
	none := func(*policy.AuditRecord) string { return "" }
	return t.insertAll("audit_entries", len(rows), "",
		text("id", func(r *policy.AuditRecord) string { return r.ID }),
		columnOf(rows, "at", "bigint", func(r *policy.AuditRecord) int64 { return r.AtMicros }),
		text("actor", func(r *policy.AuditRecord) string { return r.Actor }),
		text("role", func(r *policy.AuditRecord) string { return r.Role }),
		text("channel", func(r *policy.AuditRecord) string { return r.Channel }),
		text("action", func(r *policy.AuditRecord) string { return r.Action }),
		text("target", func(r *policy.AuditRecord) string { return r.Target }),
		text("group_id", func(r *policy.AuditRecord) string { return r.GroupID }),
		text("before", func(r *policy.AuditRecord) string { return r.Before }),
		text("after", func(r *policy.AuditRecord) string { return r.After }),
		text("reason", func(r *policy.AuditRecord) string { return r.Reason }),
		text("request_id", func(r *policy.AuditRecord) string { return r.RequestID }),
		text("address", func(r *policy.AuditRecord) string { return r.Address }),
		data("who_salt", func(r *policy.AuditRecord) []byte { return r.Who.Salt }),
		data("what_salt", func(r *policy.AuditRecord) []byte { return r.What.Salt }),
		data("mac", func(r *policy.AuditRecord) []byte { return r.MAC }),
		text("prev_hash", none), text("hash", none),
	)
}
