package store_test

import (
	"context"
	"database/sql"
	"strconv"
	"testing"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/store"
)

const (
	storedGroups = 20_000
	storedSaves  = 2000
)

// BenchmarkStorage reports what PostgreSQL keeps, indexes included: bytes of a group with a document of two actions, and of
// each save (its version, its sealed audit entry, its WAL); and what reading a group for publishing
// costs this process's CPU, parsed.
//
//	go test ./store -run '^$' -bench Storage -benchtime 1x
func BenchmarkStorage(b *testing.B) {
	server := pgtest.Start(b, pgtest.Options{Fsync: true})
	for b.Loop() {
		url := server.Database(b)
		db, s := pgtest.SQL(b, url), pgtest.Open(b, url)
		fillGroups(b, url, storedGroups, ownDocument("$i"))
		settle(b, db)
		b.ReportMetric(tableBytes(b, db, "groups")/storedGroups, "B/group")
		wal := number(b, db, "SELECT pg_current_wal_lsn() - '0/0'")
		for i := range storedSaves {
			save(b, s, "g"+strconv.Itoa(i+1), ownDocument("2500"))
		}
		if _, err := s.SealAudit(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric((number(b, db, "SELECT pg_current_wal_lsn() - '0/0'")-wal)/storedSaves, "B-WAL/save")
		b.ReportMetric(tableBytes(b, db, "policy_versions")/storedSaves, "B/version")
		b.ReportMetric(tableBytes(b, db, "audit_entries")/storedSaves, "B/audit-entry")
		b.ReportMetric(readAll(b, s), "CPU-µs-read/group")
	}
}

// settle writes out what filling has left, so that the next figures are of saves alone.
func settle(b *testing.B, db *sql.DB) {
	b.Helper()
	for _, statement := range []string{"VACUUM (FREEZE, ANALYZE) groups", "CHECKPOINT"} {
		if _, err := db.ExecContext(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
}

func tableBytes(b *testing.B, db *sql.DB, table string) float64 {
	b.Helper()
	return number(b, db, "SELECT pg_total_relation_size('"+table+"')")
}

func number(b *testing.B, db *sql.DB, query string) (n float64) {
	b.Helper()
	if err := db.QueryRowContext(b.Context(), query).Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

// readAll pages all groups as a fleet job does, and returns µs of CPU a group.
func readAll(b *testing.B, s *store.Store) float64 {
	b.Helper()
	reader := s.FleetReader()
	defer reader.Close(b.Context())
	began, read, after := cpuMicros(b), 0, ""
	for {
		rows, err := reader.After(context.WithoutCancel(b.Context()), after, 1000)
		if err != nil {
			b.Fatal(err)
		}
		read += len(rows)
		if len(rows) < 1000 {
			return float64(cpuMicros(b)-began) / float64(read)
		}
		after = rows[len(rows)-1].GroupID
	}
}
