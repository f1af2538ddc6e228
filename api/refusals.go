package api

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// noteRefusal counts what the guard or a handler refused. A 404 of a group that is not there counts only for callers who
// see some groups alone: what they asked for may be somebody else's.
func (a *API) noteRefusal(c echo.Context, p store.Principal, err error) {
	who, kind := store.TokenWho(p.TokenID), ""
	switch {
	case hasCode(err, policy.CodeUnauthenticated):
		who, kind = store.AddressWho(callerOf(c.Request().Context()).address), store.RefusedToken
	case hasCode(err, policy.CodeForbidden):
		kind = store.RefusedRole
	case hasCode(err, policy.CodeNotFound) && p.Role == store.RoleGroupAdmin:
		if group, inGroup, _ := groupOf(c); inGroup && !p.Sees(group) {
			kind = store.RefusedGroup
		}
	}
	if kind != "" {
		a.cfg.Store.NoteRefusal(store.Refusal{Kind: kind, Who: who, Route: c.Request().Method + " " + c.Path()})
	}
}

// ListRefusals implements GET /v1/audit-events/refusals.
func (a *API) ListRefusals(ctx context.Context, r ListRefusalsRequestObject) (ListRefusalsResponseObject, error) {
	limit, err := pageLimit(r.Params.Limit)
	if err != nil {
		return nil, err
	}
	from, err := asMoment("from", r.Params.From)
	if err != nil {
		return nil, err
	}
	to, err := asMoment("to", r.Params.To)
	if err != nil {
		return nil, err
	}
	page, err := a.cfg.Store.ListRefusals(ctx, store.RefusalQuery{
		Kind: deref(r.Params.Kind), From: from, To: to, Cursor: deref(r.Params.Cursor), Limit: limit,
	})
	if err != nil {
		return nil, err
	}
	return ListRefusals200JSONResponse(RefusalList{Items: each(page.Items, showRefusal), NextCursor: next(page.Next)}), nil
}

func showRefusal(r store.RefusalRow) Refusal {
	return Refusal{
		Minute: r.Minute.UTC(), Kind: r.Kind, Who: r.Who, Route: r.Route, Count: r.Count, First: r.First.UTC(), Last: r.Last.UTC(),
	}
}
