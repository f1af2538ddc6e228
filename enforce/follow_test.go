//nolint:thelper // the functions given to Each are the tests themselves; as helpers they would hide the failing line
package enforce_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

// TestFollowedRuleNeedsNoCheck: an announced policy is read although nobody checks, and holds when Redis goes.
func TestFollowedRuleNeedsNoCheck(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	k := newKit(t, rdb, p0())
	client := enforce.New(enforce.Config{Redis: rdb, Timeout: 5 * time.Second})
	check(t, client, "message", group, user)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- client.Follow(ctx) }()
	until(t, "the client has subscribed", func() bool {
		return rdb.PubSubNumSub(t.Context(), k.keys.Changed()).Val()[k.keys.Changed()] == 1
	})
	p := p0()
	p.OnFailure = policy.Refuse
	k.publish(p)
	until(t, "the client has read the policy again", func() bool {
		if err := k.pub.Announce(t.Context(), group); err != nil {
			t.Fatal(err)
		}
		rule, version := client.Rule("message", group)
		return rule == policy.Refuse && version == 2
	})
	s.Stop()
	same(t, "code", policy.RefusedDegraded, check(t, client, "message", group, user).Code)
	stop()
	if err := <-done; err == nil {
		t.Fatal("Follow ended without a reason")
	}
}

func TestNoticeInTheGroupsWords(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		k := newKit(t, rdb, p0())
		texts := map[string]map[string]string{"en": {policy.NoticeTooSoon: "Easy! {wait}."}}
		if _, err := k.pub.Publish(t.Context(), enforce.Shard(group), []enforce.Publication{
			{Key: k.keys.Notice(group), Order: 1, Hash: enforce.NoticeHash(1, texts)},
		}); err != nil {
			t.Fatal(err)
		}
		client := enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
		passed := check(t, client, "message", group, user)
		same(t, "of what passes", "", passed.Notice("en"))
		same(t, "hint of what passes", enforce.Hint{Allowed: true, Reason: "allowed", Remaining: 7, Limit: 8, PolicyVersion: 1}, passed.Hint())
		refused := check(t, client, "message", group, user)
		same(t, "in English", "Easy! 2 s.", refused.Notice("fr"))
		same(t, "in Chinese, the system's", "您发言太快了，请等待 2 秒后再发。", refused.Notice("zh-CN"))
		many, err := client.Check(t.Context(), enforce.Request{Action: "message", Group: group, User: "u2", Cost: 9})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "of the window", "At most 8 messages in 30 s here. Please wait 30 s before the next message.", many.Notice("en-GB"))
	})
}
