package store

import (
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

// readConfig reads what a plan looks at: the system, the groups that the files name or the scope of removals holds, and of
// their exemptions those that are named, or all where some may be removed.
func (s *Store) readConfig(db *gorm.DB, in ConfigInput, system func(*gorm.DB) (*policy.System, error)) (st configState, err error) {
	st.rows, st.entries = make(map[string]groupRow, len(in.Config.Groups)), make(map[exemptionKey]exemptionRow)
	st.config = in.Config
	if st.System, err = system(db); err != nil {
		return st, err
	}
	for _, g := range in.Config.Groups {
		st.asked = append(st.asked, g.ID)
	}
	if err := st.readGroups(db, in.Prune); err != nil {
		return st, err
	}
	if err := st.readNamed(db, in); err != nil {
		return st, err
	}
	return st, st.readWhole(db, in)
}

func (st configState) readGroups(db *gorm.DB, prune policy.ConfigPrune) error {
	ids := slices.Clone(st.asked)
	if prune.Any() && prune.All {
		var all []string
		if err := db.Raw("SELECT id FROM groups WHERE archived_at IS NULL").Scan(&all).Error; err != nil {
			return err
		}
		ids = append(ids, all...)
	}
	if prune.Any() {
		ids = append(ids, prune.Groups...)
	}
	slices.Sort(ids)
	for chunk := range slices.Chunk(slices.Compact(ids), chunkSize) {
		var rows []groupRow
		if err := db.Raw("SELECT * FROM groups WHERE id IN ?", chunk).Scan(&rows).Error; err != nil {
			return err
		}
		for _, r := range rows {
			st.rows[r.ID] = r
		}
	}
	return nil
}

type groupExemptionRow struct {
	GroupID string
	Row     exemptionRow `gorm:"embedded"`
}

const selectExemptions = "SELECT group_id, user_id, expires_at, note, granted_by, granted_at FROM exemptions WHERE "

// readNamed reads the exemptions that the files name.
func (st configState) readNamed(db *gorm.DB, in ConfigInput) error {
	var pairs [][2]string
	for _, g := range in.Config.Groups {
		if in.Prune.Exemptions && in.Prune.Covers(g.ID, true) {
			continue
		}
		for _, e := range g.Exemptions {
			pairs = append(pairs, [2]string{g.ID, e.UserID})
		}
	}
	for chunk := range slices.Chunk(pairs, chunkSize) {
		args := make([]any, 0, 2*len(chunk))
		for _, pair := range chunk {
			args = append(args, pair[0], pair[1])
		}
		if err := st.readExemptions(db, "(group_id, user_id) IN (VALUES "+places(len(chunk), 2)+")", args...); err != nil {
			return err
		}
	}
	return nil
}

// readWhole reads the collections of the groups of which some may be removed.
func (st configState) readWhole(db *gorm.DB, in ConfigInput) error {
	if !in.Prune.Exemptions {
		return nil
	}
	var ids []string
	for id := range st.rows {
		if _, named := slices.BinarySearch(st.asked, id); in.Prune.Covers(id, named) {
			ids = append(ids, id)
		}
	}
	for chunk := range slices.Chunk(ids, chunkSize) {
		if err := st.readExemptions(db, "group_id IN ?", chunk); err != nil {
			return err
		}
	}
	return nil
}

func (st configState) readExemptions(db *gorm.DB, where string, args ...any) error {
	var rows []groupExemptionRow
	if err := db.Raw(selectExemptions+where, args...).Scan(&rows).Error; err != nil {
		return err
	}
	for _, r := range rows {
		st.entries[exemptionKey{r.GroupID, r.Row.UserID}] = r.Row
	}
	return nil
}

// fill puts the rows into the form that policy plans with.
func (st *configState) fill() error {
	st.Groups = make(map[string]policy.GroupState, len(st.rows))
	for id, r := range st.rows {
		doc, err := parseStored(id, r.Document)
		if err != nil {
			return err
		}
		st.Groups[id] = policy.GroupState{
			Archived: r.ArchivedAt != nil, Name: r.Name, Locale: r.Locale, Document: doc,
			ExemptionsCount: r.ExemptionsCount, Exemptions: map[string]policy.ExemptionConfig{},
		}
	}
	for key, r := range st.entries {
		if g, registered := st.Groups[key.group]; registered {
			g.Exemptions[key.user] = r.stated()
		}
	}
	return nil
}

// stated is the exemption as files state it.
func (r exemptionRow) stated() policy.ExemptionConfig {
	var expires time.Time
	if r.ExpiresAt != nil {
		expires = time.UnixMicro(*r.ExpiresAt).UTC()
	}
	return policy.ExemptionConfig{UserID: r.UserID, ExpiresAt: expires, Note: r.Note}
}
