package store

import (
	"bytes"
	"context"
	"encoding/gob"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

// Traces counts where the database names a person.
type Traces struct {
	Exemptions int64
	Mutes      int64
	Bans       int64
	Sessions   int64 // of the pages
	Mentions   int64 // rows of others that name him as who did something, or in a note or a reason; and what was kept to answer again
	Entries    int64 // of the audit log
	// Documents are the groups whose document, in force or in a version, names him in a notice. An erasure leaves them:
	// what members read is for people to write.
	Documents []string
}

// Any says whether there is anything that an erasure removes.
func (t Traces) Any() bool {
	return t.Exemptions+t.Mutes+t.Bans+t.Sessions+t.Mentions+t.Entries > 0
}

// Add adds the counts of another look.
func (t *Traces) Add(more Traces) {
	t.Exemptions, t.Mutes, t.Bans = t.Exemptions+more.Exemptions, t.Mutes+more.Mutes, t.Bans+more.Bans
	t.Sessions, t.Mentions, t.Entries = t.Sessions+more.Sessions, t.Mentions+more.Mentions, t.Entries+more.Entries
	t.Documents = more.Documents
}

// ErasedName stands where a name stood. Nobody can have it as his id there: it is not that of a member.
const ErasedName = "erased"

// mention is a column that may name a person.
type mention struct {
	table, column string
	free          bool // text that people write; else a name alone
}

// owned says whether each row of the table is about one person.
func (m mention) owned() bool {
	return slices.Contains([]string{"exemptions", "mutes", "bans", "portal_sessions"}, m.table)
}

func mentions() []mention {
	return []mention{
		{"exemptions", "granted_by", false},
		{"exemptions", "note", true},
		{"mutes", "by", false},
		{"mutes", "lifted_by", false},
		{"mutes", "reason", true},
		{"bans", "lifted_by", false},
		{"policy_versions", "actor", false},
		{"policy_versions", "reason", true},
		{"bounds_versions", "actor", false},
		{"bounds_versions", "reason", true},
		{"defaults_versions", "actor", false},
		{"defaults_versions", "reason", true},
		{"tokens", "name", false},
		{"tokens", "created_by", false},
		{"portal_sessions", "created_by", false},
	}
}

// TracesOf looks for a person by his id, everywhere in the database; it changes nothing. It reads whole tables and the
// whole audit log: for commands, with a Timeout of minutes. CodeInvalid for a bad id.
func (s *Store) TracesOf(ctx context.Context, userID string) (found Traces, err error) {
	found, _, err = s.tracesOf(ctx, userID)
	return found, err
}

// tracesOf also gives the numbers of the entries.
func (s *Store) tracesOf(ctx context.Context, userID string) (found Traces, entries []int64, err error) {
	if err := policy.CheckID("/user_id", userID); err != nil {
		return found, nil, err
	}
	err = s.read(ctx, func(db *gorm.DB) error {
		found, err = s.countTraces(db, userID)
		return err
	})
	if err != nil {
		return found, nil, err
	}
	entries, err = s.entriesNaming(ctx, userID)
	found.Entries = int64(len(entries))
	return found, entries, err
}

func (s *Store) countTraces(db *gorm.DB, userID string) (found Traces, err error) {
	for table, count := range map[string]*int64{
		"exemptions": &found.Exemptions, "mutes": &found.Mutes, "bans": &found.Bans, "portal_sessions": &found.Sessions,
	} {
		if err := one(db.Raw("SELECT count(*) FROM "+table+" WHERE user_id = ?", userID), count); err != nil {
			return found, err
		}
	}
	for _, m := range mentions() {
		_, rows, err := s.textsNaming(db, m, userID)
		if err != nil {
			return found, err
		}
		found.Mentions += rows
	}
	kept, err := keysNaming(db, userID)
	if err != nil {
		return found, err
	}
	sessions, err := sessionsNaming(db, userID)
	if err != nil {
		return found, err
	}
	found.Mentions, found.Sessions = found.Mentions+int64(len(kept)), found.Sessions+int64(len(sessions))
	found.Documents, err = s.documentsNaming(db, userID)
	return found, err
}

// textsNaming are the texts of a column that name the person, and how many rows of others have one: his own are deleted, so
// they are counted as what they are.
func (s *Store) textsNaming(db *gorm.DB, m mention, userID string) (texts []string, rows int64, err error) {
	var found []struct {
		Text   string
		Amount int64
	}
	condition, args := m.column+" = ?", []any{userID}
	if m.free {
		condition = s.dialect.holds(m.column)
	}
	if m.owned() {
		condition, args = condition+" AND user_id <> ?", append(args, userID)
	}
	err = db.Raw("SELECT "+m.column+" AS text, count(*) AS amount FROM "+m.table+" WHERE "+condition+" GROUP BY "+m.column, args...).
		Scan(&found).Error
	for _, f := range found {
		if !m.free || policy.MentionsID(f.Text, userID) {
			texts, rows = append(texts, f.Text), rows+f.Amount
		}
	}
	return texts, rows, err
}

// keptKey is an answer that is kept for an Idempotency-Key.
type keptKey struct{ Principal, Operation, Key, Result string }

func keysNaming(db *gorm.DB, userID string) (keys []keptKey, err error) {
	err = db.Raw("SELECT principal, operation, key, result FROM idempotency_keys").Scan(&keys).Error
	return slices.DeleteFunc(keys, func(k keptKey) bool { return !strings.Contains(k.Result+k.Operation, userID) }), err
}

// sessionsNaming are the sessions that hold the id.
func sessionsNaming(db *gorm.DB, userID string) (tokens []string, err error) {
	var rows []struct {
		Token string
		Data  []byte
	}
	err = db.Raw("SELECT token, data FROM sessions").Scan(&rows).Error
	for _, r := range rows {
		if sessionNames(r.Data, userID) {
			tokens = append(tokens, r.Token)
		}
	}
	return tokens, err
}

// sessionNames looks into a session as the pages' session manager writes it; one that cannot be read counts if the id is
// anywhere in it.
func sessionNames(data []byte, userID string) bool {
	var session struct {
		Deadline time.Time
		Values   map[string]any
	}
	if gob.NewDecoder(bytes.NewReader(data)).Decode(&session) != nil {
		return bytes.Contains(data, []byte(userID))
	}
	for _, value := range session.Values {
		list, _ := value.([]string)
		if value == userID || slices.Contains(list, userID) {
			return true
		}
	}
	return false
}

func (s *Store) documentsNaming(db *gorm.DB, userID string) (groups []string, err error) {
	var rows []struct{ ID, Document string }
	err = db.Raw("SELECT group_id AS id, document FROM policy_versions WHERE "+s.dialect.holds("document")+" ORDER BY group_id",
		userID).Scan(&rows).Error
	for _, r := range rows {
		if _, named := (policy.AuditRecord{Action: "policy.update", After: r.Document}).NamesID(userID); named && !slices.Contains(groups, r.ID) {
			groups = append(groups, r.ID)
		}
	}
	return groups, err
}
