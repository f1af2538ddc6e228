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
	if _, err := pgtest.SQL(b, url).ExecContext(b.Context(), "VACUUM ANALYZE audit_entries, audit_changes"); err != nil {
		b.Fatal(err)
	}
	benchAllFilters(b, s)
}

// BenchmarkAuditSQLite seals and verifies a log on SQLite, and filters it.
func BenchmarkAuditSQLite(b *testing.B) {
	url := pgtest.SQLite(b)
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
	benchAllFilters(b, s)
}

func benchAllFilters(b *testing.B, s *store.Store) {
	b.Helper()
	for name, q := range benchFilters() {
		b.Run("filter "+name, func(b *testing.B) { benchFilter(b, s, q) })
	}
}

// benchFilters are a filter that selects many, one that selects few and one that selects none, of each kind.
func benchFilters() map[string]store.AuditQuery {
	old := time.Now().Add(-24 * time.Hour)
	return map[string]store.AuditQuery{
		"none": {}, "actor many": {Actor: "Mei"}, "actor few": {Actor: "Rare"}, "actor none": {Actor: "Nobody"},
		"role none": {Role: store.RoleAuditor}, "channel none": {Channel: store.ChannelApply}, "group few": {GroupID: "bench-7"},
		"action many": {Action: "policy.*"}, "action none": {Action: "token.*"}, "changed many": {Changed: "/actions/message"},
		"changed few": {Changed: "/actions/like/mode"}, "changed none": {Changed: "/penalties"}, "changed long ago": {Changed: "/exempt_roles"},
		"changed few, actor many": {Actor: "Mei", Changed: "/actions/like"}, "changed and channel none": {Channel: store.ChannelApply, Changed: "/actions"}, "request": {RequestID: "req-77"},
		"from now": {From: time.Now()}, "to long ago": {To: old}, "actor few and changed": {Actor: "Rare", Changed: "/actions/message"},
	}
}

// benchFilter reads the first page.
func benchFilter(b *testing.B, s *store.Store, q store.AuditQuery) {
	b.Helper()
	var slowest time.Duration
	for b.Loop() {
		start := time.Now()
		if _, err := s.ListAudit(b.Context(), q); err != nil {
			b.Fatal(err)
		}
		slowest = max(slowest, time.Since(start))
	}
	b.ReportMetric(float64(slowest.Microseconds())/1000, "ms-max")
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
	before, after := string(parse(b, interval("3000")).JSON()), string(withInterval(parse(b, "{}"), 4000).JSON())
	roles := string(parse(b, `{"exempt_roles":["owner"]}`).JSON())
	soft := string(parse(b, `{"actions":{"like":{"mode":"soft"}}}`).JSON())
	for done := 0; done < n; done += batch {
		var values strings.Builder
		var args []any
		for i := range min(batch, n-done) {
			r := policy.AuditRecord{
				ID: uuid.Must(uuid.NewV7()).String(), AtMicros: time.Now().UnixMicro(), Actor: "Mei", Role: "operator", Channel: "api",
				Action: "policy.update", Target: "bench-1", GroupID: "bench-" + strconv.Itoa((done+i)%10_000), Before: before, After: after,
				Reason: "quieter nights", RequestID: fmt.Sprint("req-", done+i), Address: "192.0.2.7",
				Who: policy.AuditSeal{Salt: []byte("0123456789abcdef")}, What: policy.AuditSeal{Salt: []byte("fedcba9876543210")},
			}
			switch {
			case (done+i)%5000 == 7:
				r.Actor, r.After = "Rare", soft
			case done+i < n/10:
				r.After = roles
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

// BenchmarkAuditSaves saves policies from 32 writers on a Postgres with fsync on, in rounds of three seconds by turns: with
// the sealer on, without it, and without any audit entry, which a trigger throws away. What was left unsealed is sealed
// between the rounds.
func BenchmarkAuditSaves(b *testing.B) {
	url := pgtest.Start(b, pgtest.Options{Fsync: true}).Database(b)
	s, db := pgtest.Open(b, url, func(c *store.Config) { c.MaxConns = 34 }), pgtest.SQL(b, url)
	for i := range benchGroups {
		register(b, s, "bench-"+strconv.Itoa(i))
	}
	silence := []string{
		"CREATE FUNCTION silent() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
		"CREATE TRIGGER silent BEFORE INSERT ON audit_entries FOR EACH ROW EXECUTE FUNCTION silent()",
	}
	run := func(statements ...string) {
		for _, sql := range statements {
			if _, err := db.ExecContext(b.Context(), sql); err != nil {
				b.Fatal(err)
			}
		}
	}
	run(silence...)
	const on, unsealed, off = 0, 1, 2
	var saves [3]int64
	var next atomic.Int64
	for b.Loop() {
		for _, mode := range []int{off, on, unsealed, unsealed, on, off} {
			run("ALTER TABLE audit_entries " + map[bool]string{true: "ENABLE", false: "DISABLE"}[mode == off] + " TRIGGER silent")
			saves[mode] += saveRound(b, s, &next, mode == on)
			if _, err := s.SealAudit(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	seconds := 2 * round.Seconds() * float64(b.N)
	b.ReportMetric(float64(saves[off])/seconds, "saves/s-off")
	b.ReportMetric(float64(saves[on])/seconds, "saves/s-on")
	b.ReportMetric(float64(saves[on])/float64(saves[off]), "on/off")
	b.ReportMetric(float64(saves[on])/float64(saves[unsealed]), "sealing-on/off")
}

// BenchmarkAuditVerifiable saves from 32 writers beside a sealer that runs five times a second, as servers do, and reports how long
// an entry waited for its number at most, as the database's clock of both has it.
func BenchmarkAuditVerifiable(b *testing.B) {
	url := pgtest.Start(b, pgtest.Options{Fsync: true}).Database(b)
	s, db := pgtest.Open(b, url, func(c *store.Config) { c.MaxConns = 34 }), pgtest.SQL(b, url)
	for i := range benchGroups {
		register(b, s, "bench-"+strconv.Itoa(i))
	}
	if _, err := s.SealAudit(b.Context()); err != nil {
		b.Fatal(err)
	}
	var next atomic.Int64
	var worst time.Duration
	for b.Loop() {
		done := make(chan struct{})
		go func() { saveRound(b, s, &next, true); close(done) }()
		for waiting := true; waiting; {
			var oldest sql.NullInt64
			if err := db.QueryRowContext(b.Context(), "SELECT min(at) FROM audit_entries WHERE seq IS NULL").Scan(&oldest); err != nil {
				b.Fatal(err)
			}
			if oldest.Valid {
				worst = max(worst, time.Since(time.UnixMicro(oldest.Int64)))
			}
			select {
			case <-done:
				waiting = false
			case <-time.After(5 * time.Millisecond):
			}
		}
		if _, err := s.SealAudit(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(worst.Milliseconds()), "ms-until-verifiable-max")
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
		wg.Go(func() { sealOften(b, s, until) })
	}
	wg.Wait()
	return next.Load() - start
}

func sealOften(b *testing.B, s *store.Store, until time.Time) {
	b.Helper()
	ticker := time.NewTicker(time.Second / 5)
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
