package api

import (
	"context"
	"strconv"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
)

// CheckAll implements POST /v1/check. It asks Redis alone, as Check does.
func (a *API) CheckAll(ctx context.Context, r CheckAllRequestObject) (CheckAllResponseObject, error) {
	in, err := decode[CheckAllInput](a, r.Body)
	if err != nil {
		return nil, err
	}
	var subjects CheckSubjects
	if faults := readObject(a, in.Subjects, &subjects, "subjects"); len(faults) > 0 {
		return nil, below("/subjects", invalid(faults...))
	}
	sys, err := a.checkable(ctx, in.Action)
	if err != nil {
		return nil, err
	}
	if err := emptySubject(subjects); err != nil {
		return nil, err
	}
	cost := int64(1)
	if in.Cost != nil {
		cost = *in.Cost
	}
	answer, err := a.cfg.Check.CheckAll(ctx, enforce.Subjects{
		Action: in.Action, Group: deref(subjects.Group), User: deref(subjects.User), Peer: deref(subjects.Peer), IP: deref(subjects.Ip),
		Roles: a.knownRoles(sys, deref(in.Roles)), Cost: cost, Peek: cost == 0,
	})
	if err != nil {
		return nil, err
	}
	a.metrics.checks.WithLabelValues(in.Action, strconv.FormatInt(int64(answer.Code), 10)).Inc()
	if err := aboveLimit(cost, answer.Decision.Decision); err != nil {
		return nil, err
	}
	return CheckAll200JSONResponse(showAnswer(answer)), nil
}

// emptySubject refuses subjects that are named and empty: they are not the same as those that are left out.
func emptySubject(s CheckSubjects) error {
	for _, named := range [...]struct {
		pointer string
		id      *string
	}{{"/subjects/group", s.Group}, {"/subjects/user", s.User}, {"/subjects/peer", s.Peer}, {"/subjects/ip", s.Ip}} {
		if named.id != nil && *named.id == "" {
			return invalid(policy.FieldError{Pointer: named.pointer, Code: "required", Detail: "a subject that is named must not be empty"})
		}
	}
	return nil
}

func showAnswer(answer enforce.Answer) ScopedDecision {
	var notice *Notice
	if en := answer.Notice(policy.English); en != "" {
		notice = &Notice{En: en, Zh: answer.Notice(policy.Chinese)}
	}
	d := showDecision(answer.Decision.Decision, notice)
	return ScopedDecision{
		Scope: ScopedDecisionScope(answer.Scope), Allowed: d.Allowed, Code: d.Code, Reason: d.Reason, WaitMs: d.WaitMs,
		Remaining: d.Remaining, Limit: d.Limit, Strikes: d.Strikes, Step: d.Step, Version: d.Version, Degraded: d.Degraded,
		Notice: d.Notice,
	}
}
