package api

import (
	"context"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// ListExemptions implements GET /v1/groups/{group_id}/exemptions.
func (a *API) ListExemptions(ctx context.Context, r ListExemptionsRequestObject) (ListExemptionsResponseObject, error) {
	limit, err := pageLimit(r.Params.Limit)
	if err != nil {
		return nil, err
	}
	page, err := a.cfg.Store.ListExemptions(ctx, r.GroupId, store.ExemptionQuery{
		Search: deref(r.Params.Query), Cursor: deref(r.Params.Cursor), Limit: limit,
	})
	if err != nil {
		return nil, err
	}
	return ListExemptions200JSONResponse{
		Body:    ExemptionList{Items: each(page.Items, showExemption), NextCursor: next(page.Next)},
		Headers: ListExemptions200ResponseHeaders{ETag: etag(page.Version)},
	}, nil
}

// GetExemption implements GET /v1/groups/{group_id}/exemptions/{user_id}.
func (a *API) GetExemption(ctx context.Context, r GetExemptionRequestObject) (GetExemptionResponseObject, error) {
	e, version, err := a.cfg.Store.Exemption(ctx, r.GroupId, r.UserId)
	if err != nil {
		return nil, err
	}
	return GetExemption200JSONResponse{exemptionResponse(e, version)}, nil
}

// PutExemption implements PUT /v1/groups/{group_id}/exemptions/{user_id}.
func (a *API) PutExemption(ctx context.Context, r PutExemptionRequestObject) (PutExemptionResponseObject, error) {
	match, err := optional(r.Params.IfMatch)
	w, err := a.writer(ctx, match, err, r.Params.PacekeeperReason)
	if err != nil {
		return nil, err
	}
	in, err := decode[ExemptionInput](a, r.Body)
	if err == nil {
		err = a.inFuture("/expires_at", in.ExpiresAt)
	}
	if err != nil {
		return nil, a.exemptionFault(ctx, r.GroupId, match, err)
	}
	result, err := a.cfg.Store.PutExemption(ctx, w.Actor, r.GroupId, w.match,
		store.Exemption{UserID: r.UserId, ExpiresAt: deref(in.ExpiresAt).UTC(), Note: deref(in.Note)})
	if err != nil {
		return nil, a.staleExemptions(ctx, r.GroupId, err)
	}
	a.settle(ctx, r.GroupId, r.Params.Prefer)
	answer := exemptionResponse(result.Exemption, result.Version)
	if result.Created {
		return PutExemption201JSONResponse{Body: answer.Body, Headers: PutExemption201ResponseHeaders(answer.Headers)}, nil
	}
	return PutExemption200JSONResponse{answer}, nil
}

// DeleteExemption implements DELETE /v1/groups/{group_id}/exemptions/{user_id}.
func (a *API) DeleteExemption(ctx context.Context, r DeleteExemptionRequestObject) (DeleteExemptionResponseObject, error) {
	match, err := optional(r.Params.IfMatch)
	w, err := a.writer(ctx, match, err, r.Params.PacekeeperReason)
	if err != nil {
		return nil, err
	}
	version, err := a.cfg.Store.RemoveExemption(ctx, w.Actor, r.GroupId, w.match, r.UserId)
	if err != nil {
		return nil, a.staleExemptions(ctx, r.GroupId, err)
	}
	a.settle(ctx, r.GroupId, r.Params.Prefer)
	return DeleteExemption204Response{Headers: GoneResponseHeaders{ETag: etag(version)}}, nil
}

// staleExemptions adds the collection's counter, and its first page, to a failed precondition.
func (a *API) staleExemptions(ctx context.Context, groupID string, err error) error {
	if !hasCode(err, policy.CodeStale) {
		return err
	}
	page, readErr := a.cfg.Store.ListExemptions(ctx, groupID, store.ExemptionQuery{Limit: defaultLimit})
	if readErr != nil {
		return err
	}
	return stale(err, *etag(page.Version), func() any {
		return ExemptionList{Items: each(page.Items, showExemption), NextCursor: next(page.Next)}
	})
}

// exemptionFault puts a failed precondition before a fault of the body.
func (a *API) exemptionFault(ctx context.Context, groupID string, m store.Match, fault error) error {
	if m.Any {
		return fault
	}
	page, err := a.cfg.Store.ListExemptions(ctx, groupID, store.ExemptionQuery{Limit: 1})
	if err != nil {
		return err
	}
	if err := mismatch(m, page.Version); err != nil {
		return a.staleExemptions(ctx, groupID, err)
	}
	return fault
}

func exemptionResponse(e store.Exemption, version int64) ExemptionJSONResponse {
	return ExemptionJSONResponse{Body: showExemption(e), Headers: ExemptionResponseHeaders{ETag: etag(version)}}
}

func showExemption(e store.Exemption) Exemption {
	return Exemption{
		UserId: e.UserID, ExpiresAt: moment(e.ExpiresAt), Note: e.Note, GrantedBy: e.GrantedBy, GrantedAt: e.GrantedAt.UTC(),
	}
}
