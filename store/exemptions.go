package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

type exemptionRow struct {
	UserID    string
	ExpiresAt *int64
	Note      string
	GrantedBy string
	GrantedAt int64
}

func (r exemptionRow) public() Exemption {
	return Exemption{
		UserID: r.UserID, ExpiresAt: fromMicros(r.ExpiresAt), Note: r.Note, GrantedBy: r.GrantedBy,
		GrantedAt: fromMicros(&r.GrantedAt),
	}
}

// json is the exemption as audit entries show it; "" for nil.
func (e *Exemption) json() string {
	if e == nil {
		return ""
	}
	return asJSON(struct {
		UserID    string `json:"user_id"`
		ExpiresAt string `json:"expires_at,omitempty"`
		Note      string `json:"note"`
		GrantedBy string `json:"granted_by"`
		GrantedAt string `json:"granted_at"`
	}{e.UserID, jsonTime(e.ExpiresAt), e.Note, e.GrantedBy, jsonTime(e.GrantedAt)})
}

// same reports that putting other would change nothing.
func (e *Exemption) same(other Exemption) bool {
	return e.ExpiresAt.Equal(other.ExpiresAt) && e.Note == other.Note
}

// cut is a moment as both databases keep it.
func cut(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

const selectExemption = "SELECT user_id, expires_at, note, granted_by, granted_at FROM exemptions WHERE group_id = ?"

func findExemption(db *gorm.DB, groupID, userID string) (*Exemption, error) {
	var row exemptionRow
	err := one(db.Raw(selectExemption+" AND user_id = ?", groupID, userID), &row)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, nil //nolint:nilnil // absent is an answer here, and the callers' first question
	}
	e := row.public()
	return &e, err
}

// PutExemption adds an entry or replaces it (UserID, ExpiresAt and Note of e count); the same again changes nothing. m
// names the collection's counter. CodeNotFound, CodeArchived, CodeStale; CodeInvalid for a bad id, and for a new entry
// when the group has as many as the bounds allow.
func (s *Store) PutExemption(ctx context.Context, a Actor, groupID string, m Match, e Exemption) (r ExemptionResult, err error) {
	if err := policy.CheckID("/user_id", e.UserID); err != nil {
		return r, err
	}
	e.ExpiresAt = cut(e.ExpiresAt)
	err = s.write(ctx, func(t *tx) error {
		g, err := t.lockLiveGroup(groupID)
		if err != nil {
			return err
		}
		r.Version = g.ExemptionsVersion
		if !m.fits(g.ExemptionsVersion) {
			return errStale("the exemptions")
		}
		before, err := findExemption(t.DB, groupID, e.UserID)
		if err != nil {
			return err
		}
		if before != nil && before.same(e) {
			r.Exemption = *before
			return nil
		}
		e.GrantedBy, e.GrantedAt = a.Name, t.now
		r = ExemptionResult{Exemption: e, Version: g.ExemptionsVersion + 1, Created: before == nil, Changed: true}
		return t.putExemption(a, g, before, e)
	})
	return r, err
}

func (t *tx) putExemption(a Actor, g groupRow, before *Exemption, e Exemption) error {
	action, added := "exemption.update", int64(0)
	if before == nil {
		action, added = "exemption.add", 1
		if err := t.roomFor(g.ExemptionsCount + 1); err != nil {
			return err
		}
	}
	t.finally(`INSERT INTO exemptions (group_id, user_id, expires_at, note, granted_by, granted_at)
			VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (group_id, user_id) DO UPDATE SET expires_at = excluded.expires_at,
			note = excluded.note, granted_by = excluded.granted_by, granted_at = excluded.granted_at`,
		g.ID, e.UserID, micros(e.ExpiresAt), e.Note, e.GrantedBy, e.GrantedAt.UnixMicro())
	return t.countExemptions(a, g, added, entry{
		action: action, target: e.UserID, groupID: g.ID, before: before.json(), after: e.json(),
	})
}

// roomFor refuses more entries than the bounds allow.
func (t *tx) roomFor(count int64) error {
	system, err := t.store.currentSystem(t.DB)
	if err != nil {
		return err
	}
	most := system.Bounds.ExemptionsMax
	if count <= most {
		return nil
	}
	return &policy.Error{
		Code: policy.CodeInvalid, Message: "the group has as many exemptions as it may",
		Fields: []policy.FieldError{{Code: "range", Detail: fmt.Sprintf("a group has at most %d exemptions; remove one first", most)}},
	}
}

