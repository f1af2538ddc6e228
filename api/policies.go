package api

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// GetPolicy implements GET /v1/groups/{group_id}/policy.
func (a *API) GetPolicy(ctx context.Context, r GetPolicyRequestObject) (GetPolicyResponseObject, error) {
	record, err := a.cfg.Store.Policy(ctx, r.GroupId)
	if err != nil {
		return nil, err
	}
	return GetPolicy200JSONResponse{a.policyResponse(record)}, nil
}

// PutPolicy implements PUT /v1/groups/{group_id}/policy.
func (a *API) PutPolicy(ctx context.Context, r PutPolicyRequestObject) (PutPolicyResponseObject, error) {
	match, err := required(r.Params.IfMatch)
	w, err := a.writer(ctx, match, err, r.Params.PacekeeperReason)
	if err != nil {
		return nil, err
	}
	prefer := parsePrefer(r.Params.Prefer)
	record, err := a.savePolicy(ctx, w, r.GroupId, prefer, func(policy.Document) ([]byte, error) { return r.Body.raw() })
	if err != nil {
		return nil, err
	}
	return PutPolicy200JSONResponse{a.policyResponse(record)}, nil
}

// PatchPolicy implements PATCH /v1/groups/{group_id}/policy.
func (a *API) PatchPolicy(ctx context.Context, r PatchPolicyRequestObject) (PatchPolicyResponseObject, error) {
	match, err := required(r.Params.IfMatch)
	w, err := a.writer(ctx, match, err, r.Params.PacekeeperReason)
	if err != nil {
		return nil, err
	}
	prefer := parsePrefer(r.Params.Prefer)
	record, err := a.savePolicy(ctx, w, r.GroupId, prefer, func(before policy.Document) ([]byte, error) {
		patch, err := r.Body.raw()
		if err != nil {
			return nil, err
		}
		return policy.MergePatch(before.JSON(), patch)
	})
	if err != nil {
		return nil, err
	}
	return PatchPolicy200JSONResponse{a.policyResponse(record)}, nil
}

// DeletePolicy implements DELETE /v1/groups/{group_id}/policy.
func (a *API) DeletePolicy(ctx context.Context, r DeletePolicyRequestObject) (DeletePolicyResponseObject, error) {
	match, err := required(r.Params.IfMatch)
	w, err := a.writer(ctx, match, err, r.Params.PacekeeperReason)
	if err != nil {
		return nil, err
	}
	record, changed, err := a.cfg.Store.DeletePolicy(ctx, w.Actor, r.GroupId, w.match,
		func(sys *policy.System, before policy.Document) (policy.Document, error) {
			return kept(sys, w.Role, before, policy.Document{}), nil
		})
	if err != nil {
		return nil, a.stalePolicy(record, err)
	}
	return DeletePolicy200JSONResponse{a.policyResponse(a.waited(ctx, record, changed, parsePrefer(r.Params.Prefer)))}, nil
}

// savePolicy saves the document that make gives, and waits until it is live. Its faults come after the precondition's,
// which the store judges first.
func (a *API) savePolicy(ctx context.Context, w writer, groupID string, prefer preferences,
	make func(policy.Document) ([]byte, error),
) (store.PolicyRecord, error) {
	record, changed, err := a.cfg.Store.UpdatePolicy(ctx, w.Actor, groupID, w.match,
		func(sys *policy.System, before policy.Document) (policy.Document, error) {
			data, err := make(before)
			if err != nil {
				return policy.Document{}, err
			}
			return acceptable(sys, w.Role, before, data, prefer.strict)
		})
	if err != nil {
		return record, a.stalePolicy(record, err)
	}
	return a.waited(ctx, record, changed, prefer), nil
}

// acceptable is the document in data, if the role may save it.
func acceptable(sys *policy.System, role string, before policy.Document, data []byte, strict bool) (policy.Document, error) {
	doc, err := sys.ParseDocument(data)
	if err != nil {
		return doc, err
	}
	if role == store.RoleGroupAdmin {
		if err := sys.OperatorOnly(before, doc); err != nil {
			return doc, err
		}
	}
	doc = kept(sys, role, before, doc)
	if !strict {
		return doc, nil // the store validates what it saves
	}
	if err := sys.ValidateChange(before, doc); err != nil {
		return doc, err
	}
	return unclamped(sys, doc)
}

// unclamped refuses a document that bounds would clamp.
func unclamped(sys *policy.System, doc policy.Document) (policy.Document, error) {
	if _, clamps := sys.Resolve(doc); len(clamps) > 0 {
		return doc, clampFault(clamps)
	}
	return doc, nil
}

