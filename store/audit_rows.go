package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

// auditPage is auditRecords for those who read the whole log. On Postgres it takes the rows as they come over the wire:
// database/sql makes two values of each of their 24 columns, at more than what all hashes of an entry cost.
func (s *Store) auditPage(ctx context.Context, limit int, where string, args ...any) (records []policy.AuditRecord, err error) {
	if !s.dialect.postgres || s.dialect.pgx.DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol { // that has texts alone
		err = s.read(ctx, func(db *gorm.DB) error {
			records, err = auditRecords(db, limit, where, args...)
			return err
		})
		return records, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	conn, err := s.sqlDB.Conn(ctx)
	if err != nil {
		return nil, translate(err)
	}
	defer func() { _ = conn.Close() }()
	err = conn.Raw(func(driver any) error {
		pg, ok := driver.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("store: a connection of Postgres is a %T", driver)
		}
		records, err = rawRecords(ctx, pg.Conn(), limit, numbered(selectAudit+where), args)
		return err
	})
	return records, translate(err)
}

// numbered writes the places of parameters as Postgres has them.
func numbered(sql string) string {
	var out strings.Builder
	for n, part := range strings.Split(sql, "?") {
		if n > 0 {
			out.WriteString("$" + strconv.Itoa(n))
		}
		out.WriteString(part)
	}
	return out.String()
}

func rawRecords(ctx context.Context, conn *pgx.Conn, limit int, sql string, args []any) (records []policy.AuditRecord, err error) {
	rows, err := conn.Query(ctx, sql, append([]any{pgx.QueryResultFormats{pgx.BinaryFormatCode}}, args...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for size := 0; (limit == 0 || size < limit) && rows.Next(); {
		r, err := rawRecord(rows.RawValues())
		if err != nil {
			return nil, err
		}
		records = append(records, r)
		size += len(r.Before) + len(r.After)
	}
	return records, rows.Err()
}

// rawRecord reads a row of selectAudit. All texts of it share one piece of memory, and so do all bytes.
func rawRecord(raw [][]byte) (r policy.AuditRecord, err error) {
	texts := [...]*string{
		0: &r.ID, 3: &r.Actor, 4: &r.Role, 5: &r.Channel, 6: &r.Action, 7: &r.Target, 8: &r.GroupID, 9: &r.Before, 10: &r.After,
		11: &r.Reason, 12: &r.RequestID, 13: &r.Address, 19: &r.PrevHash, 20: &r.Hash, 21: &r.Changed, 22: &r.Who.Erasure,
		23: &r.What.Erasure,
	}
	if len(raw) != len(texts) || len(raw[1]) != 8 || len(raw[2]) != 8 {
		return r, fmt.Errorf("store: a row of the audit log has %d columns, or numbers that are no bigint", len(raw))
	}
	r.Seq, r.AtMicros = int64(binary.BigEndian.Uint64(raw[1])), int64(binary.BigEndian.Uint64(raw[2])) //nolint:gosec // bigint
	size := 0
	for _, value := range raw {
		size += len(value)
	}
	all := make([]byte, 0, size)
	for i, place := range texts {
		if place != nil {
			all = append(all, raw[i]...)
		}
	}
	whole, at := string(all), 0
	for i, place := range texts {
		if place != nil {
			*place = whole[at : at+len(raw[i])]
			at += len(raw[i])
		}
	}
	for i, place := range [...]*[]byte{&r.Who.Salt, &r.What.Salt, &r.Who.Digest, &r.What.Digest, &r.MAC} {
		if value := raw[firstBytes+i]; value != nil {
			start := len(all)
			all = append(all, value...)
			*place = all[start:len(all):len(all)]
		}
	}
	return r, nil
}

// firstBytes is the first column of bytes of selectAudit.
const firstBytes = 14
