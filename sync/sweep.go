package sync

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

const (
	groupsAPage = 500
	groupsACall = 25 // of one shard; measured: more a call gain nothing
	pubsACall   = 64 // hashes in a call that serves several shards
	callsARound = 16 // full calls that gather before they go out
)

// sweep publishes groups page by page: those of some shards, or all. It writes no rows.
type sweep struct {
	sync   *Sync
	shards []uint8 // nil = all
	full   bool    // exemptions, mutes and bans as well as policies and notices
	stale  bool    // Redis may hold what was withdrawn since: withdraw it again

	pending [enforce.Shards]batch
	ready   []*call
	actions []string
	done    *atomic.Int64 // groups read, for the status
}

type batch struct {
	groups int
	pubs   []enforce.Publication
}

// run publishes the groups first and the default hashes last, so that no group is ever seen under defaults that its own
// hash does not know yet. The defaults are those in force when the sweep began. An error ends it: what was published is
// right all the same, but the sweep is not complete.
func (w *sweep) run(ctx context.Context) error {
	sys, err := w.sync.store.System(ctx)
	if err != nil {
		return fmt.Errorf("read system: %w", err)
	}
	w.actions = sys.ActionNames()
	if err := w.groups(ctx); err != nil {
		return err
	}
	if w.full {
		if err := w.holds(ctx); err != nil {
			return err
		}
	}
	return w.defaults(ctx, sys)
}

func (w *sweep) groups(ctx context.Context) error {
	after := ""
	for {
		rows, err := w.sync.store.PublishPage(ctx, w.shards, after, groupsAPage)
		if err != nil {
			return fmt.Errorf("read groups: %w", err)
		}
		if len(rows) == 0 {
			break
		}
		if err := w.page(ctx, rows); err != nil {
			return err
		}
		after = rows[len(rows)-1].GroupID
		if len(rows) < groupsAPage {
			break
		}
	}
	for shard := range w.pending {
		w.close(uint8(shard))
	}
	return w.flush(ctx)
}

func (w *sweep) page(ctx context.Context, rows []store.PublishRow) error {
	var (
		exempting []string
		gone      []withdrawal
	)
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
		if w.full && row.ExemptionsVersion > 0 {
			exempting = append(exempting, row.GroupID)
		}
	}
	if err := w.withdraw(ctx, gone); err != nil {
		return err
	}
	w.done.Add(int64(len(rows)))
	if len(exempting) > 0 {
		sets, err := w.sync.store.ExemptionSets(ctx, exempting)
		if err != nil {
			return fmt.Errorf("read exemptions: %w", err)
		}
		if err := w.sync.publishSets(ctx, sets); err != nil {
			return err
		}
	}
	if len(w.ready) < callsARound {
		return nil
	}
	return w.flush(ctx)
}

func (w *sweep) add(shard uint8, pubs []enforce.Publication) {
	if len(pubs) == 0 {
		return
	}
	b := &w.pending[shard]
	b.groups++
	b.pubs = append(b.pubs, pubs...)
	if b.groups >= groupsACall {
		w.close(shard)
	}
}

func (w *sweep) close(shard uint8) {
	if b := &w.pending[shard]; b.groups > 0 {
		w.ready = append(w.ready, &call{shard: shard, pubs: b.pubs})
		*b = batch{}
	}
}

func (w *sweep) flush(ctx context.Context) error {
	calls := w.ready
	w.ready = nil
	return w.publish(ctx, calls)
}

func (w *sweep) defaults(ctx context.Context, sys *policy.System) error {
	var calls []*call
	for _, shard := range w.list() {
		calls = append(calls, &call{shard: shard, pubs: w.sync.compileDefaults(sys, shard)})
	}
	return w.publish(ctx, calls)
}

func (w *sweep) publish(ctx context.Context, calls []*call) error {
	if w.sync.cfg.SingleNode {
		calls = merge(calls)
	}
	return w.sync.publishCalls(ctx, calls)
}

// merge joins small calls, whatever their shards: each costs a round trip and, in the embedded server, a new Lua state.
func merge(calls []*call) (merged []*call) {
	for _, c := range calls {
		if n := len(merged); n > 0 && len(merged[n-1].pubs)+len(c.pubs) <= pubsACall {
			merged[n-1].pubs = append(merged[n-1].pubs, c.pubs...)
			continue
		}
		merged = append(merged, &call{shard: c.shard, pubs: c.pubs})
	}
	return merged
}

func (w *sweep) list() []uint8 {
	if w.shards != nil {
		return w.shards
	}
	return allShards()
}

func allShards() []uint8 {
	list := make([]uint8, enforce.Shards)
	for i := range list {
		list[i] = uint8(i)
	}
	return list
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
