package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"gorm.io/gorm"
)

// firstLease is how long a fresh outbox row belongs to the process that wrote it, which publishes it at once; the other
// instances' polls leave it alone for so long.
const firstLease = time.Second

// askLease is how long a row that asks for a fleet job is leased at most: its claimer asks at once.
const askLease = 3 * time.Second

const insertOutbox = `INSERT INTO outbox
	(id, kind, group_id, action, user_id, version, created_at, claimed_until) `

// newChange gives a change its id and moment.
func (s *Store) newChange(now time.Time, c Change) Change {
	c.OutboxID, c.At = s.cfg.NewID(), now
	return c
}

// claimedUntil is the first lease of a change, none when nobody listens in this process.
func (s *Store) claimedUntil(c Change) int64 {
	if s.cfg.OnCommit == nil {
		return 0
	}
	return c.At.Add(firstLease).UnixMicro()
}

// enqueue writes a change into the outbox, in the change's own transaction.
func (t *tx) enqueue(c Change) {
	if c.OutboxID == "" {
		c = t.store.newChange(t.now, c)
	}
	t.finally(insertOutbox+"VALUES (?, ?, ?, ?, ?, ?, ?, ?)", c.OutboxID, string(c.Kind), c.GroupID, c.Action,
		c.UserID, c.Version, c.At.UnixMicro(), t.store.claimedUntil(c))
	t.changes = append(t.changes, c)
}

type outboxRow struct {
	ID, Kind, GroupID, Action, UserID string
	Version, CreatedAt                int64
}

func (r outboxRow) public() OutboxRow {
	return OutboxRow{
		ID: r.ID, Kind: Kind(r.Kind), GroupID: r.GroupID, Action: r.Action, UserID: r.UserID, Version: r.Version,
		CreatedAt: fromMicros(&r.CreatedAt),
	}
}

// ClaimOutbox leases up to limit rows that nobody holds, oldest first. No two claimers get the same row while its lease
// lasts; a claimer that dies leaves its rows to others when the lease ends. A lease that reaches further than twice lease
// was given by a clock that has been set back since, or is ahead, and counts for nothing. Rows of KindFleet are leased
// for 3 s at most.
func (s *Store) ClaimOutbox(ctx context.Context, limit int, lease time.Duration) ([]OutboxRow, error) {
	var rows []outboxRow
	err := s.write(ctx, func(t *tx) error {
		return t.Raw(`UPDATE outbox SET claimed_until = CASE WHEN kind = 'fleet' THEN CAST(? AS bigint) ELSE ? END WHERE id IN
				(SELECT id FROM outbox WHERE claimed_until <= ? OR claimed_until > ? ORDER BY id LIMIT ?`+s.dialect.skipLocked()+`)
			RETURNING id, kind, group_id, action, user_id, version, created_at`,
			t.now.Add(min(lease, askLease)).UnixMicro(), t.now.Add(lease).UnixMicro(),
			t.now.UnixMicro(), t.now.Add(2*lease).UnixMicro(), limit).Scan(&rows).Error
	})
	slices.SortFunc(rows, func(a, b outboxRow) int { return cmp.Compare(a.ID, b.ID) })
	out := make([]OutboxRow, 0, len(rows))
	for _, r := range rows {
		out = append(out, r.public())
	}
	return out, err
}

// ExtendOutbox renews the leases of rows and returns how many of them are still there.
func (s *Store) ExtendOutbox(ctx context.Context, ids []string, lease time.Duration) (n int64, err error) {
	err = s.write(ctx, func(t *tx) error {
		for chunk := range slices.Chunk(ids, chunkSize) {
			done := t.Exec("UPDATE outbox SET claimed_until = ? WHERE id IN ?", t.now.Add(lease).UnixMicro(), chunk)
			if done.Error != nil {
				return done.Error
			}
			n += done.RowsAffected
		}
		return nil
	})
	return n, err
}

// chunkSize bounds the rows of one statement: Postgres takes 65,535 parameters, SQLite 32,766.
const chunkSize = 1000

// CompleteOutbox deletes published rows and keeps what was published, in transactions of up to 1,000 of each. A
// publication older than the one known is ignored. Rows deleted before are no error. What a crash of the database loses
// is published once more.
func (s *Store) CompleteOutbox(ctx context.Context, ids []string, pubs []Publication) error {
	ids = slices.Sorted(slices.Values(ids)) // one order for all: no deadlocks
	pubs = newestByGroup(pubs)
	for len(ids)+len(pubs) > 0 {
		rows, published := ids[:min(len(ids), chunkSize)], pubs[:min(len(pubs), chunkSize)]
		ids, pubs = ids[len(rows):], pubs[len(published):]
		if err := s.write(ctx, func(t *tx) error { return t.complete(rows, published) }); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) complete(rows []string, published []Publication) error {
	t.lossy = true
	if len(rows) > 0 {
		t.finally("DELETE FROM outbox WHERE id IN ?", rows)
	}
	if len(published) > 0 {
		t.upsertPublications(published)
	}
	return nil
}

func (t *tx) upsertPublications(pubs []Publication) {
	var args []any
	for _, p := range pubs {
		args = append(args, p.GroupID, p.Version, p.Order, p.At.UnixMicro(), p.LagMS)
	}
	t.finally(`INSERT INTO publications (group_id, version, order_no, at, lag_ms) VALUES `+places(len(pubs), 5)+`
		ON CONFLICT (group_id) DO UPDATE SET version = excluded.version, order_no = excluded.order_no,
			at = excluded.at, lag_ms = excluded.lag_ms
		WHERE excluded.order_no > publications.order_no`, args...)
}

// newestByGroup keeps one publication a group, sorted: one statement may touch a row once only.
func newestByGroup(pubs []Publication) []Publication {
	newest := make(map[string]Publication, len(pubs))
	for _, p := range pubs {
		if old, ok := newest[p.GroupID]; !ok || p.Order > old.Order {
			newest[p.GroupID] = p
		}
	}
	out := make([]Publication, 0, len(newest))
	for _, p := range newest {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b Publication) int { return cmp.Compare(a.GroupID, b.GroupID) })
	return out
}

// SyncStatus counts what waits in the outbox, and what the fleet job has left.
func (s *Store) SyncStatus(ctx context.Context) (SyncStatus, error) {
	var row struct {
		Depth  int64
		Oldest *int64
		Shards int64
	}
	err := s.read(ctx, func(db *gorm.DB) error {
		return db.Raw(`SELECT count(*) AS depth, min(created_at) AS oldest,
				(SELECT count(*) FROM fleet_shards WHERE ended < asked) AS shards
			FROM outbox`).Scan(&row).Error
	})
	return SyncStatus{OutboxDepth: row.Depth, Oldest: fromMicros(row.Oldest), FleetShards: row.Shards}, err
}
