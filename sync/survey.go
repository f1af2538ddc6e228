package sync

import (
	"context"
	"sync/atomic"
	"time"
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
	w := s.newSurvey()
	if err := w.run(ctx); err != nil {
		return Ahead{}, err
	}
	return Ahead{
		Groups: w.done.Load(), Keys: w.groups.keys + w.defaults.keys, Ahead: w.groups.ahead + w.defaults.ahead,
		Restored: w.restored(), Generation: w.highest >> generationBits,
	}, nil
}

func (s *Sync) newSurvey() *walk {
	return &walk{sync: s, survey: true, differs: map[string]int{}, late: map[string]mark{}, done: &atomic.Int64{}}
}

// Verdict is what Verify found.
type Verdict struct {
	Groups int64 // compared
	Keys   int   // that the database knows of, default hashes included
	// Differences counts keys, mutes and bans that are not as the database says, by kind: missing, type, fields, behind,
	// ahead, stray, exemptions, mute, ban. Empty = Redis equals the database.
	Differences map[string]int
	Waiting     int64 // changes that were not published yet at the end, and that may explain what was not counted
}

// Verify compares every field of every key in Redis with the database, as fast as it can, and changes nothing. tell is
// called now and then with the number of groups compared so far; nil = never. It needs no Run, and fails as Survey does.
func (s *Sync) Verify(ctx context.Context, tell func(groups int64)) (Verdict, error) {
	w := s.newSurvey()
	ctx, cancel := context.WithCancel(ctx)
	telling := make(chan struct{})
	go func() {
		defer close(telling)
		for tell != nil && pause(ctx, tellEvery) {
			tell(w.done.Load())
		}
	}()
	err := w.run(ctx)
	cancel()
	<-telling
	if err != nil {
		return Verdict{}, err
	}
	waiting, err := s.store.SyncStatus(context.WithoutCancel(ctx))
	return Verdict{
		Groups: w.done.Load(), Keys: w.groups.keys + w.defaults.keys, Differences: w.differs, Waiting: waiting.OutboxDepth + waiting.FleetShards,
	}, err
}

// tellEvery is between two reports of progress.
const tellEvery = 5 * time.Second
