package sync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/store"
)

const (
	groupsALook  = 25                   // read from Redis in one pipeline
	exemptsALook = 20_000               // entries of exemptions in memory at once, of several groups
	shardsALook  = 16                   // whose default hashes are read in one pipeline
	longestRest  = 8 * time.Millisecond // between two looks: 10,000 groups rest at most 3.2 s
	waitForFleet = 50 * time.Millisecond
	maxAhead     = 10_000  // groups ahead that are remembered; more are a restored backup of a very large fleet
	maxLate      = 100_000 // keys behind that are remembered until the next pass
	fewAhead     = 10      // fewer keys ahead are drift, however few keys there are
)

// walk is one pass of the reconciler over all groups.
type walk struct {
	sync    *Sync
	actions []string
	rests   bool // leave half of the time to others
	survey  bool // count what is ahead, mend nothing
	partly  bool // shards that are away or being rebuilt are left out, else they end the walk
	shards  []uint8

	differs map[string]int // with survey: keys, mutes and bans by kind of drift

	mu               sync.Mutex      // guards what follows while several looks are under way
	lateBefore, late map[string]mark // what may have been on its way, in the pass before and in this
	groups           share
	defaults         share
	ahead            []string      // groups that are mended at the end, if they are few
	aheadShards      []uint8       // shards whose default hashes are
	highest          int64         // order in Redis above the database's
	withhold         bool          // Redis is ahead as a whole, it seems: mend nothing
	done             *atomic.Int64 // groups compared, for the status
	mended           mended
}

// share counts keys, and those of them whose order is above the database's.
type share struct{ keys, ahead int }

// restored says that so much is ahead that the database is a restored backup.
func (s share) restored() bool { return s.ahead >= fewAhead && s.ahead*100 > s.keys }

// errRebuilding ends a pass: shards are missing, and the rebuild puts back what they lost.
var errRebuilding = errors.New("sync: Redis is being rebuilt")

