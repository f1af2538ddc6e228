package api

import (
	"context"
	"fmt"
	"strconv"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// RestoreVersion implements POST /v1/groups/{group_id}/policy/versions/{version}/restore.
func (a *API) RestoreVersion(ctx context.Context, r RestoreVersionRequestObject) (RestoreVersionResponseObject, error) {
	match, err := required(r.Params.IfMatch)
	w, err := a.writer(ctx, match, err, r.Params.PacekeeperReason)
	if err != nil {
		return nil, err
	}
	prefer := parsePrefer(r.Params.Prefer)
	key, err := once(ctx, r.Params.IdempotencyKey, fmt.Sprintf("restore %d of %s", r.Version, r.GroupId),
		strconv.AppendBool(nil, prefer.strict))
	if err != nil {
		return nil, err
	}
	edit := func(sys *policy.System, before, restored policy.Document) (policy.Document, error) {
		doc := kept(sys, w.Role, before, restored)
		if !prefer.strict {
			return doc, nil
		}
		return unclamped(sys, doc)
	}
	var record store.PolicyRecord
	var changed bool
	if key.Key == "" {
		record, changed, err = a.cfg.Store.RestorePolicy(ctx, w.Actor, r.GroupId, w.match, r.Version, edit)
	} else {
		record, changed, err = a.cfg.Store.RestoreOnce(ctx, key, w.Actor, r.GroupId, w.match, r.Version, edit)
	}
	if err != nil {
		return nil, a.stalePolicy(record, err)
	}
	return RestoreVersion200JSONResponse{a.policyResponse(a.waited(ctx, record, changed, prefer))}, nil
}

// DiffVersions implements GET /v1/groups/{group_id}/policy/diff.
func (a *API) DiffVersions(ctx context.Context, r DiffVersionsRequestObject) (DiffVersionsResponseObject, error) {
	to := deref(r.Params.To)
	if r.Params.To == nil {
		record, err := a.cfg.Store.Policy(ctx, r.GroupId)
		if err != nil {
			return nil, err
		}
		to = record.Version
	}
	from := max(0, to-1)
	if r.Params.From != nil {
		from = *r.Params.From
	}
	if from < 0 || to < 0 {
		return nil, policy.Errorf(policy.CodeMalformed, "the query parameters from and to are versions: 0 or more")
	}
	changes, err := a.cfg.Store.DiffVersions(ctx, r.GroupId, from, to)
	if err != nil {
		return nil, err
	}
	return DiffVersions200JSONResponse(PolicyDiff{From: from, To: to, Changes: showChanges(changes)}), nil
}

// GetAuditEvent implements GET /v1/audit-events/{seq}.
func (a *API) GetAuditEvent(ctx context.Context, r GetAuditEventRequestObject) (GetAuditEventResponseObject, error) {
	found, err := a.cfg.Store.AuditEntry(ctx, r.Seq)
	if err != nil {
		return nil, err
	}
	e := showEntry(found)
	return GetAuditEvent200JSONResponse(AuditDetail{
		Seq: e.Seq, At: e.At, Actor: e.Actor, Role: e.Role, Channel: e.Channel, Action: e.Action, Target: e.Target,
		GroupId: e.GroupId, Before: e.Before, After: e.After, Reason: e.Reason, RequestId: e.RequestId, Address: e.Address,
		Erased: e.Erased, PrevHash: e.PrevHash, Hash: e.Hash, Changes: showChanges(changesOf(found)),
	}), nil
}

// changesOf is what an entry changed; nothing can be said of one whose texts were tampered with.
func changesOf(e store.AuditEntry) []policy.Change {
	changes, err := policy.DiffJSON([]byte(e.Before), []byte(e.After))
	if err != nil {
		return nil
	}
	return changes
}

// showChanges brings each change with its words in both languages.
func showChanges(changes []policy.Change) []FieldChange {
	en, zh := policy.DiffWords(changes, policy.English), policy.DiffWords(changes, policy.Chinese)
	shown := make([]FieldChange, 0, len(changes))
	for i, c := range changes {
		shown = append(shown, FieldChange{
			Path: c.Path, Before: value(string(c.Before)), After: value(string(c.After)),
			Words: FieldWords{En: en[i].Sentence, Zh: zh[i].Sentence},
		})
	}
	return shown
}
