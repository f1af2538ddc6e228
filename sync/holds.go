package sync

import (
	"context"
	"fmt"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// publishHolds brings the mutes and bans that the changes name into Redis, as the database has them now.
func (s *Sync) publishHolds(ctx context.Context, jobs []*job) error {
	type hold struct {
		kind                store.Kind
		group, action, user string
	}
	done := map[hold]bool{}
	for _, j := range jobs {
		for _, c := range j.changes {
			h := hold{c.Kind, c.GroupID, c.Action, c.UserID}
			if done[h] || (h.kind != store.KindMute && h.kind != store.KindBan) {
				continue
			}
			done[h] = true
			publish := s.publishBan
			if h.kind == store.KindMute {
				publish = s.publishMute
			}
			if err := publish(ctx, h.group, h.action, h.user); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Sync) publishMute(ctx context.Context, group, _, user string) error {
	m, err := s.store.MuteForPublish(ctx, group, user)
	if isNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read mute: %w", err)
	}
	return s.bringMute(ctx, m)
}

func (s *Sync) publishBan(ctx context.Context, group, action, user string) error {
	b, err := s.store.BanForPublish(ctx, group, action, user)
	if isNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read ban: %w", err)
	}
	return s.bringBan(ctx, b)
}

// bringMute hands a mute of the database to Redis, or ends it there if it was lifted.
func (s *Sync) bringMute(ctx context.Context, m store.Mute) error {
	return s.callShard(ctx, enforce.Shard(m.GroupID), func(ctx context.Context) error {
		if !m.LiftedAt.IsZero() {
			_, err := s.publisher.LiftMute(ctx, m.GroupID, m.UserID, m.StartMS)
			return err
		}
		return s.publisher.PutMute(ctx, m.GroupID, m.UserID, enforce.MuteRecord{
			StartMS: m.StartMS, EndMS: m.EndMS, Cause: policy.Cause(m.Cause), Step: m.Step,
		})
	})
}

// bringBan is bringMute for a ban.
func (s *Sync) bringBan(ctx context.Context, b store.Ban) error {
	return s.callShard(ctx, enforce.Shard(b.GroupID), func(ctx context.Context) error {
		if !b.LiftedAt.IsZero() {
			_, err := s.publisher.LiftBan(ctx, b.Action, b.GroupID, b.UserID, b.StartMS)
			return err
		}
		return s.publisher.PutBan(ctx, b.Action, b.GroupID, b.UserID, b.StartMS, b.EndMS)
	})
}
