package enforce

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/policy"
)

// What check_all.lua says became of a subject's attempt.
const (
	howPeeked = iota
	howCharged
	howAbsent // the scope does not limit the action
	howDamaged
)

var errApart = errors.New("the subjects' keys lie apart")

// checkTogether decides by all limits in one call of check_all.lua: on one server nothing comes between. False = the server
// takes no call about several slots; nothing was decided.
func (c *Client) checkTogether(ctx context.Context, all []*scoped, peek bool) (Answer, bool) {
	calls := make([]*asked, len(all))
	for i, one := range all {
		req := one.req
		req.Peek = peek
		calls[i] = c.newCall(req)
		calls[i].learn = calls[i].learn || c.known.last(policyName{req.Action, req.Group}).absent
	}
	c.askTogether(ctx, calls)
	if errors.Is(calls[0].err, errApart) {
		c.apart.Store(true)
		return Answer{}, false
	}
	var limiting []*scoped
	for i, one := range all {
		if call := calls[i]; call.err == nil && call.how == howAbsent {
			c.known.learn(policyName{call.req.Action, call.req.Group}, lastKnown{
				rule: builtIn(call.req.Action), compiled: policy.FactoryPolicy(call.req.Action), absent: true,
			}, call.now)
			continue
		}
		one.call, one.decision = calls[i], c.learned(ctx, calls[i])
		if c.limits(one) {
			limiting = append(limiting, one)
		}
	}
	return c.told(limiting), true
}

// askTogether makes the call, if the breaker lets it through, and waits no longer than timeout and context allow.
func (c *Client) askTogether(ctx context.Context, calls []*asked) {
	if !c.circuits.allow(calls[0].shard, calls[0].now) {
		fail(calls, errCircuit)
		return
	}
	callCtx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	switch err := callCtx.Err(); {
	case err != nil:
		fail(calls, err)
	case c.obeys:
		c.tripTogether(callCtx, calls)
	default:
		c.waitFor(callCtx, calls, c.tripTogether)
	}
	c.noteCircuits(ctx.Err() == nil, calls)
}

// tripTogether is the round trip: the script, and what is to be learned of policies beside it.
func (c *Client) tripTogether(ctx context.Context, calls []*asked) {
	keys, args := c.callTogether(calls)
	pipe, readings := c.cfg.Redis.Pipeline(), make([]reading, len(calls))
	cmd := send(ctx, pipe, "evalsha", c.all.Hash(), keys, args)
	for i, call := range calls {
		if call.learn {
			readings[i] = c.read(ctx, pipe, call.req)
		}
	}
	_, _ = pipe.Exec(ctx) // each reply has its own error
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		cmd = send(ctx, c.cfg.Redis, "eval", c.all.source, keys, args)
	}
	if err := decodeTogether(cmd, calls); err != nil {
		fail(calls, err)
	}
	for i, call := range calls {
		if call.learn && (call.err != nil || call.how < howAbsent) {
			call.learned(readings[i])
		}
	}
}

// callTogether builds KEYS and ARGV of check_all.lua.
func (c *Client) callTogether(calls []*asked) (keys []string, args []any) {
	req := calls[0].req
	args = append(args, itoa(max(req.Cost, 1)), flagText(req.Peek), flagText(!isScope(req.Group)), "")
	for _, call := range calls {
		own, _ := c.call(call.req)
		rule := c.known.last(policyName{call.req.Action, call.req.Group}).rule
		keys, args = append(keys, own...), append(args, call.req.User, joinRoles(call.req.Roles), flagText(rule == policy.Refuse))
	}
	return keys, args
}

func flagText(on bool) string {
	if on {
		return "1"
	}
	return ""
}

// decodeTogether reads the reply of check_all.lua into the calls.
func decodeTogether(cmd *redis.Cmd, calls []*asked) error {
	reply, ok := cmd.Val().([]any) // a pipeline that breaks puts its error on what was answered, too
	if err := cmd.Err(); !ok && err != nil {
		if redis.HasErrorPrefix(err, "CROSSSLOT") || redis.HasErrorPrefix(err, "ERR") && strings.Contains(err.Error(), "same slot") {
			return errApart
		}
		return err //nolint:wrapcheck // Redis's own, told as it is
	}
	if len(reply) != 2*len(calls) {
		return fmt.Errorf("the script answered %d values instead of %d", len(reply), 2*len(calls))
	}
	for i, call := range calls {
		how, ok := reply[2*i].(int64)
		if !ok || how < howPeeked || how > howDamaged {
			return fmt.Errorf("value %d of the script says nothing of a subject", 2*i)
		}
		switch call.how = how; how {
		case howDamaged:
			call.err = errDamagedScope
		case howPeeked, howCharged:
			decision, err := decodeDecision(reply[2*i+1])
			if err != nil {
				return err
			}
			call.decision = decision
		}
	}
	return nil
}
