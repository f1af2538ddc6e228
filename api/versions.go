package api

import (
	"context"

	"github.com/pacekeeper/pacekeeper/store"
)

// ListVersions implements GET /v1/groups/{group_id}/policy/versions.
func (a *API) ListVersions(ctx context.Context, r ListVersionsRequestObject) (ListVersionsResponseObject, error) {
	limit, err := pageLimit(r.Params.Limit)
	if err != nil {
		return nil, err
	}
	page, err := a.cfg.Store.Versions(ctx, r.GroupId, deref(r.Params.Cursor), limit)
	if err != nil {
		return nil, err
	}
	return ListVersions200JSONResponse(VersionList{Items: each(page.Items, showVersion), NextCursor: next(page.Next)}), nil
}

// GetVersion implements GET /v1/groups/{group_id}/policy/versions/{version}.
func (a *API) GetVersion(ctx context.Context, r GetVersionRequestObject) (GetVersionResponseObject, error) {
	v, err := a.cfg.Store.Version(ctx, r.GroupId, r.Version)
	if err != nil {
		return nil, err
	}
	return GetVersion200JSONResponse(VersionDetail{
		Version: v.Version, At: v.At.UTC(), Actor: v.Actor, Role: v.Role, Kind: v.Kind, Reason: v.Reason,
		Document: v.Document.JSON(),
	}), nil
}

func showVersion(v store.Version) VersionEntry {
	return VersionEntry{Version: v.Version, At: v.At.UTC(), Actor: v.Actor, Role: v.Role, Kind: v.Kind, Reason: v.Reason}
}
