package enforce_test

import (
	"context"
	"fmt"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
)

func (l *lane) read(ctx context.Context, pipe redis.Pipeliner) {
	l.state, l.stateTTL = pipe.Get(ctx, l.keys[2]), pipe.TTL(ctx, l.keys[2])
	l.whole, l.wholeTTL = pipe.Get(ctx, l.keys[7]), pipe.TTL(ctx, l.keys[7])
	l.member, l.memberTTL = pipe.Get(ctx, l.keys[3]), pipe.TTL(ctx, l.keys[3])
	if l.event != nil && l.event.MuteEndMS > 0 {
		l.readMuted(ctx, pipe)
	}
	l.events = pipe.XRange(ctx, l.keys[6], "-", "+")
}

func (l *lane) readMuted(ctx context.Context, pipe redis.Pipeliner) {
	l.muted, l.tmu = pipe.ZRangeWithScores(ctx, l.keys[5], 0, -1), pipe.TTL(ctx, l.keys[5])
}

func (l *lane) describe() string {
	return fmt.Sprintf("policy %+v\nattempt %+v\nbefore %+v\nop %q, bare %v", l.policy(), l.attempt, l.before, l.op, l.bare)
}

// compare answers what differs between Go and Redis after a step.
func (l *lane) compare() string {
	if l.opReply != nil {
		if got, err := l.opReply.Int64(); err != nil || got != l.opWant {
			return fmt.Sprintf("%s answered %d, %v; want %d", l.op, got, err, l.opWant)
		}
	}
	got, err := enforce.DecodeReply(l.reply)
	if err != nil {
		return "script error: " + err.Error()
	}
	if diff := cmp.Diff(l.want, got); diff != "" {
		return "reply (-evaluator +script): " + diff
	}
	state, _ := l.state.Bytes()
	if diff := cmp.Diff(l.st, enforce.DecodeState(state), cmpopts.EquateEmpty()); diff != "" {
		return "state: " + diff
	}
	whole, _ := l.whole.Bytes()
	if diff := cmp.Diff(l.all, enforce.DecodeState(whole), cmpopts.EquateEmpty()); diff != "" {
		return "state of the group: " + diff
	}
	member, _ := l.member.Bytes()
	if diff := cmp.Diff(l.m, enforce.DecodeMember(member)); diff != "" {
		return "member: " + diff
	}
	return l.compareEvent() + l.compareTTL(len(state) > 0, len(member) > 0, len(whole) > 0)
}

func (l *lane) compareEvent() string {
	msgs := l.events.Val()
	if l.event == nil {
		if len(msgs) > 0 {
			return fmt.Sprintf("unexpected event %v", msgs)
		}
		return ""
	}
	e := l.event
	want := fmt.Sprintf("%d %d %d %d %c %d %d %d %d", e.AtMS, e.Code, e.Strikes, e.Step, enforce.CauseByte(e.Cause),
		e.MuteStartMS, e.MuteEndMS, e.BanStartMS, e.BanEndMS)
	if len(msgs) != 1 || msgs[0].Values["v"] != want || msgs[0].Values["k"] != l.keys[2] {
		return fmt.Sprintf("events %v, want %q", msgs, want)
	}
	if e.MuteEndMS > 0 {
		z := l.muted.Val()
		if len(z) != 1 || z[0].Member != l.user() || int64(z[0].Score) != e.MuteEndMS {
			return fmt.Sprintf("muted %v, want end %d", z, e.MuteEndMS)
		}
		return outside("muted", l.tmu, e.MuteEndMS-l.now)
	}
	return ""
}

// compareTTL holds every time to live in the range of the contract. Left alone are an untouched one of the test's own,
// and a missing one where the call may change nothing.
func (l *lane) compareTTL(state, member, whole bool) string {
	p := l.policy()
	exempt := l.want.Code == policy.AllowedExempt || l.want.Limit == 0 && l.want.Code == policy.RefusedMuted
	if l.attempt.Cost == 0 || l.op != "" {
		return ""
	}
	looked := l.memberTTL.Val() != -1 || l.now%16 == 0 // one check of sixteen looks at the record's
	if member && p.Speech && looked {
		if msg := outside("member", l.memberTTL, l.m.NeedMS(l.now, p.ForgiveOneEveryMS)); msg != "" {
			return msg
		}
	}
	if whole && p.Enabled && p.Group.Limit > 0 {
		if msg := outside("state of the group", l.wholeTTL, l.all.NeedMS(groupOf(p), l.now)); msg != "" {
			return msg
		}
	}
	if state && !exempt {
		return outside("state", l.stateTTL, l.st.NeedMS(p, l.now))
	}
	return ""
}

func outside(name string, ttl *redis.DurationCmd, needMS int64) string {
	got := int64(ttl.Val().Seconds())
	if got > farTTL-1000 {
		return ""
	}
	low, high := (12*needMS+9999)/10_000, (24*needMS+9999)/10_000
	if got < low-1 || got > high || got < 1 {
		return fmt.Sprintf("%s lives %v (%d s), want %d to %d s", name, ttl.Val(), got, low, high)
	}
	return ""
}
