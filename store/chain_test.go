package store_test

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// TestC61_ParallelEditsLeaveAChainThatVerifies saves from two instances that also seal, restarts, and verifies.
func TestC61_ParallelEditsLeaveAChainThatVerifies(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		stores := []*store.Store{b.store(), b.store()}
		register(t, stores[0], "g0", "g1", "g2", "g3")
		var wg sync.WaitGroup
		for n := range 200 {
			wg.Go(func() {
				s := stores[n%2]
				save(t, s, "g"+strconv.Itoa(n%4), interval(strconv.Itoa(2000+n)))
				if _, err := s.SealAudit(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, s := range stores {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		wantGood(t, b.store(), 204)
	})
}

func wantGood(t *testing.T, s *store.Store, entries int64) store.AuditVerdict {
	t.Helper()
	v := must(s.VerifyAudit(t.Context(), ""))(t)
	if !v.OK || v.Entries != entries || v.Head.Seq != entries || v.FirstBad != nil {
		t.Fatalf("verdict %+v %+v, want %d good entries", v, v.FirstBad, entries)
	}
	return v
}

// tamper is what somebody with SQL does to a log of eight entries. %s are columns that hold an entry's words.
type tamper struct {
	name  string
	sql   []string
	place int64  // that verify names
	why   string // part of what it says
}

const wholeRow = "at, actor, role, channel, action, target, group_id, before, after, reason, request_id, address, who_salt, " +
	"what_salt, who_digest, what_digest, mac, prev_hash, hash"

func tampers() []tamper {
	const oldHead = "UPDATE audit_head SET seq = 5, hash = (SELECT hash FROM old_head), hmac = (SELECT hmac FROM old_head)"
	return []tamper{
		{"delete last", []string{"DELETE FROM audit_entries WHERE seq = 8"}, 8, "missing"},
		{"delete all", []string{"DELETE FROM audit_entries"}, 1, "missing"},
		{"delete one", []string{"DELETE FROM audit_entries WHERE seq = 3"}, 3, "missing"},
		{"delete one and close up", []string{
			"DELETE FROM audit_entries WHERE seq = 3", "UPDATE audit_entries SET seq = -seq WHERE seq > 3",
			"UPDATE audit_entries SET seq = -seq - 1 WHERE seq < 0", "UPDATE audit_head SET seq = 7",
		}, 3, "prev_hash"},
		{"change the reason", []string{"UPDATE audit_entries SET reason = 'x' WHERE seq = 4"}, 4, "altered"},
		{"change the actor", []string{"UPDATE audit_entries SET actor = 'x' WHERE seq = 4"}, 4, "altered"},
		{"change the moment", []string{"UPDATE audit_entries SET at = at + 1 WHERE seq = 4"}, 4, "altered"},
		{"change the hash", []string{"UPDATE audit_entries SET hash = prev_hash WHERE seq = 4"}, 4, "altered"},
		{"erase without a digest", []string{"UPDATE audit_entries SET actor = '', who_salt = NULL WHERE seq = 4"}, 4, "altered"},
		{"swap two", []string{
			"UPDATE audit_entries SET seq = -1 WHERE seq = 3", "UPDATE audit_entries SET seq = 3 WHERE seq = 6",
			"UPDATE audit_entries SET seq = 6 WHERE seq = -1",
		}, 3, "prev_hash"},
		{"swap what two say", []string{
			"CREATE TABLE spare AS SELECT * FROM audit_entries WHERE seq IN (3, 6)",
			"UPDATE audit_entries SET after = (SELECT after FROM spare WHERE spare.seq = 9 - audit_entries.seq) WHERE seq IN (3, 6)",
		}, 3, "altered"},
		{"put in again at the end", []string{
			"INSERT INTO audit_entries (id, seq, " + wholeRow + ") SELECT 'again', 9, " + wholeRow + " FROM audit_entries WHERE seq = 3",
		}, 9, "behind the head"},
		{"put in again for the sealer", []string{
			"INSERT INTO audit_entries (id, " + wholeRow + ") SELECT 'again', " + wholeRow + " FROM audit_entries WHERE seq = 3",
		}, 9, "no server"},
		{"put in before the first", []string{
			"INSERT INTO audit_entries (id, seq, " + wholeRow + ") SELECT 'again', 0, " + wholeRow + " FROM audit_entries WHERE seq = 3",
		}, 0, "before the first"},
		{"cut the tail", []string{"DELETE FROM audit_entries WHERE seq > 5"}, 6, "cut off"},
		{"cut the tail and name the last as head", []string{
			"DELETE FROM audit_entries WHERE seq > 5",
			"UPDATE audit_head SET seq = 5, hash = (SELECT hash FROM audit_entries WHERE seq = 5)",
		}, 5, "not signed"},
		{"old head, entries left", []string{oldHead}, 6, "behind the head"},
		{"head of nothing", []string{"UPDATE audit_head SET seq = 0, hash = '', hmac = ''"}, 1, "behind the head"},
		{"unsigned head", []string{"UPDATE audit_head SET hmac = ''"}, 8, "not signed"},
	}
}

// eightEntries fills a log and keeps its head of five.
func eightEntries(t *testing.T, b bed) (*sql.DB, store.AuditVerdict) {
	t.Helper()
	s, db := b.store(), pgtest.SQL(t, b.url)
	register(t, s, "g1")
	for n := range 7 {
		save(t, s, "g1", interval(strconv.Itoa(2000+n)))
		wantGood(t, s, int64(n+2))
		if n == 3 {
			execute(t, db, "CREATE TABLE old_head AS SELECT * FROM audit_head")
		}
	}
	return db, wantGood(t, s, 8)
}

func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func wantBad(t *testing.T, s *store.Store, expectHead string, place int64, why string) {
	t.Helper()
	v := must(s.VerifyAudit(t.Context(), expectHead))(t)
	if v.OK || v.FirstBad == nil || v.FirstBad.Seq != place || !strings.Contains(v.FirstBad.Why, why) {
		t.Errorf("verdict %+v %+v, want entry %d, %q", v, v.FirstBad, place, why)
	}
}

func TestC62_TamperingIsNamedWithItsPlace(t *testing.T) {
	t.Parallel()
	for _, x := range tampers() {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(b bed) {
				db, _ := eightEntries(b.t, b)
				execute(b.t, db, x.sql...)
				wantBad(b.t, b.store(), "", x.place, x.why)
			})
		})
	}
}

