package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// fleetPatience is how many times the store's timeout one page may take: its rows lie all over the table, and may have
// to come from disk.
const fleetPatience = 6

// FleetReader reads groups for the fleet job, on a connection of its own that it makes with the first page: it never
// waits for the pool, nor keeps others waiting. Not safe for concurrent use. Close it.
type FleetReader struct {
	store *Store
	conn  *pgx.Conn // nil = none yet, or SQLite
}

// FleetReader makes a reader; it connects to nothing yet.
func (s *Store) FleetReader() *FleetReader { return &FleetReader{store: s} }

// Close gives the connection back, within a second, whether ctx has ended or not.
func (r *FleetReader) Close(ctx context.Context) {
	if r.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	_ = r.conn.Close(ctx)
	r.conn = nil
}

// selectFleet reads the counters once a page, in the snapshot of its rows: joined they would cost as much as reading the
// row.
const selectFleet = `SELECT g.id, g.archived_at IS NOT NULL, g.version, g.document, g.exemptions_version, g.exemptions_count,
		(SELECT int8send(generation) || int8send(bounds_version) || int8send(defaults_version) FROM system WHERE id = 1), g.shard
	FROM groups AS g WHERE `

// Page reads groups of one shard by id, archived ones too, as PublishPage does but without their locale. after is the
// last id of the page before, "" at the start; the page that has fewer than limit rows is the last.
func (r *FleetReader) Page(ctx context.Context, shard uint8, after string, limit int) ([]PublishRow, error) {
	if !r.store.dialect.postgres {
		return r.store.publishRows(ctx, "g.shard = ? AND g.id > ? ORDER BY g.id LIMIT ?", shard, after, limit)
	}
	return r.read(ctx, "g.shard = $1 AND g.id > $2 ORDER BY g.id LIMIT $3", int16(shard), after, limit)
}

// After is Page over all shards, by shard and id.
func (r *FleetReader) After(ctx context.Context, after string, limit int) ([]PublishRow, error) {
	shard := HoldKey{GroupID: after}.shard()
	if !r.store.dialect.postgres {
		return r.store.publishRows(ctx, "(g.shard, g.id) > (?, ?) ORDER BY g.shard, g.id LIMIT ?", shard, after, limit)
	}
	return r.read(ctx, "(g.shard, g.id) > ($1, $2) ORDER BY g.shard, g.id LIMIT $3", int16(shard), after, limit) //nolint:gosec // -1 to 255
}

func (r *FleetReader) read(ctx context.Context, where string, shard int16, after string, limit int) ([]PublishRow, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(fleetPatience)*r.store.cfg.Timeout)
	defer cancel()
	rows, err := r.page(ctx, selectFleet+where, shard, after, limit)
	if err != nil {
		r.Close(ctx) // the next page takes a new connection
		return nil, translate(err)
	}
	return rows, nil
}

func (r *FleetReader) page(ctx context.Context, query string, shard int16, after string, limit int) ([]PublishRow, error) {
	if r.conn == nil {
		conn, err := pgx.ConnectConfig(ctx, r.store.dialect.pgx.Copy())
		if err != nil {
			return nil, err
		}
		r.conn = conn
	}
	rows, err := r.conn.Query(ctx, query, shard, after, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	out := make([]PublishRow, 0, limit)
	for rows.Next() {
		row, err := fleetRow(rows.RawValues())
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, rows.Err()
}

// fleetRow reads the columns of selectFleet in Postgres' binary form: scanning them one by one would cost as much as
// all else that is done with a row.
func fleetRow(raw [][]byte) (PublishRow, error) {
	if len(raw[7]) != 2 || len(raw[6]) != 24 {
		return PublishRow{}, fmt.Errorf("store: shard and counters of a group have %d and %d bytes, not 2 and 24", len(raw[7]), len(raw[6]))
	}
	var n [3]int64
	for i, column := range [3]int{2, 4, 5} {
		if len(raw[column]) != 8 {
			return PublishRow{}, fmt.Errorf("store: column %d of a group has %d bytes, not 8", column, len(raw[column]))
		}
		n[i] = bigint(raw[column])
	}
	row := PublishRow{
		GroupID: string(raw[0]), Shard: raw[7][1], Archived: raw[1][0] != 0, Version: n[0], ExemptionsVersion: n[1], ExemptionsCount: n[2],
		Counters: Counters{Generation: bigint(raw[6]), BoundsVersion: bigint(raw[6][8:]), DefaultsVersion: bigint(raw[6][16:])},
	}
	row.Document, row.Err = readStored(row.GroupID, raw[3])
	return row, nil
}

// bigint reads one as Postgres writes it.
func bigint(raw []byte) int64 { return int64(binary.BigEndian.Uint64(raw)) } //nolint:gosec // its 64 bits are meant
