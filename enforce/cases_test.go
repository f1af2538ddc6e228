//nolint:thelper // the functions given to Each are the tests themselves; as helpers they would hide the failing line
package enforce_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

func TestC1_SameMillisecondCountsSeparately(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		k := newKit(t, rdb, noInterval())
		for range 8 {
			k.want(0, policy.Allowed)
		}
		k.want(0, policy.RefusedLimit, 30_000)
	})
}

func TestC2_RefusalsDoNotSlideTheWindow(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		p := noInterval()
		p.Ladder = nil
		k := newKit(t, rdb, p)
		for range 8 {
			k.want(0, policy.Allowed)
		}
		for ms := int64(5000); ms < 30_000; ms += 5000 {
			k.want(ms, policy.RefusedLimit, 30_000-ms)
		}
		k.want(30_000, policy.Allowed)
	})
}

func TestC2_WithTheLadder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		k := newKit(t, rdb, noInterval())
		for range 8 {
			k.want(0, policy.Allowed)
		}
		k.want(5000, policy.RefusedLimit, 25_000)
		k.want(10_000, policy.RefusedLimit, 20_000)
		if d := k.want(15_000, policy.RefusedLimit, 60_000); d.Step != 1 || d.Strikes != 3 {
			t.Fatalf("the third strike took %+v", d)
		}
		for ms := int64(20_000); ms < 75_000; ms += 5000 {
			k.want(ms, policy.RefusedMuted, 75_000-ms)
		}
		k.want(75_000, policy.Allowed)
	})
}

func TestC3_EveryStateKeyHasATTL(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		k := newKit(t, rdb, p0())
		keys := k.scriptKeys()[2:4]
		moments := []int64{0, 100, 2000, 5000, 5001, 6500, 70_000}
		for _, ms := range moments {
			k.at(ms)
			k.ttls(keys...)
			for _, key := range keys {
				rdb.Persist(t.Context(), key)
			}
			k.at(ms)
			k.ttls(keys[0])
			for more := range int64(16) { // the record's is looked at in one millisecond of sixteen
				k.at(ms + more)
			}
			k.ttls(keys...)
		}
		if n := rdb.Exists(t.Context(), keys...).Val(); n != 2 {
			t.Fatalf("%d of 2 keys are there", n)
		}
		k.want(10_000_000, policy.Allowed) // no one is blocked for ever
	})
}

func TestC4_RefusalsDoNotExtendTheWait(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		p := p0()
		p.Ladder = nil
		k := newKit(t, rdb, p)
		k.want(0, policy.Allowed)
		for ms := int64(100); ms < 2000; ms += 100 {
			k.want(ms, policy.RefusedInterval, 2000-ms)
		}
		k.want(2000, policy.Allowed)
	})
}

func TestC5_AttemptsWhileMutedChangeNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		k := newKit(t, rdb, p0())
		k.want(-10_000, policy.Allowed)
		k.want(-9000, policy.RefusedInterval)
		k.want(-8000, policy.Allowed)
		k.want(-7000, policy.RefusedInterval)
		k.want(-1000, policy.Allowed)
		k.want(0, policy.RefusedInterval, 60_000)
		before := k.member()
		for ms := int64(1000); ms < 60_000; ms += 1000 {
			k.want(ms, policy.RefusedMuted, 60_000-ms)
		}
		k.want(59_999, policy.RefusedMuted, 1)
		same(t, "the record", before, k.member())
		if d := k.want(60_000, policy.Allowed); d.Strikes != 3 {
			t.Fatalf("strikes = %d, want 3", d.Strikes)
		}
	})
}

func TestC8_WindowWait(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		k := newKit(t, rdb, p0())
		for i := range int64(8) {
			k.want(i*2000, policy.Allowed)
		}
		k.want(16_000, policy.RefusedLimit, 14_000)
		k.want(30_000, policy.Allowed)
	})
}

func TestC9_NoSeamBetweenMinutes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		p := noInterval()
		p.Ladder = nil
		k := newKit(t, rdb, p)
		for i := range int64(8) {
			k.want(59_000+i*100, policy.Allowed)
		}
		for i := range int64(8) {
			k.want(60_000+i*100, policy.RefusedLimit)
		}
	})
}