// TestC62_AnOldHeadIsKnownByTheNewerOne cuts the tail and puts the old head back, signature and all: only who kept a newer
// head can tell, a caller or a server that ran meanwhile. Saves that follow do not heal it.
func TestC62_AnOldHeadIsKnownByTheNewerOne(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		db, before := eightEntries(t, b)
		wantGood(t, s, 8)
		execute(t, db, "DELETE FROM audit_entries WHERE seq > 5", `UPDATE audit_head
			SET seq = 5, hash = (SELECT hash FROM old_head), hmac = (SELECT hmac FROM old_head)`)
		wantGood(t, b.store(), 5)
		wantBad(t, b.store(), before.Head.String(), 6, "old head")
		wantBad(t, s, "", 6, "old head")
		for n := range 4 {
			save(t, s, "g1", interval(strconv.Itoa(3000+n)))
		}
		wantBad(t, b.store(), before.Head.String(), 8, "rewritten")
		wantBad(t, s, "", 8, "rewritten")
		for _, text := range []string{"8", "8:", "x:y", ":", "0:00", "-1:" + before.Head.Hash, "+" + before.Head.String(), "8:abcd"} {
			_, err := s.VerifyAudit(t.Context(), text)
			wantCode(t, err, policy.CodeMalformed)
		}
	})
}

// TestC62_NumberedAgainIsKnownByTheNewerHead puts an old head back and takes the numbers of later entries away, one of them
// with its row: the sealer links what is left anew. Only a newer head tells.
func TestC62_NumberedAgainIsKnownByTheNewerHead(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		db, before := eightEntries(t, b)
		execute(t, db, "DELETE FROM audit_entries WHERE seq = 7", "UPDATE audit_entries SET seq = NULL, prev_hash = '', hash = '' WHERE seq > 5",
			"UPDATE audit_head SET seq = 5, hash = (SELECT hash FROM old_head), hmac = (SELECT hmac FROM old_head)")
		wantGood(t, b.store(), 7)
		wantBad(t, b.store(), before.Head.String(), 8, "old head")
		save(t, b.store(), "g1", interval("3000"))
		wantBad(t, b.store(), before.Head.String(), 8, "rewritten")
	})
}

// TestC62_WithoutTheKeyNothingVerifies rewrites a whole log that fits together, signed with another key.
func TestC62_WithoutTheKeyNothingVerifies(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		other := b.store(func(c *store.Config) { c.AuditKey = []byte(strings.Repeat("k", 32)) })
		register(t, other, "g1", "g2")
		wantGood(t, other, 2)
		s := b.store()
		wantBad(t, s, "", 1, "no server")
		register(t, s, "g3") // sealed behind a head that is not ours: it stays unsigned
		wantBad(t, s, "", 1, "no server")
		wantBad(t, other, "", 3, "no server")
	})
}

// TestC62_ErasedBySQLIsNamed erases an entry as SQL can do it: texts empty, salt gone, digest kept; with the proof of another
// erasure, too.
func TestC62_ErasedBySQLIsNamed(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		db, _ := eightEntries(t, b)
		s := b.store()
		if _, err := s.PutExemption(t.Context(), actor(), "g1", store.Anything(), store.Exemption{UserID: "u1"}); err != nil {
			t.Fatal(err)
		}
		must(s.ErasePerson(t.Context(), console(), "u1"))(t)
		wantGood(t, s, 10)
		x := must(s.ExportAudit(t.Context(), store.AuditQuery{}))(t)
		erased := must(x.Next(t.Context()))(t)[3].EraseWhat([]byte("guessed"), "x")
		execute(t, db, fmt.Sprintf(`UPDATE audit_entries SET target = '', before = '', after = '', reason = '', changed = '',
			what_salt = NULL, what_digest = %s WHERE seq = 4`, b.blob(erased.What.Digest)))
		wantBad(t, s, "", 4, "without a record")
		execute(t, db, `UPDATE audit_entries SET what_erasure = (SELECT what_erasure FROM audit_entries WHERE seq = 9) WHERE seq = 4`)
		wantBad(t, s, "", 4, "without a record")
	})
}

// blob is bytes as a literal of the dialect.
func (b bed) blob(bytes []byte) string {
	if strings.HasPrefix(b.url, "sqlite:") {
		return fmt.Sprintf("x'%x'", bytes)
	}
	return fmt.Sprintf(`'\x%x'`, bytes)
}
