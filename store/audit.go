package store

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
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
	(id, at, actor, role, channel, action, target, group_id, before, after, reason, request_id, address,
	who_salt, what_salt, mac, prev_hash, hash) `

// audit writes the entry of a change into the change's own transaction. The entry gets its number within a second, by
// SealAudit.
func (t *tx) audit(a Actor, e entry) {
	r, err := t.store.record(a, e, t.now)
	if err != nil {
		t.fault = err
		return
	}
	t.insertRecord(r)
}

func (t *tx) insertRecord(r policy.AuditRecord) {
	t.finally(insertAudit+"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', '')",
		r.ID, r.AtMicros, r.Actor, r.Role, r.Channel, r.Action, r.Target, r.GroupID, r.Before, r.After, r.Reason, r.RequestID,
		r.Address, r.Who.Salt, r.What.Salt, r.MAC)
}

// record makes the entry with its salts and its MAC: a few microseconds, and nothing that another writer waits for.
func (s *Store) record(a Actor, e entry, at time.Time) (policy.AuditRecord, error) {
	salts := make([]byte, 2*policy.AuditSaltBytes)
	if _, err := io.ReadFull(s.cfg.Random, salts); err != nil {
		return policy.AuditRecord{}, fmt.Errorf("store: no randomness for the salts of an audit entry: %w", err)
	}
	r := policy.AuditRecord{
		ID: s.cfg.NewID(), AtMicros: at.UnixMicro(), Actor: a.Name, Role: a.Role, Channel: a.Channel, Action: e.action,
		Target: e.target, GroupID: e.groupID, Before: e.before, After: e.after, Reason: a.Reason, RequestID: a.RequestID,
		Address: a.Address, Who: policy.AuditSeal{Salt: salts[:policy.AuditSaltBytes]},
		What: policy.AuditSeal{Salt: salts[policy.AuditSaltBytes:]},
	}
	r.MAC = r.Sign(s.cfg.AuditKey)
	return r, nil
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

func showRecord(r policy.AuditRecord) AuditEntry {
	return AuditEntry{
		Seq: r.Seq, At: fromMicros(&r.AtMicros), Actor: r.Actor, Role: r.Role, Channel: r.Channel, Action: r.Action,
		Target: r.Target, GroupID: r.GroupID, Before: r.Before, After: r.After, Reason: r.Reason,
		RequestID: r.RequestID, Address: r.Address, Erased: r.Erased(), PrevHash: r.PrevHash, Hash: r.Hash,
	}
}

// ListAudit pages entries, newest first. It seals first, so that the page is complete. CodeInvalid for a bad cursor or
// filter.
func (s *Store) ListAudit(ctx context.Context, q AuditQuery) (Page[AuditEntry], error) {
	where, args, err := q.where(s.dialect)
	if err != nil {
		return Page[AuditEntry]{}, err
	}
	if _, err := s.SealAudit(ctx); err != nil {
		return Page[AuditEntry]{}, err
	}
	limit := pageLimit(q.Limit)
	var rows []policy.AuditRecord
	if q.Changed != "" {
		rows, err = s.changedEntries(ctx, q, limit+1)
	} else {
		rows, err = s.newestEntries(ctx, where, args, limit+1)
	}
	return pageOf(rows, limit, showRecord, func(r policy.AuditRecord) string {
		return encodeCursor("audit", strconv.FormatInt(r.Seq, 10))
	}), err
}

func (s *Store) newestEntries(ctx context.Context, where string, args []any, limit int) (rows []policy.AuditRecord, err error) {
	err = s.read(ctx, func(db *gorm.DB) error {
		rows, err = auditRecords(db, 0, "WHERE "+where+" ORDER BY seq DESC LIMIT ?", append(args, limit)...)
		return err
	})
	return rows, err
}

// AuditEntry reads one entry by its number. It seals first. CodeNotFound.
func (s *Store) AuditEntry(ctx context.Context, seq int64) (AuditEntry, error) {
	if _, err := s.SealAudit(ctx); err != nil {
		return AuditEntry{}, err
	}
	var rows []policy.AuditRecord
	err := s.read(ctx, func(db *gorm.DB) (err error) {
		rows, err = auditRecords(db, 0, "WHERE seq = ?", seq)
		return err
	})
	if err != nil {
		return AuditEntry{}, err
	}
	if len(rows) == 0 {
		return AuditEntry{}, policy.Errorf(policy.CodeNotFound, "there is no audit entry %d", seq)
	}
	return showRecord(rows[0]), nil
}

// check names every filter that could select nothing whatever the log holds: a misspelt one must not look like an answer.
func (q AuditQuery) check() error {
	var fields []policy.FieldError
	refuse := func(filter, code, detail string) {
		fields = append(fields, policy.FieldError{Pointer: "/" + filter, Code: code, Detail: detail})
	}
	if !slices.Contains([]string{"", RoleOperator, RoleAuditor, RolePlatform, RoleGateway, RoleGroupAdmin}, q.Role) {
		refuse("role", "unknown", "role is operator, auditor, platform, gateway or group_admin")
	}
	if !slices.Contains([]string{"", ChannelAPI, ChannelUI, ChannelApply, ChannelSystem}, q.Channel) {
		refuse("channel", "unknown", "channel is api, ui, apply or system")
	}
	if before, after, starred := strings.Cut(q.Action, "*"); strings.Trim(before, "abcdefghijklmnopqrstuvwxyz_.") != "" ||
		starred && (after != "" || !strings.HasSuffix(before, ".")) {
		refuse("action", "format", "action is one such as policy.update, or policy.* for all of a kind")
	}
	if q.Changed != "" && (!strings.HasPrefix(q.Changed, "/") || strings.ContainsAny(q.Changed, " \t\n") || strings.HasSuffix(q.Changed, "/")) {
		refuse("changed", "format", "changed is a JSON pointer such as /actions/message/window")
	}
	if !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To) {
		refuse("to", "range", "to lies after from")
	}
	if fields == nil {
		return nil
	}
	return &policy.Error{Code: policy.CodeInvalid, Message: "the filters cannot be used", Fields: fields}
}

// where builds the condition of a query; its columns are fixed words, its values parameters.
func (q AuditQuery) where(d dialect) (string, []any, error) {
	if err := q.check(); err != nil {
		return "", nil, err
	}
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
		add("action >= ?", kind)
		add("action < ?", kind+"~") // behind all letters and the dot
	} else if q.Action != "" {
		add("action = ?", q.Action)
	}
	if q.Changed != "" {
		add(d.hasWord("changed"), q.Changed)
	}
	if !q.From.IsZero() {
		add("at >= ?", q.From.UnixMicro())
	}
	if !q.To.IsZero() {
		add("at < ?", q.To.UnixMicro())
	}
	below, err := q.below()
	if below != math.MaxInt64 {
		add("seq < ?", below)
	}
	return strings.Join(conditions, " AND "), args, err
}

// below is the number below which the page begins.
func (q AuditQuery) below() (int64, error) {
	key, err := decodeCursor("audit", q.Cursor, 1)
	if err != nil || key == nil {
		return math.MaxInt64, err
	}
	seq, err := strconv.ParseInt(key[0], 10, 64)
	if err != nil {
		return 0, errCursor()
	}
	return seq, nil
}

// narrow says that the query has filters beside the changed field.
func (q AuditQuery) narrow() bool {
	q.Changed, q.Cursor, q.Limit = "", "", 0
	return q != AuditQuery{}
}
