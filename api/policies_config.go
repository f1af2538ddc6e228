package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/pacekeeper/pacekeeper/config"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// PlanPolicies implements POST /v1/policies/plan.
func (a *API) PlanPolicies(ctx context.Context, r PlanPoliciesRequestObject) (PlanPoliciesResponseObject, error) {
	in, _, err := a.configInput(ctx, texts(r.Params.Prune), r.Params.Scope, r.Params.Prefer)
	if err != nil {
		return nil, err
	}
	plan, err := a.cfg.Store.PlanConfig(ctx, in.ConfigInput)
	if err != nil {
		return nil, in.files.Place(err)
	}
	return PlanPolicies200JSONResponse{
		Changes: each(plan.Changes, showConfigChange), Counts: countChanges(plan.Changes), PlanToken: plan.Token,
	}, nil
}

// ApplyPolicies implements POST /v1/policies/apply.
func (a *API) ApplyPolicies(ctx context.Context, r ApplyPoliciesRequestObject) (ApplyPoliciesResponseObject, error) {
	if r.Params.PlanToken == nil {
		return nil, policy.Errorf(codePrecondition, "plan_token is needed: send the one that the plan answered, or * to apply whatever the plan is by then")
	}
	w, err := a.writer(ctx, store.Anything(), nil, r.Params.PacekeeperReason)
	if err != nil {
		return nil, err
	}
	w.Channel = store.ChannelApply
	in, body, err := a.configInput(ctx, texts(r.Params.Prune), r.Params.Scope, r.Params.Prefer)
	if err != nil {
		return nil, err
	}
	key, err := once(ctx, r.Params.IdempotencyKey, "ApplyPolicies", body, []byte(fmt.Sprint(in.Prune)))
	if err != nil {
		return nil, err
	}
	answer, err := a.cfg.Store.ApplyConfig(ctx, w.Actor, key, in.ConfigInput, *r.Params.PlanToken, showApplied)
	if err != nil {
		return nil, in.files.Place(err)
	}
	var applied ConfigApplied
	if err := json.Unmarshal(answer, &applied); err != nil {
		return nil, fmt.Errorf("api: the answer of an apply: %w", err)
	}
	a.systems.fresh(ctx, a.cfg.Now())
	applied.Pending = a.pendingOf(ctx, applied.Changes, parsePrefer(r.Params.Prefer).wait)
	return ApplyPolicies200JSONResponse(applied), nil
}

// configInput is what a plan or an apply asks for, with its files to give faults their places.
type configInput struct {
	store.ConfigInput
	files config.Files
}

// configInput reads query and body. The query's faults come first.
func (a *API) configInput(ctx context.Context, prune []string, scope *Scope, prefer *Prefer) (in configInput, body []byte, err error) {
	if in.Prune, err = pruneOf(prune, deref(scope)); err != nil {
		return in, nil, err
	}
	name, body, err := a.upload(ctx)
	if err != nil {
		return in, nil, err
	}
	file, err := config.Read(name, body)
	if err != nil {
		return in, nil, err
	}
	system, err := a.cfg.Store.System(ctx)
	if err != nil {
		return in, nil, err
	}
	in.files = config.Files{file}
	if in.Config, err = file.Config(&system.Bounds); err != nil {
		return in, nil, err
	}
	if parsePrefer(prefer).strict {
		in.Accept = refuseClamps
	}
	return in, body, nil
}

func texts[T ~string](list *[]T) []string {
	return each(deref(list), func(t T) string { return string(t) })
}

// pruneOf reads prune and scope.
func pruneOf(prune, scope []string) (p policy.ConfigPrune, err error) {
	for _, what := range prune {
		switch what {
		case "policies":
			p.Policies = true
		case "exemptions":
			p.Exemptions = true
		default:
			return p, policy.Errorf(policy.CodeMalformed, "the query parameter prune is policies or exemptions, again for each")
		}
	}
	for _, where := range scope {
		group, isGroup := strings.CutPrefix(where, "group:")
		switch {
		case where == "files":
			p.Files = true
		case where == "all":
			p.All = true
		case isGroup && policy.CheckID("", group) == nil:
			p.Groups = append(p.Groups, group)
		default:
			return p, policy.Errorf(policy.CodeMalformed, "the query parameter scope is files, all or group: with an id, again for each")
		}
	}
	if p.Any() != (len(scope) > 0) {
		return p, policy.Errorf(policy.CodeMalformed, "removals need both query parameters: prune says what, scope of which groups")
	}
	return p, nil
}

// refuseClamps makes every clamp of a plan a fault (Prefer: handling=strict).
func refuseClamps(p policy.ConfigPlan) error {
	clamps := p.Clamps()
	if len(clamps) == 0 {
		return nil
	}
	return clampFault(clamps)
}

// showApplied is the answer of an apply, without what only the moment of the answer knows.
func showApplied(p policy.ConfigPlan) (json.RawMessage, error) {
	answer := ConfigApplied{Changes: []ConfigChange{}, Counts: countChanges(p.Changes)}
	for _, c := range p.Changes {
		if c.Op != policy.OpUnchanged {
			answer.Changes = append(answer.Changes, showConfigChange(c))
		}
	}
	return json.Marshal(answer)
}

func countChanges(changes []policy.ConfigChange) (n ConfigCounts) {
	for _, c := range changes {
		switch c.Op {
		case policy.OpCreate:
			n.Create++
		case policy.OpUpdate:
			n.Update++
		case policy.OpUnchanged:
			n.Unchanged++
		case policy.OpRemove:
			n.Remove++
		}
	}
	return n
}

func showConfigChange(c policy.ConfigChange) ConfigChange {
	return ConfigChange{
		Op: ConfigOp(c.Op), Kind: ConfigKind(c.Kind), GroupId: orNull(c.GroupID), Target: orNull(c.Target),
		Diff: each(c.Diff, showDiff), Loosens: c.Loosens, Tightens: c.Tightens, Clamped: each(c.Clamped, showClamp),
	}
}

func showDiff(c policy.Change) ConfigDiff {
	return ConfigDiff{Path: c.Path, Before: rawOrNone(c.Before), After: rawOrNone(c.After)}
}

func rawOrNone(value []byte) *json.RawMessage {
	if value == nil {
		return nil
	}
	return (*json.RawMessage)(&value)
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// pendingEvery is how often an apply that waits asks how many groups are not live yet.
const pendingEvery = 50 * time.Millisecond

// pendingOf says how many of the groups whose policy was changed are not live, and waits so long for there to be none. It is
// no error that it cannot be told: what was applied is applied, and counts as not live then.
func (a *API) pendingOf(ctx context.Context, changes []ConfigChange, wait time.Duration) int64 {
	var ids []string
	for _, c := range changes {
		if c.Kind == ConfigKind(policy.KindPolicy) {
			ids = append(ids, deref(c.GroupId))
		}
	}
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		n, err := a.cfg.Store.PendingPolicies(ctx, ids)
		if err != nil {
			n = int64(len(ids))
		}
		if n == 0 {
			return 0
		}
		tick := time.NewTimer(pendingEvery)
		select {
		case <-waiting.Done():
			tick.Stop()
			return n
		case <-tick.C:
		}
	}
}
