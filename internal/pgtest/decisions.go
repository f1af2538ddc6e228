package pgtest

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Decisions returns a function that prints all that people decided, as the database holds it: whoever changes it owes the
// audit log an entry. It fails for a table of which nobody said whether people decide what it holds.
func Decisions(tb testing.TB, url string) (read func() string) {
	tb.Helper()
	db, decided := SQL(tb, url), tables()
	names := "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
	if strings.HasPrefix(url, "sqlite:") {
		names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
	}
	for _, name := range rowsOf(tb, db, names) {
		if _, known := decided[strings.Trim(name, "[]")]; !known {
			tb.Errorf("table %s: say in pgtest/decisions.go whether people decide what it holds", name)
		}
	}
	return func() string {
		tb.Helper()
		var all strings.Builder
		for _, name := range slices.Sorted(maps.Keys(decided)) {
			if !decided[name] {
				continue
			}
			rows := rowsOf(tb, db, "SELECT * FROM "+name)
			slices.Sort(rows)
			fmt.Fprintln(&all, name, rows)
		}
		return all.String()
	}
}

// tables are those of the schema: true for what people decide, false for what machines note and for the log itself.
func tables() map[string]bool {
	return map[string]bool{
		"system": true, "bounds_versions": true, "defaults_versions": true, "groups": true, "policy_versions": true, "exemptions": true,
		"mutes": true, "bans": true, "tokens": true, "sessions": true, "portal_sessions": true,

		"audit_entries": false, "audit_head": false, "audit_changes": false, "refused_access": false, "outbox": false, "publications": false,
		"event_cursors": false, "fleet_job": false, "fleet_shards": false, "idempotency_keys": false, "exemption_changes": false,
		"goose_db_version": false,
	}
}

// rowsOf prints each row of an answer.
func rowsOf(tb testing.TB, db *sql.DB, query string) (printed []string) {
	tb.Helper()
	rows, err := db.QueryContext(tb.Context(), query)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		tb.Fatal(err)
	}
	values, places := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		places[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			tb.Fatal(err)
		}
		printed = append(printed, fmt.Sprint(values))
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return printed
}
