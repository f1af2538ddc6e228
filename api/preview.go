package api

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/pacekeeper/pacekeeper/policy"
)

// PreviewPolicy implements POST /v1/groups/{group_id}/policy/preview.
func (a *API) PreviewPolicy(ctx context.Context, r PreviewPolicyRequestObject) (PreviewPolicyResponseObject, error) {
	record, err := a.cfg.Store.Policy(ctx, r.GroupId)
	if err != nil {
		return nil, err
	}
	in, err := decode[PreviewInput](a, r.Body)
	if err != nil {
		return nil, err
	}
	sys := record.System
	document, err := sys.ParseDocument(in.Policy)
	if err == nil {
		err = sys.ValidateChange(record.Document, document)
	}
	if err != nil {
		return nil, below("/policy", err)
	}
	action := deref(in.Action)
	if action == "" {
		action = "message"
	}
	if !sys.Registered(action) {
		return nil, invalid(policy.FieldError{Pointer: "/action", Code: "unknown", Detail: "the action is not registered"})
	}
	traffic, err := a.traffic(in.Traffic)
	if err != nil {
		return nil, err
	}
	effective, clamps := sys.Resolve(document)
	return PreviewPolicy200JSONResponse(Preview{
		Effective: effective.JSON(), Clamped: each(clamps, showClamp),
		Summary: PreviewSummary{
			En: sys.Story(effective, action, 0, policy.English), Zh: sys.Story(effective, action, 0, policy.Chinese),
		},
		Decisions: each(sys.Preview(effective, action, traffic), showTried),
	}), nil
}

// below puts the pointers of a part's faults below the part.
func below(part string, err error) error {
	known, ok := errors.AsType[*policy.Error](err)
	if !ok {
		return err
	}
	moved := *known
	moved.Fields = make([]policy.FieldError, 0, len(known.Fields))
	for _, f := range known.Fields {
		f.Pointer = part + f.Pointer
		moved.Fields = append(moved.Fields, f)
	}
	return &moved
}

// traffic reads a name of ready-made traffic, or a list of tries.
func (a *API) traffic(data json.RawMessage) ([]policy.Try, error) {
	var name string
	if json.Unmarshal(data, &name) == nil {
		if traffic, ok := policy.Traffic(name); ok {
			return traffic, nil
		}
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) != nil || list == nil {
		return nil, invalid(policy.FieldError{Pointer: "/traffic", Code: "type", Detail: "traffic must be calm, burst, spammer or a list of tries"})
	}
	if len(list) > policy.MaxPreview {
		return nil, invalid(policy.FieldError{Pointer: "/traffic", Code: "range", Detail: "traffic must hold at most 1000 tries"})
	}
	tries := make([]policy.Try, 0, len(list))
	for i, item := range list {
		one, err := a.try(item)
		if err != nil {
			return nil, below("/traffic/"+strconv.Itoa(i), err)
		}
		tries = append(tries, policy.Try{AtMS: one.AtMs, UserID: one.UserId, Cost: one.Cost})
	}
	return tries, nil
}

// try reads one try.
func (a *API) try(data json.RawMessage) (t PreviewTry, err error) {
	if faults := readObject(a, data, &t, "a try"); len(faults) > 0 {
		return t, invalid(faults...)
	}
	return t, tryFault(t)
}

// tryFault checks the ranges of a try.
func tryFault(t PreviewTry) error {
	const week = 7 * 24 * 3_600_000
	switch {
	case t.AtMs < 0 || t.AtMs > week:
		return invalid(policy.FieldError{Pointer: "/at_ms", Code: "range", Detail: "at_ms must be 0 to 604800000"})
	case t.Cost < 0 || t.Cost > policy.MaxLimit:
		return invalid(policy.FieldError{Pointer: "/cost", Code: "range", Detail: "cost must be 0 to 10000"})
	}
	return policy.CheckID("/user_id", t.UserId)
}

func showTried(t policy.Tried) PreviewDecision {
	return PreviewDecision{
		AtMs: t.AtMS, UserId: t.UserID, Allowed: t.Allowed(), Code: int64(t.Code), Reason: t.Code.String(), WaitMs: t.WaitMS,
		Remaining: t.Remaining, Limit: t.Limit, Strikes: t.Strikes, Step: t.Step,
	}
}