func TestC10_WaitIsNeverZero(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		k := newKit(t, rdb, p0())
		k.want(0, policy.Allowed)
		k.want(1999, policy.RefusedInterval, 1)
		k.want(2000, policy.Allowed)
	})
}

func TestC11_PolicyChangeBindsAtOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		p := p0()
		p.MinIntervalMS = 10_000
		k := newKit(t, rdb, p)
		k.want(0, policy.Allowed)
		p.MinIntervalMS = 1000
		k.publish(p)
		k.want(5000, policy.Allowed, 0)
		p.MinIntervalMS = 10_000
		k.publish(p)
		k.want(6000, policy.RefusedInterval, 9000)
	})
}

func TestC12_LooseningNeverRefuses(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		k := newKit(t, rdb, p0())
		for i := range int64(3) {
			k.want(i*2000, policy.Allowed)
		}
		p := p0()
		p.Limit = 50
		k.publish(p)
		if d := k.want(6000, policy.Allowed); d.Remaining != 46 || d.Limit != 50 {
			t.Fatalf("remaining %d of %d, want 46 of 50", d.Remaining, d.Limit)
		}
	})
}

func TestC17_MuteServedThenOneMore(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		k := newKit(t, rdb, p0())
		ms := int64(0)
		var steps []int64
		for range 6 {
			k.want(ms, policy.Allowed)
			d := k.at(ms + 1000)
			steps = append(steps, d.Step)
			ms += 1000 + max(d.WaitMS, 2000)
		}
		same(t, "steps", []int64{0, 0, 1, 2, 3, 4}, steps)
		k.want(ms-1, policy.RefusedReview, 1)
		ms += 6 * 600_000 // after enough clean time the first again
		k.want(ms, policy.Allowed)
		if d := k.want(ms+1000, policy.RefusedInterval, 1000); d.Step != 0 || d.Strikes != 1 {
			t.Fatalf("after clean time: %+v", d)
		}
	})
}

func TestC18_LadderCutUnderAMember(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		k := newKit(t, rdb, p0())
		ms := int64(0)
		for range 5 {
			k.want(ms, policy.Allowed)
			ms += 1000 + max(k.at(ms+1000).WaitMS, 2000)
		}
		p := p0()
		p.Ladder = p.Ladder[:1]
		k.publish(p)
		k.want(ms, policy.Allowed)
		if d := k.want(ms+1000, policy.RefusedInterval, 60_000); d.Step != 1 || d.Strikes != 6 {
			t.Fatalf("with a ladder of one step: %+v", d)
		}
	})
}

func TestC19_DamagedPolicyIsNeverUnlimited(t *testing.T) {
	t.Parallel()
	damage := map[string]func(*kit){
		"missing hash":   func(k *kit) { k.rdb.Del(k.t.Context(), k.keys.Policy("message", group)) },
		"deleted field":  func(k *kit) { k.rdb.HDel(k.t.Context(), k.keys.Policy("message", group), "program") },
		"field abc":      func(k *kit) { k.rdb.HSet(k.t.Context(), k.keys.Policy("message", group), "program", "abc") },
		"another format": func(k *kit) { k.rdb.HSet(k.t.Context(), k.keys.Policy("message", group), "program", "\x02") },
		"wrong type": func(k *kit) {
			k.rdb.Set(k.t.Context(), k.keys.Policy("message", group), "x", 0)
			k.rdb.Set(k.t.Context(), k.keys.Default(enforce.Shard(group), "message"), "x", 0)
			for _, key := range k.scriptKeys()[2:] {
				k.rdb.LPush(k.t.Context(), key, "x")
			}
		},
		"corrupt state": func(k *kit) {
			k.rdb.Set(k.t.Context(), k.keys.State("message", group, user), "garbage", 0)
			k.rdb.Set(k.t.Context(), k.keys.Member(group, user), "garbage", 0)
			k.rdb.Del(k.t.Context(), k.keys.Policy("message", group))
		},
	}
	for name, spoil := range damage {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
				k := newKit(t, rdb, noInterval())
				spoil(k)
				if d := k.want(0, policy.Allowed); d.Limit != 8 {
					t.Fatalf("limit = %d, want the factory's 8", d.Limit)
				}
				k.want(1, policy.RefusedInterval, 1999)
				k.want(2000, policy.Allowed)
				k.want(2500, policy.RefusedInterval)
				k.want(4000, policy.Allowed)
				if d := k.want(4100, policy.RefusedInterval, 60_000); d.Step != 1 {
					t.Fatalf("third strike: %+v", d)
				}
				k.ttls(k.scriptKeys()[2:4]...)
				if n := rdb.ZCard(t.Context(), k.keys.Muted(group)).Val(); n != 1 {
					t.Fatalf("%d muted, want 1", n)
				}
				if n := rdb.XLen(t.Context(), k.keys.Events(enforce.Shard(group))).Val(); n != 3 {
					t.Fatalf("%d events, want 3", n)
				}
			})
		})
	}
}

