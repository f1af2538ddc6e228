package store

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"
)

// entry is what an audit entry says beyond who, when and why.
type entry struct {
	action  string
	target  string
	groupID string
	before  string // JSON; "" = nothing
	after   string
}

const insertAudit = `INSERT INTO audit_entries
	(id, at, actor, role, channel, action, target, group_id, before, after, reason, request_id, address, prev_hash, hash) `

// audit writes the entry of a change into the change's own transaction. The entry gets its number within a second, by
// SealAudit.
func (t *tx) audit(a Actor, e entry) {
	t.finally(insertAudit+"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', '')",
		t.store.cfg.NewID(), t.now.UnixMicro(), a.Name, a.Role, a.Channel, e.action, e.target, e.groupID,
		e.before, e.after, a.Reason, a.RequestID, a.Address)
}

// asJSON prints a value made of strings, numbers and times, which always marshal.
func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}

// jsonTime is RFC 3339 with microseconds, "" for the zero Time.
func jsonTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000Z")
}

// SignedIn writes session.create: a person signed in to the pages.
func (s *Store) SignedIn(ctx context.Context, a Actor) error {
	return s.write(ctx, func(t *tx) error {
		t.audit(a, entry{action: "session.create", target: a.Name})
		return nil
	})
}

// SignedOut writes session.revoke: a person's session ended by will.
func (s *Store) SignedOut(ctx context.Context, a Actor) error {
	return s.write(ctx, func(t *tx) error {
		t.audit(a, entry{action: "session.revoke", target: a.Name})
		return nil
	})
}

// sealBatch bounds the entries of one sealing transaction, so that each stays far below the store's timeout.
const sealBatch = 5000

// SealAudit numbers the entries that have no number yet, without gaps, in the order of their times, and returns how
// many it numbered. Several instances may call it at once. It is meant to run each second.
func (s *Store) SealAudit(ctx context.Context) (int64, error) {
	var total int64
	for {
		n, err := s.sealOnce(ctx)
		total += n
		if err != nil || n < sealBatch {
			return total, err
		}
	}
}

func (s *Store) sealOnce(ctx context.Context) (n int64, err error) {
	var waiting bool
	err = s.read(ctx, func(db *gorm.DB) error {
		return db.Raw("SELECT EXISTS (SELECT 1 FROM audit_entries WHERE seq IS NULL)").Scan(&waiting).Error
	})
	if err != nil || !waiting {
		return 0, err
	}
	err = s.write(ctx, func(t *tx) error {
		if err := s.dialect.lock(t.DB, lockSeal); err != nil {
			return err
		}
		done := t.Exec(`UPDATE audit_entries SET seq = h.seq + n.place
			FROM (SELECT id, row_number() OVER (ORDER BY at, id) AS place FROM audit_entries WHERE seq IS NULL
				ORDER BY at, id LIMIT ?) AS n, audit_head AS h
			WHERE audit_entries.id = n.id AND h.id = 1`, sealBatch)
		n = done.RowsAffected
		if done.Error != nil || n == 0 {
			return done.Error
		}
		return t.Exec("UPDATE audit_head SET seq = seq + ? WHERE id = 1", n).Error
	})
	return n, err
}

type auditRow struct {
	Seq, At                                       int64
	Actor, Role, Channel, Action, Target, GroupID string
	Before, After, Reason, RequestID, Address     string
	PrevHash, Hash                                string
}

func (r auditRow) entry() AuditEntry {
	return AuditEntry{
		Seq: r.Seq, At: fromMicros(&r.At), Actor: r.Actor, Role: r.Role, Channel: r.Channel, Action: r.Action,
		Target: r.Target, GroupID: r.GroupID, Before: r.Before, After: r.After, Reason: r.Reason,
		RequestID: r.RequestID, Address: r.Address, PrevHash: r.PrevHash, Hash: r.Hash,
	}
}

// ListAudit pages entries, newest first. It seals first, so that the page is complete. CodeInvalid for a bad cursor.
func (s *Store) ListAudit(ctx context.Context, q AuditQuery) (Page[AuditEntry], error) {
	where, args, err := q.where()
	if err != nil {
		return Page[AuditEntry]{}, err
	}
	if _, err := s.SealAudit(ctx); err != nil {
		return Page[AuditEntry]{}, err
	}
	limit := pageLimit(q.Limit)
	var rows []auditRow
	err = s.read(ctx, func(db *gorm.DB) error {
		return db.Raw("SELECT * FROM audit_entries WHERE "+where+" ORDER BY seq DESC LIMIT ?",
			append(args, limit+1)...).Scan(&rows).Error
	})
	return pageOf(rows, limit, auditRow.entry, func(r auditRow) string {
		return encodeCursor("audit", strconv.FormatInt(r.Seq, 10))
	}), err
}

// where builds the condition of a query; its columns are fixed words, its values parameters.
func (q AuditQuery) where() (string, []any, error) {
	conditions, args := []string{"seq IS NOT NULL"}, []any{}
	add := func(condition string, arg any) {
		conditions, args = append(conditions, condition), append(args, arg)
	}
	for _, f := range []struct{ column, value string }{
		{"actor", q.Actor}, {"role", q.Role}, {"channel", q.Channel}, {"group_id", q.GroupID}, {"request_id", q.RequestID},
	} {
		if f.value != "" {
			add(f.column+" = ?", f.value)
		}
	}
	if kind, ok := strings.CutSuffix(q.Action, "*"); ok {
		add("substr(action, 1, "+strconv.Itoa(len(kind))+") = ?", kind)
	} else if q.Action != "" {
		add("action = ?", q.Action)
	}
	if !q.From.IsZero() {
		add("at >= ?", q.From.UnixMicro())
	}
	if !q.To.IsZero() {
		add("at < ?", q.To.UnixMicro())
	}
	key, err := decodeCursor("audit", q.Cursor, 1)
	if err != nil || key == nil {
		return strings.Join(conditions, " AND "), args, err
	}
	seq, err := strconv.ParseInt(key[0], 10, 64)
	if err != nil {
		return "", nil, errCursor()
	}
	add("seq < ?", seq)
	return strings.Join(conditions, " AND "), args, nil
}
