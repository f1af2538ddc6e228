package store

import (
	"context"
	"errors"
	"time"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

type muteRow struct {
	GroupID, UserID string
	Shard           uint8
	StartMS         int64 `gorm:"column:start_ms"`
	EndMS           int64 `gorm:"column:end_ms"`
	Cause           string
	Step            int64
	By, Reason      string
	LiftedAt        *int64
	LiftedBy        string
}

func (r muteRow) public() Mute {
	return Mute{
		GroupID: r.GroupID, UserID: r.UserID, StartMS: r.StartMS, EndMS: r.EndMS, Cause: r.Cause, Step: r.Step,
		By: r.By, Reason: r.Reason, LiftedAt: fromMicros(r.LiftedAt), LiftedBy: r.LiftedBy,
	}
}

func (r muteRow) active(now time.Time) bool { return r.LiftedAt == nil && r.EndMS > now.UnixMilli() }

// json is the mute as audit entries show it.
func (r muteRow) json() string {
	return asJSON(struct {
		UserID string `json:"user_id"`
		Start  string `json:"start"`
		Until  string `json:"until"`
		Cause  string `json:"cause"`
		Step   int64  `json:"step,omitempty"`
		By     string `json:"by,omitempty"`
		Reason string `json:"reason,omitempty"`
	}{r.UserID, jsonTime(time.UnixMilli(r.StartMS)), jsonTime(time.UnixMilli(r.EndMS)), r.Cause, r.Step, r.By, r.Reason})
}

const activeHold = " AND lifted_at IS NULL AND end_ms > ?"

// PutMute mutes a member until in.EndMS, over whatever mute there is; the same again changes nothing. m names StartMS of
// the mute that holds, 0 for none. CodeNotFound (group), CodeArchived, CodeStale; CodeInvalid for a bad id or a past end.
func (s *Store) PutMute(ctx context.Context, a Actor, groupID, userID string, m Match, in MuteInput) (r Mute, err error) {
	if err := policy.CheckID("/user_id", userID); err != nil {
		return r, err
	}
	err = s.write(ctx, func(t *tx) error {
		old, held, err := t.lockMute(groupID, userID, m)
		if err != nil {
			return err
		}
		if held && old.Cause == CauseModerator && old.EndMS == in.EndMS && old.Reason == in.Reason {
			r = old.public()
			return nil
		}
		if in.EndMS <= t.now.UnixMilli() {
			return errPastEnd()
		}
		row := muteRow{
			GroupID: groupID, UserID: userID, Shard: shardOf(groupID), EndMS: in.EndMS, Cause: CauseModerator,
			// Redis takes a mute only if it starts after the one it has.
			StartMS: max(t.now.UnixMilli(), old.StartMS+1), By: a.Name, Reason: in.Reason,
		}
		r = row.public()
		t.putMute(a, old, held, row)
		return nil
	})
	return r, err
}

func errPastEnd() error {
	return &policy.Error{Code: policy.CodeInvalid, Message: "the mute would be over already", Fields: []policy.FieldError{
		{Pointer: "/until", Code: "range", Detail: "the end of a mute lies in the future"},
	}}
}

// lockMute reads the record under the group's lock, whose absence is CodeNotFound, and says whether it holds.
func (t *tx) lockMute(groupID, userID string, m Match) (row muteRow, held bool, err error) {
	if _, err = t.lockLiveGroup(groupID); err != nil {
		return row, false, err
	}
	err = t.Raw("SELECT * FROM mutes WHERE group_id = ? AND user_id = ?", groupID, userID).Scan(&row).Error
	if err != nil {
		return row, false, err
	}
	held = row.active(t.now)
	if (held && !m.fits(row.StartMS)) || (!held && !m.fits(0)) {
		return row, held, errStale("the mute")
	}
	return row, held, nil
}

const upsertMutes = `INSERT INTO mutes (group_id, user_id, shard, start_ms, end_ms, cause, step, by, reason, lifted_at,
	lifted_by) VALUES `

const replaceMute = ` ON CONFLICT (group_id, user_id) DO UPDATE SET start_ms = excluded.start_ms,
	end_ms = excluded.end_ms, cause = excluded.cause, step = excluded.step, by = excluded.by, reason = excluded.reason,
	lifted_at = NULL, lifted_by = '' WHERE excluded.start_ms > mutes.start_ms`

func (r muteRow) args() []any {
	return []any{
		r.GroupID, r.UserID, r.Shard, r.StartMS, r.EndMS, r.Cause, r.Step, r.By, r.Reason, r.LiftedAt, r.LiftedBy,
	}
}

func (t *tx) putMute(a Actor, old muteRow, held bool, row muteRow) {
	t.finally(upsertMutes+places(1, 11)+replaceMute, row.args()...)
	e := entry{action: "mute.put", target: row.UserID, groupID: row.GroupID, after: row.json()}
	if held {
		e.before = old.json()
	}
	t.audit(a, e)
	t.enqueue(Change{Kind: KindMute, GroupID: row.GroupID, UserID: row.UserID})
}

// LiftMute ends the mute that holds a member. The record keeps its start, so that late events and rebuilds do not bring
// it back. m names StartMS. CodeNotFound when no mute holds, CodeArchived, CodeStale.
func (s *Store) LiftMute(ctx context.Context, a Actor, groupID, userID string, m Match) (r Mute, err error) {
	err = s.write(ctx, func(t *tx) error {
		row, held, err := t.lockMute(groupID, userID, m)
		if !held && (err == nil || isStale(err)) {
			return errNoMute()
		}
		if err != nil {
			return err
		}
		lifted := row
		lifted.LiftedAt, lifted.LiftedBy = micros(t.now), a.Name
		r = lifted.public()
		t.finally("UPDATE mutes SET lifted_at = ?, lifted_by = ? WHERE group_id = ? AND user_id = ?",
			lifted.LiftedAt, lifted.LiftedBy, groupID, userID)
		t.audit(a, entry{action: "mute.lift", target: userID, groupID: groupID, before: row.json()})
		t.enqueue(Change{Kind: KindMute, GroupID: groupID, UserID: userID})
		return nil
	})
	return r, err
}

func errNoMute() error { return policy.Errorf(policy.CodeNotFound, "no mute holds this member") }

func isStale(err error) bool {
	var known *policy.Error
	return errors.As(err, &known) && known.Code == policy.CodeStale
}

// Mute reads the mute that holds a member. CodeNotFound when none does.
func (s *Store) Mute(ctx context.Context, groupID, userID string) (Mute, error) {
	now := s.now()
	m, err := s.MuteForPublish(ctx, groupID, userID)
	if err == nil && (!m.LiftedAt.IsZero() || m.EndMS <= now.UnixMilli()) {
		err = errNoMute()
	}
	return m, err
}

// MuteForPublish reads the record of a member, lifted and ended ones too. CodeNotFound.
func (s *Store) MuteForPublish(ctx context.Context, groupID, userID string) (Mute, error) {
	var row muteRow
	err := s.read(ctx, func(db *gorm.DB) error {
		err := one(db.Raw("SELECT * FROM mutes WHERE group_id = ? AND user_id = ?", groupID, userID), &row)
		if errors.Is(err, gorm.ErrRecordNotFound) {
			return errNoMute()
		}
		return err
	})
	return row.public(), err
}

// ListMutes pages the mutes that hold in a group, by user id. CodeNotFound (group), CodeInvalid for a bad cursor.
func (s *Store) ListMutes(ctx context.Context, groupID, cursor string, limit int) (Page[Mute], error) {
	key, err := decodeCursor("mutes", cursor, 1)
	if err != nil {
		return Page[Mute]{}, err
	}
	after := ""
	if key != nil {
		after = key[0]
	}
	limit = pageLimit(limit)
	var rows []muteRow
	err = s.read(ctx, func(db *gorm.DB) error {
		if err := groupExists(db, groupID); err != nil {
			return err
		}
		return db.Raw("SELECT * FROM mutes WHERE group_id = ? AND user_id > ?"+activeHold+" ORDER BY user_id LIMIT ?",
			groupID, after, s.now().UnixMilli(), limit+1).Scan(&rows).Error
	})
	return pageOf(rows, limit, muteRow.public, func(r muteRow) string { return encodeCursor("mutes", r.UserID) }), err
}

// MutesForPublish pages the mutes that are not over, lifted ones too, in the shards (nil = all), by shard, group and user.
func (s *Store) MutesForPublish(ctx context.Context, shards []uint8, after HoldKey, limit int) ([]Mute, error) {
	var rows []muteRow
	err := s.read(ctx, func(db *gorm.DB) error {
		return db.Raw("SELECT * FROM mutes WHERE shard IN ? AND (shard, group_id, user_id) > (?, ?, ?) AND end_ms > ?"+
			" ORDER BY shard, group_id, user_id LIMIT ?",
			shardList(shards), after.shard(), after.GroupID, after.UserID, s.now().UnixMilli(), limit).Scan(&rows).Error
	})
	out := make([]Mute, 0, len(rows))
	for _, r := range rows {
		out = append(out, r.public())
	}
	return out, err
}

// shard is the shard of the position; -1 before the first.
func (k HoldKey) shard() int {
	if k.GroupID == "" {
		return -1
	}
	return int(shardOf(k.GroupID))
}
