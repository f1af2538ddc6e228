package sync

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/store"
)

const (
	groupsAPage = 500
	groupsACall = 32 // of one shard; measured: more a call gain nothing
	pubsACall   = 64 // hashes in a call that serves several shards
	callsARound = 16 // full calls that gather before they go out
	// pacedRound is the same of a paced job: some milliseconds of work. Shorter ones cost all servers a third more, for each
	// finds its caches cold and has to be woken; bystanders wait for a call, not for a round.
	pacedRound  = 8
	longestWait = 100 * time.Millisecond
)

// sweep publishes the groups of a claim, page by page. It writes no rows.
type sweep struct {
	sync    *Sync
	reader  *store.FleetReader
	shards  []uint8
	whole   bool // exemptions, mutes and bans as well as policies and notices
	stale   bool // Redis may hold what is no longer published: withdraw it
	unpaced bool

	actions []string
	pending batch
	ready   []*call
	rested  time.Time    // when the last rest ended
	done    atomic.Int64 // groups published
}

type batch struct {
	groups int
	pubs   []enforce.Publication
}

func newSweep(s *Sync, reader *store.FleetReader, claim []store.FleetShard) *sweep {
	w := &sweep{sync: s, reader: reader, rested: s.cfg.Now()}
	for _, c := range claim {
		w.shards = append(w.shards, c.Shard)
		w.whole, w.stale, w.unpaced = w.whole || c.Whole, w.stale || c.Stale, w.unpaced || c.Unpaced
	}
	return w
}

// run publishes all of the claim. An error ends it: what was published is right all the same.
func (w *sweep) run(ctx context.Context) error {
	sys, err := w.sync.store.System(ctx)
	if err != nil {
		return fmt.Errorf("read system: %w", err)
	}
	w.actions = sys.ActionNames()
	for page := range w.pages(ctx) {
		if page.err != nil {
			return fmt.Errorf("read groups: %w", page.err)
		}
		if err := w.page(ctx, page.rows); err != nil {
			return err
		}
		if page.last {
			w.close(page.shard)
		}
	}
	if err := w.flush(ctx); err != nil {
		return err
	}
	if w.whole {
		return w.holds(ctx)
	}
	return ctx.Err()
}

// page is a part of one shard's groups.
type page struct {
	shard uint8
	rows  []store.PublishRow
	last  bool // of the shard
	err   error
}

// pages reads the shards' groups, one page ahead of whoever takes them.
func (w *sweep) pages(ctx context.Context) func(yield func(page) bool) {
	return func(yield func(page) bool) {
		ctx, cancel := context.WithCancel(ctx)
		read := make(chan page)
		go func() {
			defer close(read)
			for _, shard := range w.shards {
				if !w.read(ctx, shard, read) {
					return
				}
			}
		}()
		for p := range read {
			if !yield(p) {
				break
			}
		}
		cancel()
		for range read { // until it has ended: the reader's connection is used by one at a time
		}
	}
}

func (w *sweep) read(ctx context.Context, shard uint8, to chan<- page) bool {
	after := ""
	for {
		rows, err := w.reader.Page(ctx, shard, after, groupsAPage)
		p := page{shard: shard, rows: rows, last: len(rows) < groupsAPage, err: err}
		select {
		case to <- p:
		case <-ctx.Done():
			return false
		}
		if err != nil || p.last {
			return err == nil
		}
		after = rows[len(rows)-1].GroupID
	}
}

func (w *sweep) page(ctx context.Context, rows []store.PublishRow) error {
	var gone []withdrawal
	for _, row := range rows {
		if row.Err != nil { // Redis keeps what it has of this group; the others go on
			w.sync.skipped(ctx, row)
			continue
		}
		pubs, order, err := w.sync.compile(ctx, row)
		if err != nil {
			return fmt.Errorf("group %q: %w", row.GroupID, err)
		}
		w.add(row.Shard, pubs)
		if w.stale {
			gone = append(gone, unpublished(w.sync, w.actions, row, pubs, order)...)
		}
		if len(w.ready) >= w.round() {
			if err := w.flush(ctx); err != nil {
				return err
			}
		}
		w.done.Add(1)
	}
	if err := w.withdraw(ctx, gone); err != nil || !w.whole {
		return err
	}
	return w.exemptions(ctx, rows)
}

func (w *sweep) round() int {
	if w.unpaced {
		return callsARound
	}
	return pacedRound
}

func (w *sweep) add(shard uint8, pubs []enforce.Publication) {
	if len(pubs) == 0 {
		return
	}
	w.pending.groups++
	w.pending.pubs = append(w.pending.pubs, pubs...)
	if w.pending.groups >= groupsACall {
		w.close(shard)
	}
}

func (w *sweep) close(shard uint8) {
	if w.pending.groups > 0 {
		w.ready = append(w.ready, &call{shard: shard, pubs: w.pending.pubs})
		w.pending = batch{}
	}
}

func (w *sweep) flush(ctx context.Context) error {
	calls := w.ready
	w.ready = nil
	if err := w.sync.publishMerged(ctx, calls); err != nil {
		return err
	}
	return w.rest(ctx)
}

// rest leaves the servers to others for as long as the work since the last rest took, unless the job is unpaced.
func (w *sweep) rest(ctx context.Context) error {
	if w.unpaced {
		return nil
	}
	if !pause(ctx, min(w.sync.cfg.Now().Sub(w.rested), longestWait)) {
		return ctx.Err()
	}
	w.rested = w.sync.cfg.Now()
	return nil
}

// holds gives Redis the mutes and bans that hold now, and ends those that were lifted: a Redis that came back with older
// things may have them again.
func (w *sweep) holds(ctx context.Context) error {
	if err := w.mutes(ctx); err != nil {
		return err
	}
	return w.bans(ctx)
}

func (w *sweep) mutes(ctx context.Context) error {
	var after store.HoldKey
	for {
		page, err := w.sync.store.MutesForPublish(ctx, w.shards, after, groupsAPage)
		if err != nil {
			return fmt.Errorf("read mutes: %w", err)
		}
		err = inParallel(len(page), func(i int) error { return w.sync.bringMute(ctx, page[i]) })
		if err != nil || len(page) < groupsAPage {
			return err
		}
		last := page[len(page)-1]
		after = store.HoldKey{GroupID: last.GroupID, UserID: last.UserID}
	}
}

func (w *sweep) bans(ctx context.Context) error {
	var after store.HoldKey
	for {
		page, err := w.sync.store.BansForPublish(ctx, w.shards, after, groupsAPage)
		if err != nil {
			return fmt.Errorf("read bans: %w", err)
		}
		err = inParallel(len(page), func(i int) error { return w.sync.bringBan(ctx, page[i]) })
		if err != nil || len(page) < groupsAPage {
			return err
		}
		last := page[len(page)-1]
		after = store.HoldKey{GroupID: last.GroupID, Action: last.Action, UserID: last.UserID}
	}
}

func (s *Sync) skipped(ctx context.Context, row store.PublishRow) {
	s.metrics.errors.WithLabelValues(laneFleet).Inc()
	s.log.LogAttrs(ctx, slog.LevelError, "group left out: its document cannot be read",
		slog.String("group_id", row.GroupID), slog.Int64("version", row.Version), slog.Any("error", row.Err))
}
