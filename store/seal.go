package store

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

// sealBatch bounds the entries of one sealing transaction, so that each stays far below the store's timeout, also where the
// machine is twenty times as busy as it should be.
const sealBatch = 250

// SealAudit numbers the entries that have no number yet, without gaps, in the order of their times, links them into the
// chain, moves and signs its head, and returns how many it took. Several instances may call it at once. It is meant to
// run each second.
func (s *Store) SealAudit(ctx context.Context) (int64, error) {
	var total int64
	for {
		n, err := s.sealOnce(ctx)
		total += n
		if err != nil || n == 0 {
			return total, err
		}
	}
}

func (s *Store) sealOnce(ctx context.Context) (n int64, err error) {
	var waiting struct{ Unsealed, Unindexed bool }
	err = s.read(ctx, func(db *gorm.DB) error {
		return one(db.Raw(`SELECT EXISTS (SELECT 1 FROM audit_entries WHERE seq IS NULL) AS unsealed,
			indexed < seq AS unindexed FROM audit_head WHERE id = 1`), &waiting)
	})
	if err == nil && waiting.Unindexed {
		return s.indexOnce(ctx)
	}
	if err != nil || !waiting.Unsealed {
		return 0, err
	}
	var head policy.AuditHead
	err = s.write(ctx, func(t *tx) error {
		if err := s.dialect.lock(t.DB, lockSeal); err != nil {
			return err
		}
		n, head, err = t.seal()
		return err
	})
	if err == nil {
		s.heads.saw(head)
	}
	return n, err
}

// seal takes one batch. A head that this key did not sign is moved on and stays unsigned: signing it would make what an
// attacker wrote the truth, and refusing would keep all later entries out of the lists.
func (t *tx) seal() (int64, policy.AuditHead, error) {
	was, err := readHead(t.DB)
	if err != nil {
		return 0, policy.AuditHead{}, err
	}
	rows, err := auditRecords(t.DB, pageBytes, "WHERE seq IS NULL ORDER BY at, id LIMIT ?", sealBatch)
	if err != nil || len(rows) == 0 {
		return 0, policy.AuditHead{}, err
	}
	head := was.head()
	for i := range rows {
		rows[i].Seq, rows[i].PrevHash = head.Seq+1, head.Hash
		rows[i].Hash, rows[i].Changed = rows[i].Link(head.Hash), rows[i].DeriveChanged()
		head = policy.AuditHead{Seq: rows[i].Seq, Hash: rows[i].Hash}
	}
	if err := t.store.dialect.linkRows(t.DB, rows); err != nil {
		return 0, policy.AuditHead{}, err
	}
	if err := t.noteFields(rows); err != nil {
		return 0, policy.AuditHead{}, err
	}
	indexed := was.Indexed
	if indexed == was.Seq {
		indexed = head.Seq
	}
	mac := ""
	if was.head().Signed(t.store.cfg.AuditKey, was.HMAC) {
		mac = head.Sign(t.store.cfg.AuditKey)
	}
	return int64(len(rows)), head,
		t.Exec("UPDATE audit_head SET seq = ?, hash = ?, hmac = ?, indexed = ? WHERE id = 1", head.Seq, head.Hash, mac, indexed).Error
}

type headRow struct {
	Seq  int64
	Hash string
	HMAC string `gorm:"column:hmac"`
	Top  int64  // the highest number that an entry has
	Low  int64  // the lowest

	Indexed int64 // the number up to which audit_changes holds what entries changed
}

func (r headRow) head() policy.AuditHead { return policy.AuditHead{Seq: r.Seq, Hash: r.Hash} }

// readHead reads the head, and the numbers' range at the same moment.
func readHead(db *gorm.DB) (row headRow, err error) {
	err = one(db.Raw(`SELECT seq, hash, hmac, indexed, (SELECT COALESCE(max(seq), 0) FROM audit_entries) AS top,
		(SELECT COALESCE(min(seq), 1) FROM audit_entries) AS low FROM audit_head WHERE id = 1`), &row)
	return row, err
}

// AuditHead is the head of the chain, which operators keep elsewhere to hold the log against it later. trusted is false
// for a head that this key did not sign, or that is older than one that this process saw.
func (s *Store) AuditHead(ctx context.Context) (head policy.AuditHead, trusted bool, err error) {
	known := s.heads.get()
	var row headRow
	err = s.read(ctx, func(db *gorm.DB) error {
		row, err = readHead(db)
		return err
	})
	head = row.head()
	trusted = err == nil && head.Signed(s.cfg.AuditKey, row.HMAC) && head.Seq >= known.Seq
	if trusted {
		s.heads.saw(head)
	}
	return head, trusted, err
}

// lastHead remembers the furthest head that this process saw: an old one put back under its eyes does not pass.
type lastHead struct {
	mu   sync.Mutex
	head policy.AuditHead
}

func (l *lastHead) saw(head policy.AuditHead) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if head.Seq > l.head.Seq {
		l.head = head
	}
}

func (l *lastHead) get() policy.AuditHead {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}

// arrayOf is an array of Postgres as text, each element in quotes.
func arrayOf(words []string) string {
	quoted, escape := make([]string, len(words)), strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for i, word := range words {
		quoted[i] = `"` + escape.Replace(word) + `"`
	}
	return "{" + strings.Join(quoted, ",") + "}"
}

// linkRows writes number, hashes and changed fields of sealed entries: on Postgres in one statement, from arrays; on
// SQLite, which has no round trips, one by one.
func (d dialect) linkRows(db *gorm.DB, rows []policy.AuditRecord) error {
	if d.postgres {
		var ids, seqs, prevs, hashes, changed []string
		for _, r := range rows {
			ids, seqs = append(ids, r.ID), append(seqs, strconv.FormatInt(r.Seq, 10))
			prevs, hashes, changed = append(prevs, r.PrevHash), append(hashes, r.Hash), append(changed, r.Changed)
		}
		return db.Exec(`UPDATE audit_entries AS e SET seq = n.seq, prev_hash = n.prev_hash, hash = n.hash, changed = n.changed
			FROM unnest(CAST(? AS text[]), CAST(? AS bigint[]), CAST(? AS text[]), CAST(? AS text[]), CAST(? AS text[]))
				AS n(id, seq, prev_hash, hash, changed)
			WHERE e.id = n.id AND e.seq IS NULL`,
			arrayOf(ids), arrayOf(seqs), arrayOf(prevs), arrayOf(hashes), arrayOf(changed)).Error
	}
	for _, r := range rows {
		err := db.Exec("UPDATE audit_entries SET seq = ?, prev_hash = ?, hash = ?, changed = ? WHERE id = ?",
			r.Seq, r.PrevHash, r.Hash, r.Changed, r.ID).Error
		if err != nil {
			return err
		}
	}
	return nil
}
