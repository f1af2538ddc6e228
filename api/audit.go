package api

import (
	"context"
	"encoding/json"

	"github.com/pacekeeper/pacekeeper/store"
)

// ListAuditEvents implements GET /v1/audit-events.
func (a *API) ListAuditEvents(ctx context.Context, r ListAuditEventsRequestObject) (ListAuditEventsResponseObject, error) {
	limit, err := pageLimit(r.Params.Limit)
	if err != nil {
		return nil, err
	}
	query, err := auditFilter(r.Params)
	if err != nil {
		return nil, err
	}
	query.Cursor, query.Limit = deref(r.Params.Cursor), limit
	page, err := a.cfg.Store.ListAudit(ctx, query)
	if err != nil {
		return nil, err
	}
	return ListAuditEvents200JSONResponse(AuditList{Items: each(page.Items, showEntry), NextCursor: next(page.Next)}), nil
}

// auditFilter reads what list and export select by.
func auditFilter(p ListAuditEventsParams) (store.AuditQuery, error) {
	from, err := asMoment("from", p.From)
	if err != nil {
		return store.AuditQuery{}, err
	}
	to, err := asMoment("to", p.To)
	return store.AuditQuery{
		Actor: deref(p.Actor), Role: deref(p.Role), Channel: deref(p.Channel), GroupID: deref(p.GroupId),
		Action: deref(p.Action), Changed: deref(p.Changed), RequestID: deref(p.RequestId), From: from, To: to,
	}, err
}

// VerifyAuditEvents implements GET /v1/audit-events/verify.
func (a *API) VerifyAuditEvents(ctx context.Context, r VerifyAuditEventsRequestObject) (VerifyAuditEventsResponseObject, error) {
	v, err := a.cfg.Store.VerifyAudit(ctx, deref(r.Params.ExpectHead))
	if err != nil {
		return nil, err
	}
	shown := AuditVerdict{Ok: v.OK, Entries: v.Entries, Erased: v.Erased, ErasedEntries: append([]int64{}, v.Erasures...), Head: v.Head.String()}
	if v.FirstBad != nil {
		shown.FirstBad = &AuditFault{Seq: v.FirstBad.Seq, Why: v.FirstBad.Why}
	}
	return VerifyAuditEvents200JSONResponse(shown), nil
}

func showEntry(e store.AuditEntry) AuditEntry {
	return AuditEntry{
		Seq: e.Seq, At: e.At.UTC(), Actor: e.Actor, Role: e.Role, Channel: e.Channel, Action: e.Action, Target: e.Target,
		GroupId: text(e.GroupID), Before: value(e.Before), After: value(e.After), Reason: e.Reason,
		RequestId: e.RequestID, Address: e.Address, Erased: e.Erased, PrevHash: e.PrevHash, Hash: e.Hash,
	}
}

// text is null for "".
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// value is JSON as it was kept; null for nothing.
func value(kept string) json.RawMessage {
	if kept == "" {
		return json.RawMessage("null")
	}
	return json.RawMessage(kept)
}