// countExemptions moves the collection's counter, writes the audit entry of one change and tells Redis.
func (t *tx) countExemptions(a Actor, g groupRow, added int64, e entry) error {
	t.audit(a, e)
	return t.moveExemptions(g, added, []string{e.target})
}

// moveExemptions moves the collection's counter by one, whatever number of users changed, and tells Redis of them.
func (t *tx) moveExemptions(g groupRow, added int64, users []string) error {
	version := g.ExemptionsVersion + 1
	t.finally("UPDATE groups SET exemptions_version = ?, exemptions_count = exemptions_count + ? WHERE id = ?",
		version, added, g.ID)
	c := Change{Kind: KindExemptions, GroupID: g.ID, Version: version}
	if len(users) == 1 {
		c.UserID = users[0]
	}
	t.enqueue(t.store.newChange(t.store.now(), c)) // not the moment at which a long import began: its lease would be over
	return t.noteChanges(g.ID, version, users)
}

// RemoveExemption removes an entry and returns the collection's counter. CodeNotFound, CodeArchived, CodeStale.
func (s *Store) RemoveExemption(ctx context.Context, a Actor, groupID string, m Match, userID string) (version int64, err error) {
	err = s.write(ctx, func(t *tx) error {
		g, err := t.lockLiveGroup(groupID)
		if err != nil {
			return err
		}
		version = g.ExemptionsVersion + 1
		before, err := findExemption(t.DB, groupID, userID)
		if err != nil {
			return err
		}
		if before == nil {
			return errNoExemption()
		}
		if !m.fits(g.ExemptionsVersion) {
			return errStale("the exemptions")
		}
		t.finally("DELETE FROM exemptions WHERE group_id = ? AND user_id = ?", groupID, userID)
		return t.countExemptions(a, g, -1, entry{
			action: "exemption.remove", target: userID, groupID: groupID, before: before.json(),
		})
	})
	return version, err
}

func errNoExemption() error { return policy.Errorf(policy.CodeNotFound, "no such exemption") }

// Exemption reads one entry and the collection's counter. CodeNotFound.
func (s *Store) Exemption(ctx context.Context, groupID, userID string) (e Exemption, version int64, err error) {
	err = s.read(ctx, func(db *gorm.DB) error {
		if version, err = exemptionsVersion(db, groupID); err != nil {
			return err
		}
		found, err := findExemption(db, groupID, userID)
		if err == nil && found == nil {
			err = errNoExemption()
		}
		if err == nil {
			e = *found
		}
		return err
	})
	return e, version, err
}

func exemptionsVersion(db *gorm.DB, groupID string) (version int64, err error) {
	err = noGroup(one(db.Raw("SELECT exemptions_version FROM groups WHERE id = ?", groupID), &version))
	return version, err
}

// ListExemptions pages the entries of a group, expired ones too, by user id. CodeNotFound, CodeInvalid for a bad cursor.
func (s *Store) ListExemptions(ctx context.Context, groupID string, q ExemptionQuery) (p ExemptionPage, err error) {
	key, err := decodeCursor("exemptions", q.Cursor, 1)
	if err != nil {
		return p, err
	}
	sql, args := selectExemption, []any{groupID}
	if key != nil {
		sql, args = sql+" AND user_id > ?", append(args, key[0])
	}
	if q.Search != "" {
		sql += " AND (" + s.dialect.contains("user_id") + " OR " + s.dialect.contains("note") + ")"
		args = append(args, q.Search, q.Search)
	}
	limit := pageLimit(q.Limit)
	var rows []exemptionRow
	err = s.read(ctx, func(db *gorm.DB) error {
		if p.Version, err = exemptionsVersion(db, groupID); err != nil {
			return err
		}
		return db.Raw(sql+" ORDER BY user_id LIMIT ?", append(args, limit+1)...).Scan(&rows).Error
	})
	p.Page = pageOf(rows, limit, exemptionRow.public, func(r exemptionRow) string {
		return encodeCursor("exemptions", r.UserID)
	})
	return p, err
}
