package store_test

import (
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// benchKey signs what the benchmarks put in by SQL.
const benchKey = "the audit key of the benchmarks."

// benchEntries is the length of the log: 100,000, or AUDIT_ENTRIES.
func benchEntries(b *testing.B) int {
	b.Helper()
	n, err := strconv.Atoi(os.Getenv("AUDIT_ENTRIES"))
	if err != nil {
		return 100_000
	}
	return n
}

// BenchmarkAudit seals, verifies and exports a log on Postgres. MB-peak is the process's highest resident size.
func BenchmarkAudit(b *testing.B) {
	url := pgtest.Start(b, pgtest.Options{Fsync: true}).Database(b)
	s := pgtest.Open(b, url, func(c *store.Config) { c.AuditKey = []byte(benchKey) })
	n := benchEntries(b)
	fillAudit(b, pgtest.SQL(b, url), n)
	start := time.Now()
	if _, err := s.SealAudit(b.Context()); err != nil {
		b.Fatal(err)
	}
	sealed := time.Since(start)
	b.Run("verify", func(b *testing.B) {
		perEntry(b, n, func() {
			if v, err := s.VerifyAudit(b.Context(), ""); err != nil || !v.OK {
				b.Fatalf("%+v %+v %v", v, v.FirstBad, err)
			}
		})
		b.ReportMetric(float64(sealed.Microseconds())/float64(n), "µs/entry-sealing")
	})
	b.Run("export", func(b *testing.B) { perEntry(b, n, func() { exportAll(b, s) }) })
}

// perEntry reports the time of an entry, of the whole, and the peak of memory.
func perEntry(b *testing.B, n int, work func()) {
	b.Helper()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // starts the peak anew, where the system lets it
	for b.Loop() {
		work()
	}
	took := b.Elapsed() / time.Duration(b.N)
	b.ReportMetric(float64(took.Nanoseconds())/float64(n)/1000, "µs/entry")
	b.ReportMetric(took.Seconds(), "s/log")
	b.ReportMetric(peakMB(b), "MB-peak")
}

func peakMB(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0 // not Linux
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		b.Fatal(err)
	}
	return float64(kb) / 1024
}

func exportAll(b *testing.B, s *store.Store) {
	b.Helper()
	x, err := s.ExportAudit(b.Context(), store.AuditQuery{})
	if err != nil {
		b.Fatal(err)
	}
	var size int
	for !x.Done() {
		page, err := x.Next(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range page {
			size += len(r.JSON())
		}
	}
	b.ReportMetric(float64(size)/float64(x.Footer().Count), "B/line")
}

// fillAudit puts in entries of policy saves as servers write them, many in a statement.
func fillAudit(b *testing.B, db *sql.DB, n int) {
	b.Helper()
	const batch, columns = 1000, 16
	before, after := parse(b, interval("3000")).JSON(), withInterval(parse(b, "{}"), 4000).JSON()
	for done := 0; done < n; done += batch {
		var values strings.Builder
		var args []any
		for i := range min(batch, n-done) {
			r := policy.AuditRecord{
				ID: uuid.Must(uuid.NewV7()).String(), AtMicros: time.Now().UnixMicro(), Actor: "Mei", Role: "operator", Channel: "api",
				Action: "policy.update", Target: "bench-1", GroupID: "bench-1", Before: string(before), After: string(after),
				Reason: "quieter nights", RequestID: fmt.Sprint("req-", done+i), Address: "192.0.2.7",
				Who: policy.AuditSeal{Salt: []byte("0123456789abcdef")}, What: policy.AuditSeal{Salt: []byte("fedcba9876543210")},
			}
			values.WriteString(map[bool]string{true: "(", false: ", ("}[i == 0])
			for c := range columns {
				values.WriteString(map[bool]string{true: "$", false: ", $"}[c == 0] + strconv.Itoa(len(args)+c+1))
			}
			values.WriteString(", '', '')")
			args = append(args, r.ID, r.AtMicros, r.Actor, r.Role, r.Channel, r.Action, r.Target, r.GroupID, r.Before, r.After,
				r.Reason, r.RequestID, r.Address, r.Who.Salt, r.What.Salt, r.Sign([]byte(benchKey)))
		}
		_, err := db.ExecContext(b.Context(), `INSERT INTO audit_entries (id, at, actor, role, channel, action, target, group_id,
			before, after, reason, request_id, address, who_salt, what_salt, mac, prev_hash, hash) VALUES `+values.String(), args...)
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAuditSaves saves policies from 32 writers, in rounds of three seconds with the sealer off and on by turns, on a
// Postgres with fsync on. What was left unsealed is sealed between the rounds.
func BenchmarkAuditSaves(b *testing.B) {
	url := pgtest.Start(b, pgtest.Options{Fsync: true}).Database(b)
	s := pgtest.Open(b, url, func(c *store.Config) { c.MaxConns = 34 })
	for i := range benchGroups {
		register(b, s, "bench-"+strconv.Itoa(i))
	}
	var saves [2]int64
	var next atomic.Int64
	for b.Loop() {
		for _, sealing := range []int{0, 1, 1, 0} {
			saves[sealing] += saveRound(b, s, &next, sealing == 1)
			if _, err := s.SealAudit(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	seconds := 2 * round.Seconds() * float64(b.N)
	b.ReportMetric(float64(saves[0])/seconds, "saves/s-off")
	b.ReportMetric(float64(saves[1])/seconds, "saves/s-on")
	b.ReportMetric(float64(saves[1])/float64(saves[0]), "on/off")
}

const round = 3 * time.Second

func saveRound(b *testing.B, s *store.Store, next *atomic.Int64, sealing bool) int64 {
	b.Helper()
	start, until := next.Load(), time.Now().Add(round)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for time.Now().Before(until) {
				saveNext(b, s, next.Add(1))
			}
		})
	}
	if sealing {
		wg.Go(func() { sealEachSecond(b, s, until) })
	}
	wg.Wait()
	return next.Load() - start
}

func sealEachSecond(b *testing.B, s *store.Store, until time.Time) {
	b.Helper()
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for now := range ticker.C {
		if now.After(until) {
			return
		}
		if _, err := s.SealAudit(b.Context()); err != nil {
			b.Error(err)
		}
	}
}
