package store

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

// changeBlock is how many numbers share a row of audit_changes.
const changeBlock = 128

// fieldBlock says that an entry of a block changed a field.
type fieldBlock struct {
	Field string
	Block int64
}

// changesOf are the rows that entries need, without repeats.
func changesOf(rows []policy.AuditRecord) map[fieldBlock]struct{} {
	changes := map[fieldBlock]struct{}{}
	for _, r := range rows {
		for field := range strings.FieldsSeq(r.Changed) {
			changes[fieldBlock{field, r.Seq / changeBlock}] = struct{}{}
		}
	}
	return changes
}

// noteFields puts the changed fields of sealed entries where filters find them.
func (t *tx) noteFields(rows []policy.AuditRecord) error {
	const insert = "INSERT INTO audit_changes (field, block) "
	var fields, blocks []string
	var args []any
	for c := range changesOf(rows) {
		fields, blocks = append(fields, c.Field), append(blocks, strconv.FormatInt(c.Block, 10))
		args = append(args, c.Field, c.Block)
	}
	if t.store.dialect.postgres {
		return t.Exec(insert+"SELECT * FROM unnest(CAST(? AS text[]), CAST(? AS bigint[])) ON CONFLICT DO NOTHING",
			arrayOf(fields), arrayOf(blocks)).Error
	}
	for chunk := range slices.Chunk(args, 2*chunkSize) {
		err := t.Exec(insert+"VALUES "+places(len(chunk)/2, 2)+" ON CONFLICT DO NOTHING", chunk...).Error
		if err != nil {
			return err
		}
	}
	return nil
}

// indexOnce does for a batch what their sealer did not, for it was of an older version: it derives the changed fields
// where they are not there, and notes them.
func (s *Store) indexOnce(ctx context.Context) (n int64, err error) {
	err = s.write(ctx, func(t *tx) error {
		if err := s.dialect.lock(t.DB, lockSeal); err != nil {
			return err
		}
		head, err := readHead(t.DB)
		if err != nil {
			return err
		}
		rows, err := auditRecords(t.DB, pageBytes, "WHERE seq > ? ORDER BY seq LIMIT ?", head.Indexed, sealBatch)
		if err != nil {
			return err
		}
		if err := t.deriveChanged(rows); err != nil {
			return err
		}
		indexed := head.Seq // where nothing is left, be it that somebody deleted it
		if len(rows) > 0 {
			indexed = rows[len(rows)-1].Seq
		}
		n = int64(len(rows))
		return t.Exec("UPDATE audit_head SET indexed = ? WHERE id = 1", indexed).Error
	})
	return n, err
}

func (t *tx) deriveChanged(rows []policy.AuditRecord) error {
	for i, r := range rows {
		if r.Changed != underived {
			continue
		}
		rows[i].Changed = r.DeriveChanged()
		if err := t.Exec("UPDATE audit_entries SET changed = ? WHERE id = ?", rows[i].Changed, r.ID).Error; err != nil {
			return err
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return t.noteFields(rows)
}

// blockSteps are how many blocks are read at once, the newest first: a field that is changed often fills a page from the
// first block, one that is changed rarely has few.
func blockSteps() []int { return []int{1, 3, 12, 48} }

// changedEntries reads entries that changed a field, the newest first, block by block. Where other filters leave nothing of
// many blocks, their indexes take over.
func (s *Store) changedEntries(ctx context.Context, q AuditQuery, limit int) (rows []policy.AuditRecord, err error) {
	where, args, err := q.where(s.dialect)
	if err != nil {
		return nil, err
	}
	below, err := q.below()
	if err != nil {
		return nil, err
	}
	steps := blockSteps()
	for n, last := 0, below/changeBlock; ; n++ {
		if n == len(steps) && q.narrow() {
			more, err := s.newestEntries(ctx, where+" AND seq < ?", append(args, (last+1)*changeBlock), limit-len(rows))
			return append(rows, more...), err
		}
		step := steps[min(n, len(steps)-1)]
		found, blocks, err := s.changedInBlocks(ctx, q.Changed, last, step, where, append(args, limit-len(rows)))
		rows = append(rows, found...)
		if err != nil || len(rows) == limit || len(blocks) < step {
			return rows, err
		}
		last = blocks[step-1] - 1
	}
}

// changedInBlocks reads from some of the blocks in which a field was changed, and from nothing else: without MATERIALIZED
// the planner would walk the whole log backwards where it takes the first entries to match.
func (s *Store) changedInBlocks(ctx context.Context, field string, last int64, step int, where string, args []any) (
	rows []policy.AuditRecord, blocks []int64, err error,
) {
	err = s.read(ctx, func(db *gorm.DB) error {
		err := db.Raw("SELECT block FROM audit_changes WHERE field = ? AND block <= ? ORDER BY block DESC LIMIT ?", field, last, step).
			Scan(&blocks).Error
		if err != nil || len(blocks) == 0 {
			return err
		}
		ranges, places := make([]string, len(blocks)), make([]any, 0, 2*len(blocks)+len(args))
		for i, block := range blocks {
			ranges[i] = "seq BETWEEN ? AND ?"
			places = append(places, block*changeBlock, (block+1)*changeBlock-1)
		}
		rows, err = auditRecords(db, 0, "WHERE id IN (WITH found AS MATERIALIZED (SELECT id, seq FROM audit_entries WHERE ("+
			strings.Join(ranges, " OR ")+") AND "+where+") SELECT id FROM found ORDER BY seq DESC LIMIT ?) ORDER BY seq DESC",
			append(places, args...)...)
		return err
	})
	return rows, blocks, err
}

// blocksNoted reads what audit_changes has of the blocks of entries.
func blocksNoted(db *gorm.DB, entries []policy.AuditRecord) (map[fieldBlock]struct{}, error) {
	if len(entries) == 0 {
		return nil, nil //nolint:nilnil // nothing has no changes
	}
	var rows []fieldBlock
	err := db.Raw("SELECT field, block FROM audit_changes WHERE block BETWEEN ? AND ?",
		entries[0].Seq/changeBlock, entries[len(entries)-1].Seq/changeBlock).Scan(&rows).Error
	noted := make(map[fieldBlock]struct{}, len(rows))
	for _, r := range rows {
		noted[r] = struct{}{}
	}
	return noted, err
}
