package api

import (
	"context"

	"github.com/pacekeeper/pacekeeper/store"
)

// CreatePortalSession implements POST /v1/portal-sessions.
func (a *API) CreatePortalSession(ctx context.Context, r CreatePortalSessionRequestObject) (CreatePortalSessionResponseObject, error) {
	w, err := a.writer(ctx, store.Anything(), nil, r.Params.PacekeeperReason)
	if err != nil {
		return nil, err
	}
	in, err := decode[PortalInput](a, r.Body)
	if err != nil {
		return nil, err
	}
	p, code, err := a.cfg.Store.CreatePortalSession(ctx, w.Actor, store.PortalInput{
		UserID: in.UserId, Name: deref(in.Name), Groups: in.Groups, Locale: deref(in.Locale),
	})
	if err != nil {
		return nil, err
	}
	return CreatePortalSession201JSONResponse(PortalLink{
		Id: p.ID, Url: a.cfg.PublicURL + "/portal/" + code, ExpiresAt: p.CodeExpiresAt.UTC(),
	}), nil
}

// ListPortalSessions implements GET /v1/portal-sessions.
func (a *API) ListPortalSessions(ctx context.Context, r ListPortalSessionsRequestObject) (ListPortalSessionsResponseObject, error) {
	limit, err := pageLimit(r.Params.Limit)
	if err != nil {
		return nil, err
	}
	page, err := a.cfg.Store.ListPortalSessions(ctx, deref(r.Params.Cursor), limit)
	if err != nil {
		return nil, err
	}
	return ListPortalSessions200JSONResponse(PortalSessionList{Items: each(page.Items, showPortal), NextCursor: next(page.Next)}), nil
}

// GetPortalSession implements GET /v1/portal-sessions/{id}.
func (a *API) GetPortalSession(ctx context.Context, r GetPortalSessionRequestObject) (GetPortalSessionResponseObject, error) {
	p, err := a.cfg.Store.PortalSession(ctx, r.Id)
	if err != nil {
		return nil, err
	}
	return GetPortalSession200JSONResponse(showPortal(p)), nil
}

// RevokePortalSession implements DELETE /v1/portal-sessions/{id}.
func (a *API) RevokePortalSession(ctx context.Context, r RevokePortalSessionRequestObject) (RevokePortalSessionResponseObject, error) {
	w, err := a.writer(ctx, store.Anything(), nil, r.Params.PacekeeperReason)
	if err != nil {
		return nil, err
	}
	if err := a.cfg.Store.RevokePortalSession(ctx, w.Actor, r.Id); err != nil {
		return nil, err
	}
	return RevokePortalSession204Response{}, nil
}

func showPortal(p store.PortalSession) PortalSession {
	return PortalSession{
		Id: p.ID, UserId: p.UserID, Name: p.Name, Groups: p.Groups, Locale: p.Locale, CreatedAt: p.CreatedAt.UTC(),
		CreatedBy: p.CreatedBy, UsedAt: moment(p.UsedAt), ExpiresAt: p.ExpiresAt.UTC(), RevokedAt: moment(p.RevokedAt),
	}
}
