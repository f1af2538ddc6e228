package api

import (
	"context"
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// ListBans implements GET /v1/groups/{group_id}/bans.
func (a *API) ListBans(ctx context.Context, r ListBansRequestObject) (ListBansResponseObject, error) {
	limit, err := pageLimit(r.Params.Limit)
	if err != nil {
		return nil, err
	}
	a.drain(ctx, r.GroupId)
	page, err := a.cfg.Store.ListBans(ctx, r.GroupId, deref(r.Params.Cursor), limit)
	if err != nil {
		return nil, err
	}
	return ListBans200JSONResponse(BanList{Items: each(page.Items, showBan), NextCursor: next(page.Next)}), nil
}

// LiftBan implements DELETE /v1/groups/{group_id}/bans/{action}/{user_id}.
func (a *API) LiftBan(ctx context.Context, r LiftBanRequestObject) (LiftBanResponseObject, error) {
	w, err := a.writer(ctx, store.Anything(), nil, r.Params.PacekeeperReason)
	if err != nil {
		return nil, err
	}
	if !policy.ValidActionName(r.Action) {
		return nil, policy.Errorf(policy.CodeNotFound, "there is no such action")
	}
	a.drain(ctx, r.GroupId)
	if _, err := a.cfg.Store.LiftBan(ctx, w.Actor, r.GroupId, r.Action, r.UserId); err != nil {
		return nil, err
	}
	a.settle(ctx, r.GroupId, r.Params.Prefer)
	return LiftBan204Response{}, nil
}

func showBan(b store.Ban) Ban {
	return Ban{
		Action: b.Action, UserId: b.UserID,
		Since: time.UnixMilli(b.StartMS).UTC(), Until: time.UnixMilli(b.EndMS).UTC(),
	}
}