func TestC23_TheSecondDoesNotSlide(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		p := p0()
		p.Ladder = nil
		k := newKit(t, rdb, p)
		var counted []int64
		for ms := int64(0); ms <= 9000; ms += 900 {
			before := k.member().Strikes
			if k.at(ms); k.member().Strikes != before {
				counted = append(counted, ms)
			}
		}
		same(t, "moments of counted strikes", []int64{900, 3600, 6300, 9000}, counted)
	})
}

func TestC23_AtMostOneASecond(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		p := p0()
		p.Ladder, p.MinIntervalMS = nil, 10_000
		k := newKit(t, rdb, p)
		k.want(0, policy.Allowed)
		for ms := int64(900); ms < 10_000; ms += 900 {
			k.want(ms, policy.RefusedInterval)
		}
		// 900 counts, 1800 does not, 2700 does, …: every second attempt.
		if got := k.member().Strikes; got != 6 {
			t.Fatalf("strikes = %d, want 6", got)
		}
	})
}

func TestC24_SoftModeLeavesNoTrace(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		p := p0()
		p.Mode, p.BanForMS = policy.Soft, 3_600_000
		k := newKit(t, rdb, p)
		k.want(0, policy.Allowed)
		for i := range int64(20) {
			k.want(10+i*50, policy.AllowedWarned)
		}
		same(t, "the record", policy.MemberRecord{}, k.member())
		p.Mode = policy.Hard
		k.publish(p)
		k.want(2000, policy.Allowed)
	})
}

func TestC25_ModeratorBeatsExemptionBeatsLadder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		k := newKit(t, rdb, p0())
		now := k.now()
		client := enforce.New(enforce.Config{Redis: rdb})
		ask := func(roles ...string) policy.DecisionCode {
			d, err := client.Check(t.Context(), enforce.Request{Action: "message", Group: group, User: user, Roles: roles})
			if err != nil {
				t.Fatal(err)
			}
			return d.Code
		}
		put := func(start int64, cause policy.Cause) {
			err := k.pub.PutMute(t.Context(), group, user, enforce.MuteRecord{StartMS: start, EndMS: now + 3_600_000, Cause: cause})
			if err != nil {
				t.Fatal(err)
			}
		}
		if _, err := k.pub.PublishExemptions(t.Context(), group, 1, []enforce.ExemptEntry{{User: user}}); err != nil {
			t.Fatal(err)
		}
		put(now, policy.CauseLadder)
		same(t, "ladder mute, exempt role", policy.AllowedExempt, ask("admin"))
		same(t, "ladder mute, named", policy.Allowed, ask())
		same(t, "ladder mute, named, too soon", policy.AllowedExempt, ask())
		put(now+1, policy.CauseModerator)
		same(t, "moderator, exempt role", policy.RefusedMuted, ask("admin"))
		same(t, "moderator, named", policy.RefusedMuted, ask())
	})
}

// TestReadmeTimeline runs the table of README.md.
func TestReadmeTimeline(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		k := newKit(t, rdb, p0())
		for _, row := range []struct{ at, code, wait, strikes, step int64 }{
			{0, 0, 0, 0, 0},
			{1000, 10, 1000, 1, 0},
			{1500, 10, 500, 1, 0},
			{2000, 0, 0, 1, 0},
			{3000, 10, 1000, 2, 0},
			{4000, 0, 0, 2, 0},
			{5000, 10, 60_000, 3, 1},
			{64_999, 12, 1, 3, 0},
			{65_000, 0, 0, 3, 0},
		} {
			d := k.want(row.at, policy.DecisionCode(row.code), row.wait)
			same(t, "strikes and step", [2]int64{row.strikes, row.step}, [2]int64{d.Strikes, d.Step})
		}
	})
}
