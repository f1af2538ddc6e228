package sync

import (
	"context"
	"sync/atomic"
)

// Ahead is how much of Redis has an order above the database's.
type Ahead struct {
	Groups int64 // compared
	Keys   int   // that the database knows of, default hashes included
	Ahead  int   // of them, whose order is above the database's
	// Restored says that so much is ahead that the database must be a restored backup: more than 1 % of the keys of
	// groups or of default hashes, and at least 10.
	Restored bool
	// Generation is the highest of an order in Redis that is above the database's; 0 = none is.
	Generation int64
}

// Survey compares all of Redis with the database and changes nothing. It needs no Run. It fails while shards of Redis are
// away or being rebuilt: what is not there cannot be ahead, and may be in a moment.
func (s *Sync) Survey(ctx context.Context) (Ahead, error) {
	w := &walk{sync: s, survey: true, late: map[string]mark{}, done: &atomic.Int64{}}
	if err := w.run(ctx); err != nil {
		return Ahead{}, err
	}
	return Ahead{
		Groups: w.done.Load(), Keys: w.groups.keys + w.defaults.keys, Ahead: w.groups.ahead + w.defaults.ahead,
		Restored: w.restored(), Generation: w.highest >> generationBits,
	}, nil
}
