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
	p := r.Params
	from, err := asMoment("from", p.From)
	if err != nil {
		return nil, err
	}
	to, err := asMoment("to", p.To)
	if err != nil {
		return nil, err
	}
	page, err := a.cfg.Store.ListAudit(ctx, store.AuditQuery{
		Actor: deref(p.Actor), Role: deref(p.Role), Channel: deref(p.Channel), GroupID: deref(p.GroupId),
		Action: deref(p.Action), RequestID: deref(p.RequestId), From: from, To: to,
		Cursor: deref(p.Cursor), Limit: limit,
	})
	if err != nil {
		return nil, err
	}
	return ListAuditEvents200JSONResponse(AuditList{Items: each(page.Items, showEntry), NextCursor: next(page.Next)}), nil
}

func showEntry(e store.AuditEntry) AuditEntry {
	return AuditEntry{
		Seq: e.Seq, At: e.At.UTC(), Actor: e.Actor, Role: e.Role, Channel: e.Channel, Action: e.Action, Target: e.Target,
		GroupId: text(e.GroupID), Before: value(e.Before), After: value(e.After), Reason: e.Reason,
		RequestId: e.RequestID, Address: e.Address, PrevHash: e.PrevHash, Hash: e.Hash,
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
