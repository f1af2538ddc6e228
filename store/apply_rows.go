package store

import (
	"slices"
)

// lock locks the groups that change, in the order of their ids; errMoved if one is not as it was read.
func (w *configWriter) lock() error {
	known := make([]string, 0, len(w.changed))
	for _, g := range w.changed {
		if !g.fresh {
			known = append(known, g.before.ID)
		}
	}
	for chunk := range slices.Chunk(known, chunkSize) {
		var rows []groupRow
		err := w.Raw("SELECT id, revision, version, exemptions_version FROM groups WHERE id IN ? ORDER BY id"+
			w.store.dialect.forUpdate("groups"), chunk).Scan(&rows).Error
		if err != nil {
			return err
		}
		for _, r := range rows {
			was := w.state.rows[r.ID]
			if r.Revision != was.Revision || r.Version != was.Version || r.ExemptionsVersion != was.ExemptionsVersion {
				return errMoved
			}
		}
		if len(rows) != len(chunk) {
			return errMoved
		}
	}
	return nil
}

// insertGroups registers the new ones; errMoved if somebody else did so meanwhile.
func (w *configWriter) insertGroups() error {
	var fresh []groupRow
	for _, g := range w.changed {
		if g.fresh {
			fresh = append(fresh, g.after)
		}
	}
	for chunk := range slices.Chunk(fresh, applyChunk) {
		columns := append(groupColumns(chunk),
			columnOf(chunk, "shard", "smallint", func(r *groupRow) int64 { return int64(r.Shard) }),
			columnOf(chunk, "created_at", "bigint", func(r *groupRow) int64 { return r.CreatedAt }))
		if err := w.insertAll("groups", len(chunk), "", columns...); err != nil {
			if isConflict(err) {
				return errMoved
			}
			return err
		}
	}
	return nil
}

// groupColumns are the columns that an apply may change, the id first.
func groupColumns(rows []groupRow) []column {
	text := func(name string, get func(*groupRow) string) column { return columnOf(rows, name, "text", get) }
	number := func(name string, get func(*groupRow) int64) column { return columnOf(rows, name, "bigint", get) }
	return []column{
		text("id", func(r *groupRow) string { return r.ID }),
		text("name", func(r *groupRow) string { return r.Name }),
		text("locale", func(r *groupRow) string { return r.Locale }),
		number("revision", func(r *groupRow) int64 { return r.Revision }),
		number("version", func(r *groupRow) int64 { return r.Version }),
		text("document", func(r *groupRow) string { return r.Document }),
		number("exemptions_version", func(r *groupRow) int64 { return r.ExemptionsVersion }),
		number("exemptions_count", func(r *groupRow) int64 { return r.ExemptionsCount }),
		number("updated_at", func(r *groupRow) int64 { return r.UpdatedAt }),
	}
}

func (w *configWriter) updateGroups() error {
	var rows []groupRow
	for _, g := range w.changed {
		if !g.fresh {
			rows = append(rows, g.after)
		}
	}
	for chunk := range slices.Chunk(rows, applyChunk) {
		if err := w.updateAll("groups", len(chunk), groupColumns(chunk)...); err != nil {
			return err
		}
	}
	return nil
}

func (w *configWriter) insertVersions() error {
	documents := make(map[string]string, len(w.changed))
	for _, g := range w.changed {
		documents[g.after.ID] = g.after.Document
	}
	a := w.actor
	for rows := range slices.Chunk(w.versions, applyChunk) {
		same := func(name, value string) column {
			return columnOf(rows, name, "text", func(*Version) string { return value })
		}
		err := w.insertAll("policy_versions", len(rows), "",
			columnOf(rows, "group_id", "text", func(v *Version) string { return v.GroupID }),
			columnOf(rows, "version", "bigint", func(v *Version) int64 { return v.Version }),
			columnOf(rows, "kind", "text", func(v *Version) string { return v.Kind }),
			columnOf(rows, "document", "text", func(v *Version) string { return documents[v.GroupID] }),
			columnOf(rows, "at", "bigint", func(*Version) int64 { return w.now.UnixMicro() }),
			same("actor", a.Name), same("role", a.Role), same("channel", a.Channel), same("reason", a.Reason))
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *configWriter) putExemptions() error {
	for rows := range slices.Chunk(w.put, applyChunk) {
		text := func(name string, get func(*putExemption) string) column { return columnOf(rows, name, "text", get) }
		err := w.insertAll("exemptions", len(rows), `ON CONFLICT (group_id, user_id) DO UPDATE SET expires_at = excluded.expires_at,
				note = excluded.note, granted_by = excluded.granted_by, granted_at = excluded.granted_at`,
			text("group_id", func(p *putExemption) string { return p.group }),
			text("user_id", func(p *putExemption) string { return p.row.UserID }),
			columnOf(rows, "expires_at", "bigint", func(p *putExemption) *int64 { return p.row.ExpiresAt }),
			text("note", func(p *putExemption) string { return p.row.Note }),
			text("granted_by", func(p *putExemption) string { return p.row.GrantedBy }),
			columnOf(rows, "granted_at", "bigint", func(p *putExemption) int64 { return p.row.GrantedAt }))
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *configWriter) removeExemptions() error {
	for keys := range slices.Chunk(w.gone, applyChunk) {
		args := make([]any, 0, 2*len(keys))
		for _, k := range keys {
			args = append(args, k.group, k.user)
		}
		err := w.Exec("DELETE FROM exemptions WHERE (group_id, user_id) IN (VALUES "+places(len(keys), 2)+")", args...).Error
		if err != nil {
			return err
		}
	}
	return nil
}

// enqueueAll writes the outbox.
func (w *configWriter) enqueueAll() error {
	var changes []Change
	for _, g := range w.changed {
		if g.after.Version != g.before.Version {
			changes = append(changes, Change{Kind: KindPolicy, GroupID: g.after.ID, Version: g.after.Version})
		}
		if g.after.ExemptionsVersion != g.before.ExemptionsVersion {
			changes = append(changes, Change{Kind: KindExemptions, GroupID: g.after.ID, Version: g.after.ExemptionsVersion})
		}
	}
	if len(w.changed) <= applyAlone {
		for _, c := range changes {
			w.enqueue(c)
		}
		return nil
	}
	for i := range changes {
		changes[i] = w.store.newChange(w.now, changes[i])
	}
	for rows := range slices.Chunk(changes, applyChunk) {
		text := func(name string, get func(*Change) string) column { return columnOf(rows, name, "text", get) }
		none := func(*Change) string { return "" }
		err := w.insertAll("outbox", len(rows), "",
			text("id", func(c *Change) string { return c.OutboxID }),
			text("kind", func(c *Change) string { return string(c.Kind) }),
			text("group_id", func(c *Change) string { return c.GroupID }),
			text("action", none), text("user_id", none),
			columnOf(rows, "version", "bigint", func(c *Change) int64 { return c.Version }),
			columnOf(rows, "created_at", "bigint", func(c *Change) int64 { return c.At.UnixMicro() }),
			columnOf(rows, "claimed_until", "bigint", func(*Change) int64 { return 0 }))
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *configWriter) audits() error {
	for entries := range slices.Chunk(w.entries, applyChunk) {
		if err := w.auditAll(w.actor, entries); err != nil {
			return err
		}
	}
	return nil
}
