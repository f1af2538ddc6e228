package store

import (
	"context"
	"database/sql"
	"slices"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

// ConfigQuery says what of the groups an export reads. Groups nil = all that are not archived.
type ConfigQuery struct {
	Groups     []string
	Names      bool // name and locale
	Policies   bool
	Exemptions bool
}

// ConfigExport reads groups as files of policy as config state them, by id, all from one snapshot of the database. Call Next
// until Done, and Close at the end. Not safe for concurrent use.
type ConfigExport struct {
	// System is what the groups were under.
	System *policy.System

	store *Store
	db    *gorm.DB // the transaction
	query ConfigQuery
	last  string
	left  []string // of the groups that were named
	done  bool
}

// exportRests is for how long an export may rest between two pages, while whoever reads it takes what he has.
const exportRests = "60s"

// ExportConfig begins an export: its snapshot holds until Close, or until ctx ends.
func (s *Store) ExportConfig(ctx context.Context, q ConfigQuery) (*ConfigExport, error) {
	left := slices.Compact(slices.Sorted(slices.Values(q.Groups)))
	x := &ConfigExport{store: s, query: q, left: left, done: !q.Names && !q.Policies && !q.Exemptions}
	options := &sql.TxOptions{ReadOnly: true} // SQLite: a snapshot that keeps no writer waiting
	if s.dialect.postgres {
		options.Isolation = sql.LevelRepeatableRead
	}
	if x.db = s.db.WithContext(ctx).Begin(options); x.db.Error != nil {
		return nil, translate(x.db.Error)
	}
	if err := x.begin(); err != nil {
		x.Close()
		return nil, translate(err)
	}
	return x, nil
}

func (x *ConfigExport) begin() (err error) {
	if x.store.dialect.postgres {
		if err := x.db.Exec("SET LOCAL idle_in_transaction_session_timeout = '" + exportRests + "'").Error; err != nil {
			return err
		}
	}
	x.System, err = x.store.currentSystem(x.db)
	return err
}

// Close lets go of the snapshot. It may be called twice.
func (x *ConfigExport) Close() { x.db.Rollback() }

// Done reports that all was read.
func (x *ConfigExport) Done() bool { return x.done }

const exportGroups = 500 // groups of a page

// Next reads a page; an empty one is no end. CodeNotFound for a group that was named and is not there, or
// is archived.
func (x *ConfigExport) Next(ctx context.Context) (page []policy.GroupConfig, err error) {
	if x.done {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, max(bulkTimeout, x.store.cfg.Timeout))
	defer cancel()
	rows, err := x.rows(x.db.WithContext(ctx))
	if err != nil {
		return nil, translate(err)
	}
	page = make([]policy.GroupConfig, 0, len(rows))
	for _, r := range rows {
		g, err := r.stated(x.query)
		if err != nil {
			return nil, err
		}
		page = append(page, g)
	}
	if x.query.Exemptions {
		err = x.exemptions(x.db.WithContext(ctx), rows, page)
	}
	return page, translate(err)
}

func (x *ConfigExport) rows(db *gorm.DB) (rows []groupRow, err error) {
	if x.query.Groups == nil {
		err = db.Raw("SELECT * FROM groups WHERE id > ? AND archived_at IS NULL ORDER BY id LIMIT ?", x.last, exportGroups).Scan(&rows).Error
		if x.done = len(rows) < exportGroups; !x.done {
			x.last = rows[len(rows)-1].ID
		}
		return rows, err
	}
	ids := x.left[:min(len(x.left), exportGroups)]
	x.left = x.left[len(ids):]
	x.done = len(x.left) == 0
	err = db.Raw("SELECT * FROM groups WHERE id IN ? AND archived_at IS NULL ORDER BY id", ids).Scan(&rows).Error
	if err == nil && len(rows) < len(ids) {
		err = noGroup(gorm.ErrRecordNotFound)
	}
	return rows, err
}

// stated is the group as files state it. Its policy is stated even where it is empty: so that an export says so.
func (r groupRow) stated(q ConfigQuery) (policy.GroupConfig, error) {
	g := policy.GroupConfig{ID: r.ID}
	if q.Names {
		g.Name = policy.State(r.Name)
		if r.Locale != "" {
			g.Locale = policy.State(r.Locale)
		}
	}
	if !q.Policies {
		return g, nil
	}
	doc, err := parseStored(r.ID, r.Document)
	g.Policy = &doc
	return g, err
}

// exemptions reads those of the groups that have some.
func (x *ConfigExport) exemptions(db *gorm.DB, rows []groupRow, page []policy.GroupConfig) error {
	var ids []string
	for _, r := range rows {
		if r.ExemptionsCount > 0 {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	var found []groupExemptionRow
	if err := db.Raw(selectExemptions+"group_id IN ? ORDER BY group_id, user_id", ids).Scan(&found).Error; err != nil {
		return err
	}
	at := 0
	for _, e := range found {
		for page[at].ID != e.GroupID {
			at++
		}
		page[at].Exemptions = append(page[at].Exemptions, e.Row.stated())
	}
	return nil
}

// PendingPolicies counts those of the groups whose document has a version that is not in Redis yet.
func (s *Store) PendingPolicies(ctx context.Context, ids []string) (n int64, err error) {
	for chunk := range slices.Chunk(ids, chunkSize) {
		var part int64
		err := s.read(ctx, func(db *gorm.DB) error {
			return one(db.Raw(`SELECT count(*) FROM groups AS g LEFT JOIN publications AS p ON p.group_id = g.id
				WHERE g.id IN ? AND (p.version IS NULL OR p.version < g.version)`, chunk), &part)
		})
		if err != nil {
			return n, err
		}
		n += part
	}
	return n, nil
}
