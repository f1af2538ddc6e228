package api

import (
	"context"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// ListGroups implements GET /v1/groups.
func (a *API) ListGroups(ctx context.Context, r ListGroupsRequestObject) (ListGroupsResponseObject, error) {
	limit, err := pageLimit(r.Params.Limit)
	if err != nil {
		return nil, err
	}
	page, err := a.cfg.Store.ListGroups(ctx, store.GroupQuery{
		Search: deref(r.Params.Query), Allowed: callerOf(ctx).principal.Allowed(), Cursor: deref(r.Params.Cursor), Limit: limit,
	})
	if err != nil {
		return nil, err
	}
	return ListGroups200JSONResponse(GroupList{Items: each(page.Items, showGroup), NextCursor: next(page.Next)}), nil
}

// GetGroup implements GET /v1/groups/{group_id}.
func (a *API) GetGroup(ctx context.Context, r GetGroupRequestObject) (GetGroupResponseObject, error) {
	g, err := a.cfg.Store.Group(ctx, r.GroupId)
	if err != nil {
		return nil, err
	}
	return GetGroup200JSONResponse{Body: showGroup(g), Headers: GetGroup200ResponseHeaders{ETag: etag(g.Revision)}}, nil
}

const defaultLocale = "en"

// PutGroup implements PUT /v1/groups/{group_id}.
func (a *API) PutGroup(ctx context.Context, r PutGroupRequestObject) (PutGroupResponseObject, error) {
	match, err := optional(r.Params.IfMatch)
	w, err := a.writer(ctx, match, err, r.Params.PacekeeperReason)
	if err != nil {
		return nil, err
	}
	in, err := decode[GroupInput](a, r.Body)
	if err != nil {
		return nil, a.groupFault(ctx, r.GroupId, match, err)
	}
	locale, err := a.locale(ctx, r.GroupId, in.Locale)
	if err != nil {
		return nil, err
	}
	g, created, err := a.cfg.Store.PutGroup(ctx, w.Actor, w.match, r.GroupId, in.Name, locale)
	if err != nil {
		return nil, a.staleGroup(g, err)
	}
	a.settle(ctx, r.GroupId, r.Params.Prefer)
	if created {
		return PutGroup201JSONResponse{Body: showGroup(g), Headers: PutGroup201ResponseHeaders{ETag: etag(g.Revision)}}, nil
	}
	return PutGroup200JSONResponse{Body: showGroup(g), Headers: PutGroup200ResponseHeaders{ETag: etag(g.Revision)}}, nil
}

// locale is the one asked for, else the one that the group has.
func (a *API) locale(ctx context.Context, groupID string, asked *string) (string, error) {
	if asked != nil {
		return *asked, nil
	}
	g, err := a.cfg.Store.Group(ctx, groupID)
	if hasCode(err, policy.CodeNotFound) {
		return defaultLocale, nil
	}
	return g.Locale, err
}

// ArchiveGroup implements DELETE /v1/groups/{group_id}.
func (a *API) ArchiveGroup(ctx context.Context, r ArchiveGroupRequestObject) (ArchiveGroupResponseObject, error) {
	match, err := optional(r.Params.IfMatch)
	w, err := a.writer(ctx, match, err, r.Params.PacekeeperReason)
	if err != nil {
		return nil, err
	}
	g, err := a.cfg.Store.ArchiveGroup(ctx, w.Actor, w.match, r.GroupId)
	if err != nil {
		return nil, a.staleGroup(g, err)
	}
	a.settle(ctx, r.GroupId, r.Params.Prefer)
	return ArchiveGroup200JSONResponse{Body: showGroup(g), Headers: ArchiveGroup200ResponseHeaders{ETag: etag(g.Revision)}}, nil
}

func (a *API) staleGroup(g store.Group, err error) error {
	return stale(err, *etag(g.Revision), func() any { return showGroup(g) })
}

// groupFault puts a failed precondition before a fault of the body.
func (a *API) groupFault(ctx context.Context, groupID string, m store.Match, fault error) error {
	if m.Any {
		return fault
	}
	g, err := a.cfg.Store.Group(ctx, groupID)
	if err != nil && !hasCode(err, policy.CodeNotFound) {
		return err
	}
	if err := mismatch(m, g.Revision); err != nil {
		return a.staleGroup(g, err)
	}
	return fault
}

func showGroup(g store.Group) Group {
	return Group{GroupId: g.ID, Name: g.Name, Locale: g.Locale, ArchivedAt: moment(g.ArchivedAt)}
}
