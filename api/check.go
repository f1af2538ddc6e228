package api

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
)

// Check implements POST /v1/groups/{group_id}/check. It asks Redis alone, so that it works while the database is away.
func (a *API) Check(ctx context.Context, r CheckRequestObject) (CheckResponseObject, error) {
	in, err := decode[CheckInput](a, r.Body)
	if err != nil {
		return nil, err
	}
	if err := policy.CheckID("/user_id", in.UserId); err != nil {
		return nil, err
	}
	sys, err := a.checkable(ctx, in.Action)
	if err != nil {
		return nil, err
	}
	cost := int64(1)
	if in.Cost != nil {
		cost = *in.Cost
	}
	decision, err := a.cfg.Check.Check(ctx, enforce.Request{
		Action: in.Action, Group: r.GroupId, User: in.UserId, Roles: a.knownRoles(sys, deref(in.Roles)), Cost: cost, Peek: cost == 0,
	})
	if err != nil {
		return nil, err
	}
	a.metrics.checks.WithLabelValues(in.Action, strconv.FormatInt(int64(decision.Code), 10)).Inc()
	if err := aboveLimit(cost, decision.Decision); err != nil {
		return nil, err
	}
	return Check200JSONResponse(showDecision(decision.Decision, a.notice(ctx, sys, r.GroupId, in.Action, decision.Decision))), nil
}

// aboveLimit is the fault of a cost that could never pass.
func aboveLimit(cost int64, d policy.Decision) error {
	if d.Code != policy.RefusedLimit || d.Limit == 0 || cost <= d.Limit {
		return nil
	}
	return invalid(policy.FieldError{
		Pointer: "/cost", Code: "range", Detail: "cost must be 0 to " + strconv.FormatInt(d.Limit, 10) + ", the limit in force",
	})
}

// checkable refuses actions that are not registered. The system is nil while none was ever read.
func (a *API) checkable(ctx context.Context, action string) (*policy.System, error) {
	sys := a.systems.get(ctx, a.cfg.Now())
	if policy.ValidActionName(action) && (sys == nil || sys.Registered(action)) {
		return sys, nil
	}
	if sys != nil && policy.ValidActionName(action) {
		sys = a.systems.fresh(ctx, a.cfg.Now()) // it may have been registered a moment ago, elsewhere
		if sys != nil && sys.Registered(action) {
			return sys, nil
		}
	}
	detail := "action must name a registered action"
	if sys != nil {
		detail += ": " + strings.Join(sys.ActionNames(), ", ")
	}
	return nil, invalid(policy.FieldError{Pointer: "/action", Code: "unknown", Detail: detail})
}

// knownRoles drops and counts the roles that nobody knows.
func (a *API) knownRoles(sys *policy.System, roles []string) []string {
	return slices.DeleteFunc(slices.Clone(roles), func(role string) bool {
		unknown := !policy.ValidActionName(role) || sys != nil && !slices.Contains(sys.Roles(), role)
		if unknown {
			a.metrics.unknownRoles.Inc()
		}
		return unknown
	})
}

func showDecision(d policy.Decision, notice *Notice) Decision {
	return Decision{
		Allowed: d.Allowed(), Code: int64(d.Code), Reason: d.Code.String(), WaitMs: d.WaitMS, Remaining: d.Remaining,
		Limit: d.Limit, Strikes: d.Strikes, Step: d.Step, Version: d.Version,
		Degraded: d.Code == policy.AllowedDegraded || d.Code == policy.RefusedDegraded, Notice: notice,
	}
}
