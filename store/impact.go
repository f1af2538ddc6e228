package store

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

// Impact is what a change of bounds or defaults would do, counted over every group that is not archived.
type Impact struct {
	*policy.Impact
	Before, After *policy.System // what is in force, and what would be
	Unreadable    int64          // groups whose stored document this program cannot read; in no other count
	Complete      bool           // every group was looked at; else the time that ctx gives was over before
	Of            int64          // groups that there are: all that were looked at when Complete
}

// PreviewBounds counts what UpdateBounds would do, and changes nothing; up to so many groups that change are kept as
// samples. Each group is looked at once, as it stands when its page is read. It takes as long as ctx has a deadline for
// (about 10 µs a group with a document of its own), and answers what it counted until then. The same errors as
// UpdateBounds.
func (s *Store) PreviewBounds(ctx context.Context, b policy.Bounds, samples int) (Impact, error) {
	return s.preview(ctx, samples, func(old *policy.System) (*policy.System, error) { return withBounds(old, b) })
}

// PreviewDefaults counts what UpdateDefaults would do, as PreviewBounds does. The same errors as UpdateDefaults.
func (s *Store) PreviewDefaults(ctx context.Context, d policy.Document, samples int) (Impact, error) {
	return s.preview(ctx, samples, func(old *policy.System) (*policy.System, error) { return withDefaults(old, d) })
}

func (s *Store) preview(ctx context.Context, samples int, change func(*policy.System) (*policy.System, error)) (Impact, error) {
	before, err := s.System(ctx)
	if err != nil {
		return Impact{}, err
	}
	after, err := change(before)
	if err != nil {
		return Impact{}, err
	}
	c := impactCount{
		Impact: Impact{Impact: policy.NewImpact(before, after, samples), Before: before, After: after},
		known:  make(map[string]int, textsKept),
	}
	if err := s.countAll(ctx, &c); err != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Impact{}, err
	}
	c.flush()
	return c.Impact, s.countGroups(ctx, &c.Impact)
}

// countAll looks at every group; ctx may end it after any page.
func (s *Store) countAll(ctx context.Context, c *impactCount) error {
	last := ""
	for !c.Complete {
		page, err := s.impactPage(ctx, last)
		if err != nil {
			return err
		}
		c.add(page)
		if c.Complete = len(page) < impactPageSize; !c.Complete {
			last = page[len(page)-1].id
		}
	}
	return nil
}

// countGroups says how many groups there are where not all were looked at. The time of ctx is over then.
func (s *Store) countGroups(ctx context.Context, im *Impact) error {
	if im.Complete {
		im.Of = im.Groups + im.Unreadable
		return nil
	}
	return s.read(context.WithoutCancel(ctx), func(db *gorm.DB) error {
		return one(db.Raw("SELECT count(*) FROM groups WHERE archived_at IS NULL"), &im.Of)
	})
}

type impactRow struct{ id, document string }

const impactPageSize = 2000

// impactPage reads the documents of the next groups, by id.
func (s *Store) impactPage(ctx context.Context, after string) (page []impactRow, err error) {
	err = s.read(ctx, func(db *gorm.DB) error {
		rows, err := db.Raw("SELECT id, document FROM groups WHERE id > ? AND archived_at IS NULL ORDER BY id LIMIT ?",
			after, impactPageSize).Rows()
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		page = make([]impactRow, 0, impactPageSize)
		for rows.Next() {
			var r impactRow
			if err := rows.Scan(&r.id, &r.document); err != nil {
				return err
			}
			page = append(page, r)
		}
		return rows.Err()
	})
	return page, err
}

// impactCount counts groups of one text together: owners choose among few settings, and most groups state nothing.
type impactCount struct {
	Impact
	texts []impactText // in the order in which they were met
	known map[string]int
}

// impactText is a document that n groups share; id is the first of them.
type impactText struct {
	impactRow
	n int64
}

// textsKept is how many different texts wait to be counted: a few MB.
const textsKept = 4096

func (c *impactCount) add(page []impactRow) {
	for _, r := range page {
		i, known := c.known[r.document]
		if !known {
			if len(c.texts) == textsKept {
				c.flush()
			}
			i = len(c.texts)
			c.texts, c.known[r.document] = append(c.texts, impactText{impactRow: r}), i
		}
		c.texts[i].n++
	}
}

func (c *impactCount) flush() {
	for _, t := range c.texts {
		document, err := policy.ParseDocument([]byte(t.document))
		if err != nil {
			c.Unreadable += t.n
			continue
		}
		c.Add(t.id, t.n, document)
	}
	c.texts = c.texts[:0]
	clear(c.known)
}
