package store

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

type banRow struct {
	GroupID, Action, UserID string
	Shard                   uint8
	StartMS                 int64 `gorm:"column:start_ms"`
	EndMS                   int64 `gorm:"column:end_ms"`
	LiftedAt                *int64
	LiftedBy                string
}

func (r banRow) public() Ban {
	return Ban{
		GroupID: r.GroupID, Action: r.Action, UserID: r.UserID, StartMS: r.StartMS, EndMS: r.EndMS,
		LiftedAt: fromMicros(r.LiftedAt), LiftedBy: r.LiftedBy,
	}
}

func (r banRow) active(now time.Time) bool { return r.LiftedAt == nil && r.EndMS > now.UnixMilli() }

// json is the ban as audit entries show it.
func (r banRow) json() string {
	return asJSON(struct {
		Action string `json:"action"`
		UserID string `json:"user_id"`
		Start  string `json:"start"`
		Until  string `json:"until"`
	}{r.Action, r.UserID, jsonTime(time.UnixMilli(r.StartMS)), jsonTime(time.UnixMilli(r.EndMS))})
}

const (
	upsertBans = "INSERT INTO bans (group_id, action, user_id, shard, start_ms, end_ms, lifted_by) VALUES "

	replaceBan = ` ON CONFLICT (group_id, action, user_id) DO UPDATE SET start_ms = excluded.start_ms,
	end_ms = excluded.end_ms, lifted_at = NULL, lifted_by = '' WHERE excluded.start_ms > bans.start_ms`

	selectBan = "SELECT * FROM bans WHERE group_id = ? AND action = ? AND user_id = ?"
)

func (r banRow) args() []any {
	return []any{r.GroupID, r.Action, r.UserID, r.Shard, r.StartMS, r.EndMS, ""}
}

// LiftBan ends the ban that keeps a member from an action. CodeNotFound when no ban holds (or no group), CodeArchived.
func (s *Store) LiftBan(ctx context.Context, a Actor, groupID, action, userID string) (r Ban, err error) {
	err = s.write(ctx, func(t *tx) error {
		if _, err := t.lockLiveGroup(groupID); err != nil {
			return err
		}
		var row banRow
		if err := t.Raw(selectBan, groupID, action, userID).Scan(&row).Error; err != nil {
			return err
		}
		if !row.active(t.now) {
			return errNoBan()
		}
		r = t.liftBan(a, row).public()
		return nil
	})
	return r, err
}

func (t *tx) liftBan(a Actor, row banRow) banRow {
	e := entry{action: "ban.lift", target: row.Action + "/" + row.UserID, groupID: row.GroupID, before: row.json()}
	row.LiftedAt, row.LiftedBy = micros(t.now), a.Name
	t.finally("UPDATE bans SET lifted_at = ?, lifted_by = ? WHERE group_id = ? AND action = ? AND user_id = ?",
		row.LiftedAt, row.LiftedBy, row.GroupID, row.Action, row.UserID)
	t.audit(a, e)
	t.enqueue(Change{Kind: KindBan, GroupID: row.GroupID, Action: row.Action, UserID: row.UserID})
	return row
}

func errNoBan() error { return policy.Errorf(policy.CodeNotFound, "no such ban holds") }

// BanForPublish reads the record, lifted and ended ones too. CodeNotFound.
func (s *Store) BanForPublish(ctx context.Context, groupID, action, userID string) (Ban, error) {
	var row banRow
	err := s.read(ctx, func(db *gorm.DB) error {
		err := one(db.Raw(selectBan, groupID, action, userID), &row)
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return errNoBan()
		}
		return err
	})
	return row.public(), err
}

// ListBans pages the bans that hold in a group, by action and user id. CodeNotFound (group), CodeInvalid for a bad
// cursor.
func (s *Store) ListBans(ctx context.Context, groupID, cursor string, limit int) (Page[Ban], error) {
	key, err := decodeCursor("bans", cursor, 2)
	if err != nil {
		return Page[Ban]{}, err
	}
	if key == nil {
		key = []string{"", ""}
	}
	limit = pageLimit(limit)
	var rows []banRow
	err = s.read(ctx, func(db *gorm.DB) error {
		if err := groupExists(db, groupID); err != nil {
			return err
		}
		return db.Raw("SELECT * FROM bans WHERE group_id = ? AND (action, user_id) > (?, ?)"+activeHold+
			" ORDER BY action, user_id LIMIT ?", groupID, key[0], key[1], s.now().UnixMilli(), limit+1).Scan(&rows).Error
	})
	return pageOf(rows, limit, banRow.public, func(r banRow) string {
		return encodeCursor("bans", r.Action, r.UserID)
	}), err
}

// BansForPublish pages the bans that are not over, lifted ones too, in the shards (nil = all), by shard, group, action and
// user.
func (s *Store) BansForPublish(ctx context.Context, shards []uint8, after HoldKey, limit int) ([]Ban, error) {
	var rows []banRow
	err := s.read(ctx, func(db *gorm.DB) error {
		return db.Raw("SELECT * FROM bans WHERE shard IN ? AND (shard, group_id, action, user_id) > (?, ?, ?, ?)"+
			" AND end_ms > ? ORDER BY shard, group_id, action, user_id LIMIT ?", shardList(shards),
			after.shard(), after.GroupID, after.Action, after.UserID, s.now().UnixMilli(), limit).Scan(&rows).Error
	})
	out := make([]Ban, 0, len(rows))
	for _, r := range rows {
		out = append(out, r.public())
	}
	return out, err
}
