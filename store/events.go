package store

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"
)

// ApplyEvents keeps the mutes and bans that the check script gave, with the positions to read on from, in one
// transaction. It may be called again with the same events, by any instance, in any order: a hold is taken only if it
// starts after the one that is kept.
func (s *Store) ApplyEvents(ctx context.Context, batches []EventBatch) error {
	mutes, bans := holdsOf(batches)
	batches = slices.SortedFunc(slices.Values(batches), func(a, b EventBatch) int { return cmp.Compare(a.Shard, b.Shard) })
	return s.write(ctx, func(t *tx) error {
		for chunk := range slices.Chunk(mutes, chunkSize) {
			args := make([]any, 0, len(chunk)*11)
			for _, m := range chunk {
				args = append(args, m.args()...)
			}
			if err := t.Exec(upsertMutes+places(len(chunk), 11)+replaceMute, args...).Error; err != nil {
				return err
			}
		}
		for chunk := range slices.Chunk(bans, chunkSize) {
			args := make([]any, 0, len(chunk)*7)
			for _, b := range chunk {
				args = append(args, b.args()...)
			}
			if err := t.Exec(upsertBans+places(len(chunk), 7)+replaceBan, args...).Error; err != nil {
				return err
			}
		}
		return t.moveCursors(batches)
	})
}

func (t *tx) moveCursors(batches []EventBatch) error {
	var args []any
	last := -1
	for _, b := range batches {
		if int(b.Shard) != last { // one row a shard; batches are one a shard
			args = append(args, b.Shard, b.Cursor)
		}
		last = int(b.Shard)
	}
	if args == nil {
		return nil
	}
	return t.Exec("INSERT INTO event_cursors (shard, cursor) VALUES "+places(len(args)/2, 2)+
		" ON CONFLICT (shard) DO UPDATE SET cursor = excluded.cursor", args...).Error
}

// holdsOf keeps the newest mute of each member and the newest ban of each member and action, sorted: one statement may
// touch a row once only, and one order for all instances rules out deadlocks.
func holdsOf(batches []EventBatch) ([]muteRow, []banRow) {
	mutes, bans := map[HoldKey]muteRow{}, map[HoldKey]banRow{}
	for _, batch := range batches {
		for _, e := range batch.Events {
			member := HoldKey{GroupID: e.GroupID, UserID: e.UserID}
			if e.MuteStartMS > mutes[member].StartMS {
				mutes[member] = muteRow{
					GroupID: e.GroupID, UserID: e.UserID, Shard: batch.Shard, StartMS: e.MuteStartMS,
					EndMS: e.MuteEndMS, Cause: e.Cause, Step: e.Step,
				}
			}
			action := HoldKey{GroupID: e.GroupID, Action: e.Action, UserID: e.UserID}
			if e.BanStartMS > bans[action].StartMS {
				bans[action] = banRow{
					GroupID: e.GroupID, Action: e.Action, UserID: e.UserID, Shard: batch.Shard,
					StartMS: e.BanStartMS, EndMS: e.BanEndMS,
				}
			}
		}
	}
	return inOrder(mutes), inOrder(bans)
}

func inOrder[R any](rows map[HoldKey]R) []R {
	keys := slices.SortedFunc(maps.Keys(rows), func(a, b HoldKey) int {
		return cmp.Or(cmp.Compare(a.GroupID, b.GroupID), cmp.Compare(a.Action, b.Action), cmp.Compare(a.UserID, b.UserID))
	})
	out := make([]R, 0, len(keys))
	for _, k := range keys {
		out = append(out, rows[k])
	}
	return out
}

// EventCursors reads the positions that the streams were read to, by shard; a shard never read is absent.
func (s *Store) EventCursors(ctx context.Context) (map[uint8]string, error) {
	var rows []struct {
		Shard  uint8
		Cursor string
	}
	err := s.read(ctx, func(db *gorm.DB) error {
		return db.Raw("SELECT shard, cursor FROM event_cursors").Scan(&rows).Error
	})
	out := make(map[uint8]string, len(rows))
	for _, r := range rows {
		out[r.Shard] = r.Cursor
	}
	return out, err
}

// ResetEventCursors forgets the positions of shards whose streams began anew. Reading events twice does no harm.
func (s *Store) ResetEventCursors(ctx context.Context, shards []uint8) error {
	if len(shards) == 0 {
		return nil
	}
	return s.write(ctx, func(t *tx) error {
		return t.Exec("DELETE FROM event_cursors WHERE shard IN ?", shardList(shards)).Error
	})
}

// holdMemory is how long ended holds are kept, so that a late event does not bring one back: the longest a hold lasts.
const holdMemory = 30 * 24 * time.Hour

// Cleanup deletes sessions that are over, idempotency keys of the day before, and holds that ended 30 days ago. It is
// meant to run each minute or so.
func (s *Store) Cleanup(ctx context.Context) error {
	return s.write(ctx, func(t *tx) error {
		for _, table := range []string{"sessions", "idempotency_keys"} {
			if err := t.Exec("DELETE FROM "+table+" WHERE expires_at <= ?", t.now.UnixMicro()).Error; err != nil {
				return err
			}
		}
		over := t.now.Add(-portalKept).UnixMicro()
		if err := t.Exec("DELETE FROM portal_sessions WHERE expires_at <= ?", over).Error; err != nil {
			return err
		}
		forgotten := t.now.Add(-holdMemory).UnixMilli()
		if err := t.Exec("DELETE FROM mutes WHERE end_ms < ?", forgotten).Error; err != nil {
			return err
		}
		if err := t.Exec("DELETE FROM bans WHERE end_ms < ?", forgotten).Error; err != nil {
			return err
		}
		return t.forgetRefusals()
	})
}
