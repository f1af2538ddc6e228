package enforce

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/policy"
)

// ScopeBans reads the bans of subjects, by their scope of the system, from each of the actions; also those that are over.
// A read for each, in one pipeline. In the order of scopes, then of actions.
func (p *Publisher) ScopeBans(ctx context.Context, subjects map[policy.Scope]string, actions []string) ([]policy.ScopeBan, error) {
	pipe := p.rdb.Pipeline()
	var asked []policy.ScopeBan
	var states []*redis.StringCmd
	for _, scope := range policy.SystemScopes() {
		subject, named := subjects[scope]
		if !named {
			continue
		}
		for _, action := range actions {
			asked = append(asked, policy.ScopeBan{Scope: scope, Action: action, Subject: subject})
			states = append(states, pipe.Get(ctx, p.keys.ScopeState(action, scope, subject)))
		}
	}
	if _, err := pipe.Exec(ctx); err != nil && !isMissing(err) {
		return nil, fmt.Errorf("read bans of scopes: %w", err)
	}
	var bans []policy.ScopeBan
	for i, b := range asked {
		raw, err := states[i].Bytes()
		if err != nil && !isMissing(err) {
			return nil, fmt.Errorf("read bans of scopes: %w", err)
		}
		if state := DecodeState(raw); state.BanStartMS > 0 {
			b.StartMS, b.EndMS = state.BanStartMS, state.BanEndMS
			bans = append(bans, b)
		}
	}
	return bans, nil
}

// LiftScopeBan ends the ban if it started at b.StartMS or before; false = there was none.
func (p *Publisher) LiftScopeBan(ctx context.Context, b policy.ScopeBan) (lifted bool, err error) {
	shard := Shard(b.Subject)
	keys := []string{
		p.keys.ScopeState(b.Action, b.Scope, b.Subject), p.keys.scopeMember(b.Scope, b.Subject),
		p.keys.ScopePolicy(shard, b.Action, b.Scope), p.keys.Default(shard, b.Action),
	}
	start, err := p.scripts.ban.Run(ctx, p.rdb, keys, "lift", itoa(b.StartMS)).Int64()
	if err != nil {
		return false, fmt.Errorf("lift a ban of a scope: %w", err)
	}
	return start > 0, nil
}
