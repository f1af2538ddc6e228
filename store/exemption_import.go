package store

import (
	"context"

	"github.com/pacekeeper/pacekeeper/policy"
)

// ExemptionImport is many entries to put at once.
type ExemptionImport struct {
	Match Match // of the collection's counter
	Once  Once
	// Strict puts all or nothing: any fault refuses the import.
	Strict bool
	// Read gives the entries to put, each user once (UserID, ExpiresAt and Note count), and the faults of those that cannot
	// be put. It is called once the precondition holds. Its error refuses the import.
	Read func() ([]Exemption, []policy.FieldError, error)
}

// ImportResult counts what became of the entries. Version is the collection's counter afterwards; an import of any size
// moves it by one, one that changes nothing does not.
type ImportResult struct {
	Version   int64
	Added     int64
	Updated   int64
	Unchanged int64
	Faults    []policy.FieldError // of the entries left out
}

// ImportExemptions puts many entries in one transaction, with an audit entry for each that changes. CodeNotFound,
// CodeArchived, CodeStale, CodeKeyReused; CodeInvalid for a fault if it is strict, and if the group would have more
// entries than the bounds allow: then nothing is put.
func (s *Store) ImportExemptions(ctx context.Context, a Actor, groupID string, in ExemptionImport) (r ImportResult, err error) {
	err = s.writeBulk(ctx, func(t *tx) error {
		r, err = once(t, in.Once, func() (ImportResult, error) { return t.importExemptions(a, groupID, in) })
		return err
	})
	return r, err
}

func (t *tx) importExemptions(a Actor, groupID string, in ExemptionImport) (ImportResult, error) {
	g, err := t.lockLiveGroup(groupID)
	if err != nil {
		return ImportResult{}, err
	}
	if !in.Match.fits(g.ExemptionsVersion) {
		return ImportResult{}, errStale("the exemptions")
	}
	entries, faults, err := in.Read()
	if err != nil {
		return ImportResult{}, err
	}
	if in.Strict && len(faults) > 0 {
		return ImportResult{}, &policy.Error{Code: policy.CodeInvalid, Message: "the import is not valid", Fields: faults}
	}
	r, err := t.putExemptions(a, g, entries)
	r.Faults = faults
	return r, err
}

// exemptionPuts are the entries that change something, with what the audit says of them.
type exemptionPuts struct {
	entries []Exemption
	users   []string
	audit   []entry
}

// putExemptions puts entries, each of another user, and writes an audit entry for each that changes.
func (t *tx) putExemptions(a Actor, g groupRow, entries []Exemption) (ImportResult, error) {
	r := ImportResult{Version: g.ExemptionsVersion}
	before, err := t.exemptionsOf(g.ID, entries)
	if err != nil {
		return r, err
	}
	var puts exemptionPuts
	for _, e := range entries {
		e.ExpiresAt, e.GrantedBy, e.GrantedAt = cut(e.ExpiresAt), a.Name, t.now
		was, known := before[e.UserID]
		switch {
		case known && was.same(e):
			r.Unchanged++
		case known:
			r.Updated++
			puts.add(e, entry{action: "exemption.update", target: e.UserID, groupID: g.ID, before: was.json(), after: e.json()})
		default:
			r.Added++
			puts.add(e, entry{action: "exemption.add", target: e.UserID, groupID: g.ID, after: e.json()})
		}
	}
	if len(puts.entries) == 0 {
		return r, nil
	}
	r.Version++
	return r, t.savePuts(a, g, r.Added, puts)
}

func (p *exemptionPuts) add(e Exemption, change entry) {
	p.entries, p.users, p.audit = append(p.entries, e), append(p.users, e.UserID), append(p.audit, change)
}

// savePuts writes what changed, if the group may have so many more.
func (t *tx) savePuts(a Actor, g groupRow, added int64, puts exemptionPuts) error {
	if added > 0 {
		if err := t.roomFor(g.ExemptionsCount + added); err != nil {
			return err
		}
	}
	if err := t.upsertExemptions(g.ID, puts.entries); err != nil {
		return err
	}
	if err := t.auditAll(a, puts.audit); err != nil {
		return err
	}
	return t.moveExemptions(g, added, puts.users)
}

// exemptionsOf reads what there is of the entries' users; where they are many, all of the group.
func (t *tx) exemptionsOf(groupID string, entries []Exemption) (map[string]Exemption, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	sql, args := selectExemption, []any{groupID}
	if len(entries) <= chunkSize {
		users := make([]string, 0, len(entries))
		for _, e := range entries {
			users = append(users, e.UserID)
		}
		sql, args = sql+" AND user_id IN ?", append(args, users)
	}
	var rows []exemptionRow
	if err := t.Raw(sql, args...).Scan(&rows).Error; err != nil {
		return nil, err
	}
	before := make(map[string]Exemption, len(rows))
	for _, row := range rows {
		before[row.UserID] = row.public()
	}
	return before, nil
}

func (t *tx) upsertExemptions(groupID string, entries []Exemption) error {
	text := func(name string, get func(*Exemption) string) column { return columnOf(entries, name, "text", get) }
	return t.insertAll("exemptions", len(entries), `ON CONFLICT (group_id, user_id) DO UPDATE SET
			expires_at = excluded.expires_at, note = excluded.note, granted_by = excluded.granted_by,
			granted_at = excluded.granted_at`,
		text("group_id", func(*Exemption) string { return groupID }),
		text("user_id", func(e *Exemption) string { return e.UserID }),
		columnOf(entries, "expires_at", "bigint", func(e *Exemption) *int64 { return micros(e.ExpiresAt) }),
		text("note", func(e *Exemption) string { return e.Note }),
		text("granted_by", func(e *Exemption) string { return e.GrantedBy }),
		columnOf(entries, "granted_at", "bigint", func(e *Exemption) int64 { return e.GrantedAt.UnixMicro() }))
}
