package store

import (
	"context"
	"slices"

	"github.com/pacekeeper/pacekeeper/policy"
)

// eraseBatch bounds the audit entries that one transaction erases.
const eraseBatch = 500

// ErasePerson removes a person from the database: exemptions, mutes, bans, sessions; his name where he did something or
// somebody wrote of him; what audit entries say of him. The chain of the log still verifies, and says which entries are
// erased. Each batch writes one entry, person.erase, which says how much and names nobody. Nothing found, nothing written.
// What servers write meanwhile is found by another call. CodeInvalid for a bad id, and for a reason that names it.
func (s *Store) ErasePerson(ctx context.Context, a Actor, userID string) (erased Traces, err error) {
	if policy.MentionsID(a.Reason, userID) || a.Name == userID {
		return erased, policy.Errorf(policy.CodeInvalid, "the reason of an erasure must not name whom it erases")
	}
	found, entries, err := s.tracesOf(ctx, userID)
	if err != nil || !found.Any() {
		return found, err
	}
	for first := true; first || len(entries) > 0; first = false {
		batch := entries[:min(len(entries), eraseBatch)]
		entries = entries[len(batch):]
		var part Traces
		err := s.write(ctx, func(t *tx) error {
			part, err = t.erase(a, userID, batch, first)
			return err
		})
		if err != nil {
			return erased, err
		}
		erased.Add(part)
	}
	erased.Documents = found.Documents
	return erased, nil
}

// erase erases entries, with all else before the first of them, and writes what it erased into the log.
func (t *tx) erase(a Actor, userID string, entries []int64, rows bool) (erased Traces, err error) {
	if rows {
		if erased, err = t.eraseRows(userID); err != nil {
			return erased, err
		}
	}
	erased.Entries = int64(len(entries))
	record, err := t.store.record(a, entry{action: policy.AuditErase, target: "person", after: erased.json()}, t.now)
	if err != nil {
		return erased, err
	}
	t.insertRecord(record)
	return erased, t.eraseEntries(userID, entries, record.ID)
}

// json is what an erasure removed, as its audit entry shows it.
func (t Traces) json() string {
	return asJSON(struct {
		Exemptions int64 `json:"exemptions"`
		Mutes      int64 `json:"mutes"`
		Bans       int64 `json:"bans"`
		Sessions   int64 `json:"sessions"`
		Mentions   int64 `json:"mentions"`
		Entries    int64 `json:"entries"`
	}{t.Exemptions, t.Mutes, t.Bans, t.Sessions, t.Mentions, t.Entries})
}

func (t *tx) eraseRows(userID string) (erased Traces, err error) {
	if erased.Exemptions, err = t.eraseExemptions(userID); err != nil {
		return erased, err
	}
	for table, count := range map[string]*int64{"mutes": &erased.Mutes, "bans": &erased.Bans, "portal_sessions": &erased.Sessions} {
		done := t.Exec("DELETE FROM "+table+" WHERE user_id = ?", userID)
		if done.Error != nil {
			return erased, done.Error
		}
		*count = done.RowsAffected
	}
	for _, m := range mentions() {
		texts, _, err := t.store.textsNaming(t.DB, m, userID)
		if err != nil {
			return erased, err
		}
		for chunk := range slices.Chunk(texts, chunkSize) {
			done := t.Exec("UPDATE "+m.table+" SET "+m.column+" = ? WHERE "+m.column+" IN ?", ErasedName, chunk)
			if done.Error != nil {
				return erased, done.Error
			}
			erased.Mentions += done.RowsAffected
		}
	}
	return erased, t.eraseKept(userID, &erased)
}

// eraseKept deletes sessions, and answers that were kept to be given again.
func (t *tx) eraseKept(userID string, erased *Traces) error {
	sessions, err := sessionsNaming(t.DB, userID)
	if err != nil {
		return err
	}
	for _, token := range sessions {
		if err := t.Exec("DELETE FROM sessions WHERE token = ?", token).Error; err != nil {
			return err
		}
	}
	keys, err := keysNaming(t.DB, userID)
	if err != nil {
		return err
	}
	for _, k := range keys {
		err := t.Exec("DELETE FROM idempotency_keys WHERE principal = ? AND operation = ? AND key = ?", k.Principal, k.Operation, k.Key).Error
		if err != nil {
			return err
		}
	}
	erased.Sessions, erased.Mentions = erased.Sessions+int64(len(sessions)), erased.Mentions+int64(len(keys))
	return nil
}

// eraseExemptions removes a person's exemptions and tells Redis, which gets the whole collections: what their last changes
// were is forgotten, for it names him.
func (t *tx) eraseExemptions(userID string) (int64, error) {
	var groups []struct {
		ID      string
		Version int64
	}
	err := t.Raw(`UPDATE groups SET exemptions_version = exemptions_version + 1, exemptions_count = exemptions_count - 1
		WHERE id IN (SELECT group_id FROM exemptions WHERE user_id = ?) RETURNING id, exemptions_version AS version`, userID).
		Scan(&groups).Error
	if err != nil {
		return 0, err
	}
	for _, sql := range [...]string{
		"DELETE FROM exemptions WHERE user_id = ?",
		"DELETE FROM exemption_changes WHERE group_id IN (SELECT group_id FROM exemption_changes WHERE user_id = ?)",
	} {
		if err := t.Exec(sql, userID).Error; err != nil {
			return 0, err
		}
	}
	for _, g := range groups {
		t.enqueue(Change{Kind: KindExemptions, GroupID: g.ID, Version: g.Version})
	}
	return int64(len(groups)), nil
}

// entriesNaming are the numbers of the audit entries that name a person, all sealed.
func (s *Store) entriesNaming(ctx context.Context, userID string) (seqs []int64, err error) {
	x, err := s.ExportAudit(ctx, AuditQuery{})
	if err != nil {
		return nil, err
	}
	for !x.Done() {
		page, err := x.Next(ctx)
		if err != nil {
			return nil, err
		}
		for _, r := range page {
			if who, what := r.NamesID(userID); who || what {
				seqs = append(seqs, r.Seq)
			}
		}
	}
	return seqs, nil
}

func (t *tx) eraseEntries(userID string, seqs []int64, erasure string) error {
	if len(seqs) == 0 {
		return nil
	}
	rows, err := auditRecords(t.DB, 0, "WHERE seq IN ?", seqs)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := t.eraseEntry(r, userID, erasure); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) eraseEntry(r policy.AuditRecord, userID, erasure string) error {
	who, what := r.NamesID(userID)
	if who {
		seal := r.EraseWho(t.store.cfg.AuditKey, erasure).Who
		err := t.Exec(`UPDATE audit_entries SET actor = '', address = '', who_salt = NULL, who_digest = ?, who_erasure = ?
			WHERE id = ?`, seal.Digest, seal.Erasure, r.ID).Error
		if err != nil {
			return err
		}
	}
	if !what {
		return nil
	}
	seal := r.EraseWhat(t.store.cfg.AuditKey, erasure).What
	return t.Exec(`UPDATE audit_entries SET target = '', before = '', after = '', reason = '', changed = '', what_salt = NULL,
		what_digest = ?, what_erasure = ? WHERE id = ?`, seal.Digest, seal.Erasure, r.ID).Error
}
