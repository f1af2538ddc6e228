package enforce

import (
	"context"
	"errors"
	"slices"

	"github.com/pacekeeper/pacekeeper/policy"
)

// CheckAll decides one attempt by the limits of all that it counts for, and gives one answer: a refusal if any of them
// refuses, with the longest wait. Nothing is charged to any of them where another refuses. On one server it is one call of
// check_all.lua, and nothing comes between. Where the keys lie in several slots (a cluster, a ring) it takes three steps:
//
//  1. All are peeked at in one round trip. Where a scope of the system refuses, that is the answer; it alone is then asked
//     for real, if its policy bans or counts what it refuses.
//  2. The attempt is charged to the group. If the group refuses, that is the answer.
//  3. It is charged to the scopes of the system, in one round trip.
//
// Each charge is decided by itself, so no scope ever lets more pass than its limit, however many ask at once. An attempt that
// passes in 1 and is refused in 3, because another one of the same subject came between, has been charged where it passed:
// at most the attempts that were under way at the same moment. Where no scope of the system limits the action, which is
// looked for again after a second, it is one round trip, as Check is. While Redis cannot answer for a scope, that scope's
// on_failure decides for it. Errors are as those of Check.
func (c *Client) CheckAll(ctx context.Context, s Subjects) (Answer, error) {
	all, err := s.scopes()
	if err != nil {
		return Answer{}, err
	}
	asked := slices.DeleteFunc(slices.Clone(all), func(one *scoped) bool {
		return isScope(one.req.Group) && c.known.without(policyName{one.req.Action, one.req.Group}, c.cfg.Now())
	})
	answer := c.checkScopes(ctx, asked, s.Peek)
	if answer.Scope == "" { // nothing limits it
		answer.Scope = all[0].scope
	}
	for _, one := range all {
		if one.scope == answer.Scope {
			c.tell(one.req, answer.Decision)
		}
	}
	return answer, nil
}

func (c *Client) checkScopes(ctx context.Context, asked []*scoped, peek bool) Answer {
	if !slices.ContainsFunc(asked, func(one *scoped) bool { return isScope(one.req.Group) }) {
		return c.charge(ctx, asked, peek)
	}
	if !c.apart.Load() {
		if answer, ok := c.checkTogether(ctx, asked, peek); ok {
			return answer
		}
	}
	return c.checkInSteps(ctx, asked, peek)
}

func (c *Client) checkInSteps(ctx context.Context, asked []*scoped, peek bool) Answer {
	asked = c.peek(ctx, asked)
	outer := slices.DeleteFunc(slices.Clone(asked), func(one *scoped) bool { return one.scope == policy.ScopeGroup })
	inner := asked[:len(asked)-len(outer)]
	refusing := only(outer, (*scoped).refuses)
	if peek {
		return c.told(asked)
	}
	if unsure := only(refusing, func(one *scoped) bool { return !one.certain() }); len(unsure) > 0 {
		c.charge(ctx, unsure, false)
	}
	if slices.ContainsFunc(refusing, (*scoped).refuses) {
		return c.told(only(asked, (*scoped).refuses))
	}
	c.charge(ctx, only(inner, (*scoped).open), false)
	if !slices.ContainsFunc(inner, func(one *scoped) bool { return !one.decision.Allowed() }) {
		c.charge(ctx, only(outer, (*scoped).open), false)
	}
	return c.told(asked)
}

// open says that the attempt is still to be charged; where Redis did not answer the peek, on_failure has decided.
func (s *scoped) open() bool { return !s.charged && s.call.err == nil }

// told is the answer of several, if there are any.
func (c *Client) told(all []*scoped) Answer {
	if len(all) == 0 {
		return Answer{}
	}
	return gravest(all)
}

func only(all []*scoped, keep func(*scoped) bool) (kept []*scoped) {
	for _, one := range all {
		if keep(one) {
			kept = append(kept, one)
		}
	}
	return kept
}

// peek asks what the attempt would be answered, reads the policies of scopes, and returns those that limit it.
func (c *Client) peek(ctx context.Context, all []*scoped) (limiting []*scoped) {
	calls := make([]*asked, len(all))
	for i, one := range all {
		req := one.req
		req.Peek = true
		calls[i] = c.newCall(req)
		calls[i].learn = calls[i].learn || isScope(req.Group)
	}
	c.askAllowed(ctx, calls)
	for i, one := range all {
		one.call, one.decision = calls[i], c.learned(ctx, calls[i])
		if c.limits(one) {
			limiting = append(limiting, one)
		}
	}
	return limiting
}

// limits says whether a subject that was asked limits the attempt; what was seen not to, and cannot be asked now, is left out.
func (c *Client) limits(one *scoped) bool {
	return !isScope(one.req.Group) || errors.Is(one.call.err, errDamagedScope) ||
		!c.known.last(policyName{one.req.Action, one.req.Group}).absent
}

// charge asks for real, or with peek for what that would be answered, in one round trip.
func (c *Client) charge(ctx context.Context, all []*scoped, peek bool) Answer {
	if len(all) == 0 {
		return Answer{}
	}
	calls := make([]*asked, len(all))
	for i, one := range all {
		req := one.req
		req.Peek = peek
		calls[i] = c.newCall(req)
		calls[i].learn = calls[i].learn && !isScope(req.Group)
	}
	c.askAllowed(ctx, calls)
	for i, one := range all {
		if one.call == nil {
			one.call = calls[i]
		}
		one.decision, one.charged = c.learned(ctx, calls[i]), !peek
	}
	return gravest(all)
}
