package store_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// inMinutes is a moment in Unix ms.
func inMinutes(n int64) int64 { return time.Now().Add(time.Duration(n) * time.Minute).UnixMilli() }

func TestMutes(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx, any := t.Context(), store.Anything()
		register(t, s, "g1")
		end := inMinutes(5)
		m := must(s.PutMute(ctx, actor(), "g1", "u1", store.Exactly(0), store.MuteInput{EndMS: end, Reason: "spam"}))(t)
		if m.EndMS != end || m.Cause != store.CauseModerator || m.By != "Mei" || m.StartMS == 0 {
			t.Fatalf("mute = %+v", m)
		}
		again := must(s.PutMute(ctx, actor(), "g1", "u1", any, store.MuteInput{EndMS: end, Reason: "spam"}))(t)
		if diff := cmp.Diff(m, again); diff != "" {
			t.Error(diff)
		}
		longer := must(s.PutMute(ctx, actor(), "g1", "u1", store.Exactly(m.StartMS), store.MuteInput{EndMS: end + 1}))(t)
		if longer.StartMS <= m.StartMS {
			t.Error("Redis would not take the new end")
		}
		_, err := s.PutMute(ctx, actor(), "g1", "u1", store.Exactly(m.StartMS), store.MuteInput{EndMS: end})
		wantCode(t, err, policy.CodeStale)
		_, err = s.PutMute(ctx, actor(), "g1", "u2", any, store.MuteInput{EndMS: inMinutes(-1)})
		wantCode(t, err, policy.CodeInvalid)
		_, err = s.PutMute(ctx, actor(), "nobody", "u2", any, store.MuteInput{EndMS: end})
		wantCode(t, err, policy.CodeNotFound)
		if p := must(s.ListMutes(ctx, "g1", "", 0))(t); len(p.Items) != 1 {
			t.Errorf("%d mutes", len(p.Items))
		}
		must(s.LiftMute(ctx, actor(), "g1", "u1", any))(t)
		_, err = s.LiftMute(ctx, actor(), "g1", "u1", any)
		wantCode(t, err, policy.CodeNotFound)
		_, err = s.Mute(ctx, "g1", "u1")
		wantCode(t, err, policy.CodeNotFound)
		if r := must(s.MuteForPublish(ctx, "g1", "u1"))(t); r.StartMS != longer.StartMS || r.LiftedAt.IsZero() || r.LiftedBy != "Mei" {
			t.Errorf("the lifted record = %+v", r)
		}
		if p := must(s.ListMutes(ctx, "g1", "", 0))(t); len(p.Items) != 0 {
			t.Errorf("%d mutes", len(p.Items))
		}
		if diff := cmp.Diff([]string{"group.create", "mute.put", "mute.put", "mute.lift"}, auditActions(t, s)); diff != "" {
			t.Error(diff)
		}
	})
}

// event is a hold that the script gave at the moment start.
func event(user string, start, end int64) store.HoldEvent {
	return store.HoldEvent{
		GroupID: "g1", Action: "message", UserID: user, Cause: store.CauseLadder, Step: 1,
		MuteStartMS: start, MuteEndMS: end, BanStartMS: start, BanEndMS: end,
	}
}

func apply(t *testing.T, s *store.Store, cursor string, events ...store.HoldEvent) {
	t.Helper()
	g := must(s.Group(t.Context(), "g1"))(t)
	err := s.ApplyEvents(t.Context(), []store.EventBatch{{Shard: g.Shard, Cursor: cursor, Events: events}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestApplyEventsIsIdempotent(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx := t.Context()
		register(t, s, "g1")
		now := inMinutes(0)
		events := []store.HoldEvent{event("u1", now-9, inMinutes(1)), event("u2", now-5, inMinutes(2)), event("u1", now-3, inMinutes(5))}
		apply(t, s, "1-1", events...)
		first := must(s.ListMutes(ctx, "g1", "", 0))(t)
		if len(first.Items) != 2 || first.Items[0].StartMS != now-3 || first.Items[0].Cause != store.CauseLadder {
			t.Fatalf("mutes = %+v", first.Items)
		}
		apply(t, s, "1-2", events...)
		apply(t, s, "1-2", events[0])
		if diff := cmp.Diff(first, must(s.ListMutes(ctx, "g1", "", 0))(t)); diff != "" {
			t.Error(diff)
		}
		if got := must(s.EventCursors(ctx))(t); len(got) != 1 || got[must(s.Group(ctx, "g1"))(t).Shard] != "1-2" {
			t.Errorf("cursors = %v", got)
		}
		if err := s.ResetEventCursors(ctx, []uint8{must(s.Group(ctx, "g1"))(t).Shard}); err != nil {
			t.Fatal(err)
		}
		if got := must(s.EventCursors(ctx))(t); len(got) != 0 {
			t.Errorf("cursors = %v", got)
		}
	})
}

func TestLiftedHoldsStayLifted(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx := t.Context()
		register(t, s, "g1")
		e := event("u1", inMinutes(0)-10, inMinutes(60))
		apply(t, s, "1-1", e)
		must(s.LiftMute(ctx, actor(), "g1", "u1", store.Exactly(e.MuteStartMS)))(t)
		must(s.LiftBan(ctx, actor(), "g1", "message", "u1"))(t)
		apply(t, s, "1-0", e)
		if p := must(s.ListMutes(ctx, "g1", "", 0))(t); len(p.Items) != 0 {
			t.Error("a late event brought a lifted mute back")
		}
		if p := must(s.ListBans(ctx, "g1", "", 0))(t); len(p.Items) != 0 {
			t.Error("a late event brought a lifted ban back")
		}
		_, err := s.LiftBan(ctx, actor(), "g1", "message", "u1")
		wantCode(t, err, policy.CodeNotFound)
		next := event("u1", inMinutes(0), inMinutes(60))
		apply(t, s, "1-2", next)
		if must(s.Mute(ctx, "g1", "u1"))(t).StartMS != next.MuteStartMS {
			t.Error("the next mute is not kept")
		}
		want := []string{"group.create", "mute.lift", "ban.lift"}
		if diff := cmp.Diff(want, auditActions(t, s)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestHoldsForPublishPage(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		ctx := t.Context()
		var batches []store.EventBatch
		for _, g := range []string{"g1", "g2", "g3", "g4"} {
			register(t, s, g)
			e := event("u", inMinutes(0), inMinutes(9))
			e.GroupID = g
			batches = append(batches, store.EventBatch{Shard: must(s.Group(ctx, g))(t).Shard, Cursor: "1-1", Events: []store.HoldEvent{e}})
		}
		if err := s.ApplyEvents(ctx, batches); err != nil {
			t.Fatal(err)
		}
		must(s.LiftMute(ctx, actor(), "g2", "u", store.Anything()))(t) // Redis must hear of that one too
		seen := map[string]int{}
		var at store.HoldKey
		for {
			page := must(s.MutesForPublish(ctx, nil, at, 3))(t)
			for _, m := range page {
				seen[m.GroupID]++
				at = store.HoldKey{GroupID: m.GroupID, UserID: m.UserID}
			}
			if len(page) < 3 {
				break
			}
		}
		if diff := cmp.Diff(map[string]int{"g1": 1, "g2": 1, "g3": 1, "g4": 1}, seen); diff != "" {
			t.Error(diff)
		}
		bans := must(s.BansForPublish(ctx, []uint8{batches[0].Shard}, store.HoldKey{}, 10))(t)
		if len(bans) != 1 || bans[0].GroupID != "g1" || bans[0].Action != "message" {
			t.Errorf("bans = %+v", bans)
		}
	})
}