// kept leaves the operators' actions as they stand when a group admin saves.
func kept(sys *policy.System, role string, before, after policy.Document) policy.Document {
	if role != store.RoleGroupAdmin {
		return after
	}
	return sys.KeepOperatorActions(before, after)
}

// maxClamps is how many clamps a refusal lists.
const maxClamps = 100

// clampFault refuses what would be clamped.
func clampFault(clamps []policy.Clamp) error {
	message := "bounds would clamp the document"
	if more := len(clamps) - maxClamps; more > 0 {
		clamps = clamps[:maxClamps]
		message += fmt.Sprintf(" in more places than these: and %d more", more)
	}
	fields := make([]policy.FieldError, 0, len(clamps))
	for _, c := range clamps {
		requested, effective, limit := asJSON(c.Requested), asJSON(c.Effective), asJSON(c.Limit)
		detail := fmt.Sprintf("%s is outside the bounds: the %s is %s; %s would be in force", requested, c.Bound, limit, effective)
		if c.Bound == string(BoundKindForbidden) {
			detail = fmt.Sprintf("%s is forbidden by the bounds; %s would be in force", requested, effective)
		}
		fields = append(fields, policy.FieldError{Pointer: c.Path, Code: "bounds", Detail: detail})
	}
	return &policy.Error{Code: policy.CodeInvalid, Message: message, Fields: fields}
}

// asJSON shows a value of a clamp as a document states it. The value is one of ours and marshals.
func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "it"
	}
	return string(text)
}

// waited gives a write the time that it may have to become live.
func (a *API) waited(ctx context.Context, record store.PolicyRecord, changed bool, prefer preferences) store.PolicyRecord {
	if a.cfg.Wait == nil || prefer.wait <= 0 || !changed && !record.Pending {
		return record
	}
	ctx, cancel := context.WithTimeout(ctx, prefer.wait)
	defer cancel()
	if live, ok := a.cfg.Wait(ctx, record.Group.ID, record.Version); ok {
		record.Live, record.Pending = &live, false
	}
	return record
}

// settle gives a write that is no document the time that it may have to reach Redis.
func (a *API) settle(ctx context.Context, groupID string, header *Prefer) {
	wait := parsePrefer(header).wait
	if a.cfg.Wait == nil || wait <= 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	a.cfg.Wait(ctx, groupID, math.MaxInt64)
}

func (a *API) stalePolicy(record store.PolicyRecord, err error) error {
	return stale(err, *etag(record.Version), func() any { return a.showPolicy(record) })
}

func (a *API) policyResponse(record store.PolicyRecord) PolicyJSONResponse {
	return PolicyJSONResponse{Body: a.showPolicy(record), Headers: PolicyResponseHeaders{ETag: etag(record.Version)}}
}

func (a *API) showPolicy(record store.PolicyRecord) Policy {
	effective, clamps := record.System.Resolve(record.Document)
	sources := make(map[string]Source, len(effective.Actions))
	for action, source := range effective.Sources() {
		sources[action] = Source(source)
	}
	return Policy{
		GroupId: record.Group.ID, Version: record.Version,
		Requested: record.Document.JSON(), Effective: effective.JSON(), Sources: sources,
		Clamped: each(clamps, showClamp), Live: showLive(record.Live), Pending: record.Pending,
		RedisKeys: a.redisKeys(record),
	}
}

// redisKeys names the hash that decides each action: the group's own where one is published, else the defaults'.
func (a *API) redisKeys(record store.PolicyRecord) map[string]string {
	group := record.Group.ID
	keys := make(map[string]string, len(record.System.Actions))
	for _, action := range record.System.ActionNames() {
		keys[action] = a.cfg.Keys.Default(enforce.Shard(group), action)
	}
	if record.Group.Archived() {
		return keys
	}
	for _, action := range record.System.Published(record.Document) {
		keys[action] = a.cfg.Keys.Policy(action, group)
	}
	return keys
}

func showClamp(c policy.Clamp) Clamp {
	return Clamp{Path: c.Path, Requested: c.Requested, Effective: c.Effective, Bound: BoundKind(c.Bound), Limit: c.Limit}
}

func showLive(p *store.Publication) *Live {
	if p == nil {
		return nil
	}
	return &Live{Version: p.Version, Order: p.Order, At: p.At.UTC().Truncate(time.Microsecond), LagMs: float64(p.LagMS)}
}
