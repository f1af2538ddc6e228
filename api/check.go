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
	sys, err := a.checkFault(ctx, in)
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
	if decision.Code == policy.RefusedLimit && decision.Limit > 0 && cost > decision.Limit {
		return nil, invalid(policy.FieldError{
			Pointer: "/cost", Code: "range",
			Detail: "cost must be 0 to " + strconv.FormatInt(decision.Limit, 10) + ", the limit in force",
		})
	}
	return Check200JSONResponse(showDecision(decision.Decision, a.notice(ctx, sys, r.GroupId, in.Action, decision.Decision))), nil
}

// checkFault refuses ids that are none and actions that are not registered.
func (a *API) checkFault(ctx context.Context, in CheckInput) (*policy.System, error) {
	if err := policy.CheckID("/user_id", in.UserId); err != nil {
		return nil, err
	}
	sys := a.systems.get(ctx, a.cfg.Now())
	if policy.ValidActionName(in.Action) && (sys == nil || sys.Registered(in.Action)) {
		return sys, nil
	}
	if sys != nil && policy.ValidActionName(in.Action) {
		sys = a.systems.fresh(ctx, a.cfg.Now()) // it may have been registered a moment ago, elsewhere
		if sys != nil && sys.Registered(in.Action) {
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