// run compares everything once. Whatever could not be read wholly ends it, and nothing is mended from it.
func (w *walk) run(ctx context.Context) error {
	if err := w.chooseShards(ctx); err != nil {
		return err
	}
	sys, err := w.sync.store.System(ctx)
	if err != nil {
		return fmt.Errorf("read system: %w", err)
	}
	w.actions = sys.ActionNames()
	for _, part := range []func(context.Context) error{w.walkGroups, w.walkHolds, w.walkDefaults, w.mendAhead} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// restored says that the whole pass found Redis ahead of the database.
func (w *walk) restored() bool { return w.groups.restored() || w.defaults.restored() }

// walkGroups reads one page ahead. A walk that does not rest looks at several parts of a page at once.
func (w *walk) walkGroups(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	pages, err := make(chan []store.PublishRow), error(nil)
	go func() {
		defer close(pages)
		err = w.readGroups(ctx, pages)
	}()
	var trouble error
	for rows := range pages {
		if trouble == nil {
			trouble = w.lookAll(ctx, rows)
		}
		if trouble != nil {
			cancel() // and wait for the end of reading
		}
	}
	cancel()
	return cmp.Or(trouble, err)
}

func (w *walk) readGroups(ctx context.Context, pages chan<- []store.PublishRow) error {
	reader := w.sync.store.FleetReader()
	defer reader.Close(ctx)
	after := ""
	for {
		rows, err := reader.After(ctx, after, groupsAPage)
		if err != nil {
			return fmt.Errorf("read groups: %w", err)
		}
		last := len(rows) < groupsAPage
		if len(rows) > 0 {
			after = rows[len(rows)-1].GroupID
			select {
			case pages <- w.chosen(rows):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if last {
			return nil
		}
	}
}

// lookAll looks at the rows, part by part.
func (w *walk) lookAll(ctx context.Context, rows []store.PublishRow) error {
	var parts [][]store.PublishRow
	for len(rows) > 0 {
		n := lookLength(rows)
		parts, rows = append(parts, rows[:n]), rows[n:]
	}
	if !w.rests {
		return inParallel(len(parts), func(i int) error { return w.look(ctx, parts[i]) })
	}
	for _, part := range parts {
		if err := w.rested(ctx, func() error { return w.look(ctx, part) }); err != nil {
			return err
		}
	}
	return nil
}

// lookLength is how many of the rows fit into one look.
func lookLength(rows []store.PublishRow) int {
	n, exempt := 1, rows[0].ExemptionsCount
	for n < min(len(rows), groupsALook) && exempt+rows[n].ExemptionsCount <= exemptsALook {
		exempt += rows[n].ExemptionsCount
		n++
	}
	return n
}

// look compares some groups, and looks closer at those that may differ. Safe for concurrent use.
func (w *walk) look(ctx context.Context, rows []store.PublishRow) error {
	doubtful, keys, err := w.glance(ctx, rows)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.groups.keys += keys
	w.done.Add(int64(len(rows) - len(doubtful)))
	if len(doubtful) == 0 {
		return nil
	}
	return w.lookCloser(ctx, doubtful)
}

// lookCloser compares groups key by key, and looks again at those that differ before it mends them.
func (w *walk) lookCloser(ctx context.Context, rows []store.PublishRow) error {
	groups := make([]string, len(rows))
	for i, row := range rows {
		groups[i] = row.GroupID
	}
	seen, err := w.see(ctx, groups)
	if err != nil {
		return err
	}
	found, keys, err := w.compare(ctx, rows, seen)
	if err != nil {
		return err
	}
	w.groups.keys += keys
	w.done.Add(int64(len(rows)))
	if len(found) == 0 {
		return nil
	}
	if found, err = w.again(ctx, groupsOf(found)); err != nil {
		return err
	}
	return w.mend(ctx, w.setAside(found))
}

// setAside keeps what is ahead for the end of the pass, and returns the rest.
func (w *walk) setAside(found []drift) (rest []drift) {
	w.count(found)
	var ahead []drift
	for _, d := range found {
		if d.kind == driftAhead {
			ahead = append(ahead, d)
		} else {
			rest = append(rest, d)
		}
	}
	w.groups.ahead += len(ahead)
	w.noteHighest(ahead)
	if len(w.ahead) < maxAhead {
		w.ahead = append(w.ahead, groupsOf(ahead)...)
	}
	if w.groups.restored() {
		w.withhold = true
	}
	return rest
}

// count counts what differs, for a survey.
func (w *walk) count(found []drift) {
	for _, d := range found {
		if w.survey && d.kind != offsetsMoved {
			w.differs[d.kind]++
		}
	}
}

// walkDefaults compares the default hashes of the shards.
func (w *walk) walkDefaults(ctx context.Context) error {
	for shards := range slices.Chunk(w.shards, shardsALook) {
		err := w.rested(ctx, func() error {
			found, keys, err := w.lookDefaults(ctx, shards)
			w.defaults.keys += keys
			if err != nil || len(found) == 0 {
				return err
			}
			if found, _, err = w.lookDefaults(ctx, shards); err != nil { // a change may have come in between
				return err
			}
			if found, err = w.certain(ctx, found); err != nil {
				return err
			}
			return w.mend(ctx, w.setAsideDefaults(found))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) noteHighest(ahead []drift) {
	for _, d := range ahead {
		w.highest = max(w.highest, d.mark.seen)
	}
}

func (w *walk) setAsideDefaults(found []drift) (rest []drift) {
	w.count(found)
	for _, d := range found {
		if d.kind == driftAhead {
			w.defaults.ahead++
			w.highest = max(w.highest, d.mark.seen)
			w.aheadShards = append(w.aheadShards, d.shard)
		} else {
			rest = append(rest, d)
		}
	}
	return rest
}

// lookDefaults reads Redis first and then the database, as again does.
func (w *walk) lookDefaults(ctx context.Context, shards []uint8) (found []drift, keys int, err error) {
	var names []string
	for _, shard := range shards {
		for _, action := range w.actions {
			names = append(names, w.sync.keys.Default(shard, action))
		}
	}
	seen, err := w.seeHashes(ctx, names)
	if err == nil {
		err = w.seeScopes(ctx, shards, seen)
	}
	if err != nil {
		return nil, 0, err
	}
	sys, err := w.sync.store.System(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("read system: %w", err)
	}
	for _, shard := range shards {
		pubs := w.sync.compileDefaults(sys, shard)
		found, keys = appendDrifts(found, "", shard, pubs, seen), keys+known(pubs, seen)
	}
	return found, keys, nil
}

// chooseShards takes the shards that answer and are complete; the others are a rebuild's, or away.
func (w *walk) chooseShards(ctx context.Context) error {
	whole, err := w.wholeShards(ctx)
	if err != nil {
		return err
	}
	for i, ok := range whole {
		if ok {
			w.shards = append(w.shards, uint8(i))
		}
	}
	if len(w.shards) == 0 || len(w.shards) < enforce.Shards && !w.partly {
		return errRebuilding
	}
	return nil
}

// wholeShards says which shards answer and are complete. That some are away is an error unless the walk leaves them out.
func (w *walk) wholeShards(ctx context.Context) (whole [enforce.Shards]bool, err error) {
	looks, err := w.sync.look(ctx)
	for i, look := range looks {
		whole[i] = look.Err == nil && look.Epoch != "" && !strings.HasPrefix(look.Epoch, "~")
	}
	if w.partly && ctx.Err() == nil {
		err = nil
	}
	return whole, err
}

// chosen leaves out the rows of other shards.
func (w *walk) chosen(rows []store.PublishRow) []store.PublishRow {
	if len(w.shards) == enforce.Shards {
		return rows
	}
	return slices.DeleteFunc(rows, func(row store.PublishRow) bool { return !slices.Contains(w.shards, row.Shard) })
}

// rested runs fn, and then leaves the servers to others for as long as it took. While a fleet job gets on it waits: the job
// writes all that there is to compare.
func (w *walk) rested(ctx context.Context, fn func() error) error {
	for w.rests && w.sync.report.fleetMoves(w.sync.cfg.Now()) {
		if !pause(ctx, waitForFleet) {
			return ctx.Err()
		}
	}
	began := w.sync.cfg.Now()
	if err := fn(); err != nil || !w.rests {
		return err
	}
	if !pause(ctx, min(w.sync.cfg.Now().Sub(began), longestRest)) {
		return ctx.Err()
	}
	return nil
}
