package enforce

import (
	"context"
	"fmt"
	"strconv"

	"github.com/pacekeeper/pacekeeper/policy"
)

// MuteRecord is one mute as Postgres holds it.
type MuteRecord = policy.MuteRecord

// holdAction is the speech action whose policy holds the group's forgiveness clock.
const holdAction = "message"

// PutMute puts a mute that Postgres holds: a moderator's as asked, others (a rebuild) never shorter than what is there.
// A mute with an earlier start, or one that was lifted, is ignored.
func (p *Publisher) PutMute(ctx context.Context, group, user string, r MuteRecord) error {
	cause := string(causeByte(r.Cause))
	_, err := p.mute(ctx, group, user, "put", itoa(r.StartMS), itoa(moment(r.EndMS)), cause, itoa(r.Step))
	if err != nil {
		return fmt.Errorf("put mute: %w", err)
	}
	return nil
}

// LiftMute ends the member's mute if it started at startMS (ms since the epoch) or before, takes back the strike behind
// it, and answers its start for Postgres to keep; 0 = there was none.
func (p *Publisher) LiftMute(ctx context.Context, group, user string, startMS int64) (int64, error) {
	start, err := p.mute(ctx, group, user, "lift", itoa(startMS))
	if err != nil {
		return 0, fmt.Errorf("lift mute: %w", err)
	}
	return start, nil
}

func (p *Publisher) mute(ctx context.Context, group, user, op string, args ...string) (int64, error) {
	shard := Shard(group)
	keys := []string{
		p.keys.Member(group, user), p.keys.Muted(group), p.keys.Policy(holdAction, group), p.keys.Default(shard, holdAction),
	}
	words := []any{op, user}
	for _, arg := range args {
		words = append(words, arg)
	}
	return p.scripts.mute.Run(ctx, p.rdb, keys, words...).Int64()
}

// PutBan puts back a ban that Postgres holds (start and end in ms since the epoch), never shorter than what is there.
// A ban with an earlier start, or one that was lifted, is ignored.
func (p *Publisher) PutBan(ctx context.Context, action, group, user string, startMS, endMS int64) error {
	_, err := p.ban(ctx, action, group, user, "put", itoa(startMS), itoa(moment(endMS)))
	if err != nil {
		return fmt.Errorf("put ban: %w", err)
	}
	return nil
}

// LiftBan ends the member's ban from an action if it started at startMS or before, and answers its start; 0 = there was
// none.
func (p *Publisher) LiftBan(ctx context.Context, action, group, user string, startMS int64) (int64, error) {
	start, err := p.ban(ctx, action, group, user, "lift", itoa(startMS))
	if err != nil {
		return 0, fmt.Errorf("lift ban: %w", err)
	}
	return start, nil
}

func (p *Publisher) ban(ctx context.Context, action, group, user string, args ...any) (int64, error) {
	keys := []string{
		p.keys.State(action, group, user), p.keys.Member(group, user),
		p.keys.Policy(action, group), p.keys.Default(Shard(group), action),
	}
	return p.scripts.ban.Run(ctx, p.rdb, keys, args...).Int64()
}

// ReadMember reads one member's strikes and mute; the zero record where there is none.
func (p *Publisher) ReadMember(ctx context.Context, group, user string) (policy.MemberRecord, error) {
	raw, err := p.rdb.Get(ctx, p.keys.Member(group, user)).Bytes()
	if err != nil && !isMissing(err) {
		return policy.MemberRecord{}, fmt.Errorf("read member: %w", err)
	}
	return DecodeMember(raw), nil
}

// ReadState reads one member's state of an action; the zero state where there is none.
func (p *Publisher) ReadState(ctx context.Context, action, group, user string) (policy.ActionState, error) {
	raw, err := p.rdb.Get(ctx, p.keys.State(action, group, user)).Bytes()
	if err != nil && !isMissing(err) {
		return policy.ActionState{}, fmt.Errorf("read state: %w", err)
	}
	return DecodeState(raw), nil
}

func moment(ms int64) int64 { return min(max(ms, 0), policy.MaxMomentMS) }

func parseInt(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}
