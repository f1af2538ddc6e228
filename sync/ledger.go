package sync

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/pacekeeper/pacekeeper/store"
)

const (
	maxLedger   = 4096 // groups remembered
	versionPage = 200  // versions read at once
)

// ledger remembers what the versions of a group's document ever published, so that a name that left the document is
// withdrawn even if the version that named it was never seen here. The versions table is the truth; this is a cache of
// it. Safe for concurrent use.
type ledger struct {
	mu     sync.Mutex
	groups map[string]history
}

// history is the union over the versions up to and with upTo. It is immutable.
type history struct {
	upTo  int64
	names []string
}

func newLedger() *ledger { return &ledger{groups: map[string]history{}} }

func (l *ledger) get(group string) history {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.groups[group]
}

func (l *ledger) put(group string, h history) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.groups) >= maxLedger {
		clear(l.groups)
	}
	if h.upTo >= l.groups[group].upTo {
		l.groups[group] = h
	}
}

// everPublished names all that any version up to the row's published. It reads only versions that it has not seen.
func (s *Sync) everPublished(ctx context.Context, row store.PublishRow) ([]string, error) {
	known := s.ledger.get(row.GroupID)
	if known.upTo >= row.Version {
		return known.names, nil
	}
	sys, err := s.store.SystemAt(ctx, row.Counters)
	if err != nil {
		return nil, fmt.Errorf("read system: %w", err)
	}
	names := map[string]bool{}
	for _, name := range append(published(sys, row.Document), known.names...) {
		names[name] = true
	}
	cursor, more := "", known.upTo < row.Version-1
	for more {
		page, err := s.store.Versions(ctx, row.GroupID, cursor, versionsToRead(row.Version-known.upTo))
		if err != nil {
			return nil, fmt.Errorf("read versions: %w", err)
		}
		for _, v := range page.Items {
			for _, name := range published(sys, v.Document) {
				names[name] = true
			}
			more = v.Version > known.upTo+1
		}
		cursor = page.Next
		more = more && cursor != ""
	}
	h := history{upTo: row.Version}
	for name := range names {
		h.names = append(h.names, name)
	}
	slices.Sort(h.names)
	s.ledger.put(row.GroupID, h)
	return h.names, nil
}

// fewVersions is how many versions of a group are read together with those of others.
const fewVersions = 8

// learn reads what the earlier versions of many groups published, in one statement: one for each group would make an apply
// of thousands wait for thousands. Groups with a long history that was never seen are left to everPublished.
func (s *Sync) learn(ctx context.Context, rows []store.PublishRow) error {
	var spans []store.VersionSpan
	of := make(map[string]store.PublishRow, len(rows))
	for _, row := range rows {
		known := s.ledger.get(row.GroupID)
		if missing := row.Version - 1 - known.upTo; missing > 0 && missing <= fewVersions {
			spans = append(spans, store.VersionSpan{GroupID: row.GroupID, From: known.upTo + 1, To: row.Version - 1})
			of[row.GroupID] = row
		}
	}
	if len(spans) < 2 {
		return nil
	}
	found, err := s.store.VersionsIn(ctx, spans)
	if err != nil {
		return fmt.Errorf("read versions: %w", err)
	}
	for _, span := range spans {
		sys, err := s.store.SystemAt(ctx, of[span.GroupID].Counters)
		if err != nil {
			return fmt.Errorf("read system: %w", err)
		}
		h := history{upTo: span.To, names: slices.Clone(s.ledger.get(span.GroupID).names)}
		for _, doc := range found[span.GroupID] {
			h.names = append(h.names, published(sys, doc)...)
		}
		slices.Sort(h.names)
		h.names = slices.Compact(h.names)
		s.ledger.put(span.GroupID, h)
	}
	return nil
}

func versionsToRead(missing int64) int { return int(min(missing, versionPage)) }
