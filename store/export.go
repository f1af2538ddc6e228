package store

import (
	"context"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

// AuditExport reads the entries that a query selects, oldest first, up to the head that the log had at the beginning.
// Call Next until Done. Not safe for concurrent use.
type AuditExport struct {
	store    *Store
	where    string
	args     []any
	filtered bool
	row      headRow
	after    int64 // the last number that was looked at
	count    int64
	ahead    <-chan pageRead // the page behind the last, being read; nil = none
	proving  bool            // pages come with what audit_changes says of them
}

// ExportAudit seals and begins an export; cursor and limit of the query are not looked at.
func (s *Store) ExportAudit(ctx context.Context, q AuditQuery) (*AuditExport, error) {
	q.Cursor = ""
	where, args, err := q.where(s.dialect)
	if err != nil {
		return nil, err
	}
	if _, err := s.SealAudit(ctx); err != nil {
		return nil, err
	}
	x := &AuditExport{store: s, where: where, args: args, filtered: len(args) > 0}
	err = s.read(ctx, func(db *gorm.DB) error {
		x.row, err = readHead(db)
		return err
	})
	return x, err
}

// Done reports that all was read.
func (x *AuditExport) Done() bool { return x.after >= min(x.row.Seq, x.row.Top) }

// Footer is what ends the export.
func (x *AuditExport) Footer() policy.AuditFooter {
	return policy.AuditFooter{Count: x.count, Head: x.row.head(), MAC: x.row.HMAC, Filtered: x.filtered}
}

const (
	exportSpan = 1000    // numbers that one page looks at, whatever the filters leave of them
	pageBytes  = 4 << 20 // a page ends with the entry whose documents make it so long
)

// pageRead is a page, and the last number that it looked at.
type pageRead struct {
	page  []policy.AuditRecord
	noted map[fieldBlock]struct{} // of the page's blocks, where the export proves
	after int64
	err   error
}

// Next reads a page; an empty one is no end. The page behind it is read meanwhile, under the same ctx.
func (x *AuditExport) Next(ctx context.Context) ([]policy.AuditRecord, error) {
	got, err := x.next(ctx)
	return got.page, err
}

func (x *AuditExport) next(ctx context.Context) (got pageRead, err error) {
	ahead := x.ahead
	if ahead == nil {
		ahead = x.begin(ctx)
	}
	x.ahead = nil
	select {
	case got = <-ahead:
	case <-ctx.Done():
		return got, translate(ctx.Err())
	}
	if got.err != nil {
		return got, got.err
	}
	x.after, x.count = got.after, x.count+int64(len(got.page))
	if !x.Done() {
		x.ahead = x.begin(ctx)
	}
	return got, nil
}

// begin reads the next page beside the caller. The answer waits for whoever takes it; nobody has to.
func (x *AuditExport) begin(ctx context.Context) <-chan pageRead {
	answer, after := make(chan pageRead, 1), x.after
	x.store.work.Go(func() { answer <- x.read(ctx, after) })
	return answer
}

func (x *AuditExport) read(ctx context.Context, after int64) (r pageRead) {
	r.after = min(after+exportSpan, x.row.Seq)
	args := append(append([]any{}, x.args...), after, r.after)
	r.page, r.err = x.store.auditPage(ctx, pageBytes, "WHERE "+x.where+" AND seq > ? AND seq <= ? ORDER BY seq", args...)
	if r.err == nil && x.proving {
		r.err = x.store.read(ctx, func(db *gorm.DB) (err error) {
			r.noted, err = blocksNoted(db, r.page)
			return err
		})
	}
	if weight(r.page) >= pageBytes {
		r.after = r.page[len(r.page)-1].Seq
	}
	return r
}

// underived stands for the changed fields of an entry that an older version sealed a moment ago.
const underived = "-"

const selectAudit = `SELECT id, COALESCE(seq, 0), at, actor, role, channel, action, target, group_id, before, after, reason,
	request_id, address, who_salt, what_salt, who_digest, what_digest, mac, prev_hash, hash, COALESCE(changed, '` + underived + `'),
	COALESCE(who_erasure, ''), COALESCE(what_erasure, '') FROM audit_entries `

// auditRecords reads entries without reflection: a verification reads all there are. It stops once their documents have
// as many bytes as given; 0 = never.
func auditRecords(db *gorm.DB, limit int, where string, args ...any) (records []policy.AuditRecord, err error) {
	rows, err := db.Raw(selectAudit+where, args...).Rows()
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for size := 0; (limit == 0 || size < limit) && rows.Next(); {
		var r policy.AuditRecord
		err := rows.Scan(&r.ID, &r.Seq, &r.AtMicros, &r.Actor, &r.Role, &r.Channel, &r.Action, &r.Target, &r.GroupID, &r.Before,
			&r.After, &r.Reason, &r.RequestID, &r.Address, &r.Who.Salt, &r.What.Salt, &r.Who.Digest, &r.What.Digest, &r.MAC,
			&r.PrevHash, &r.Hash, &r.Changed, &r.Who.Erasure, &r.What.Erasure)
		if err != nil {
			return nil, err
		}
		records = append(records, r)
		size += len(r.Before) + len(r.After)
	}
	return records, rows.Err()
}

func weight(records []policy.AuditRecord) (size int) {
	for _, r := range records {
		size += len(r.Before) + len(r.After)
	}
	return size
}
