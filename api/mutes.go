package api

import (
	"context"
	"log/slog"
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// ListMutes implements GET /v1/groups/{group_id}/mutes.
func (a *API) ListMutes(ctx context.Context, r ListMutesRequestObject) (ListMutesResponseObject, error) {
	limit, err := pageLimit(r.Params.Limit)
	if err != nil {
		return nil, err
	}
	a.drain(ctx, r.GroupId)
	page, err := a.cfg.Store.ListMutes(ctx, r.GroupId, deref(r.Params.Cursor), limit)
	if err != nil {
		return nil, err
	}
	return ListMutes200JSONResponse(MuteList{Items: each(page.Items, showMute), NextCursor: next(page.Next)}), nil
}

// GetMute implements GET /v1/groups/{group_id}/mutes/{user_id}.
func (a *API) GetMute(ctx context.Context, r GetMuteRequestObject) (GetMuteResponseObject, error) {
	a.drain(ctx, r.GroupId)
	m, err := a.cfg.Store.Mute(ctx, r.GroupId, r.UserId)
	if err != nil {
		return nil, err
	}
	return GetMute200JSONResponse{muteResponse(m)}, nil
}

// PutMute implements PUT /v1/groups/{group_id}/mutes/{user_id}.
func (a *API) PutMute(ctx context.Context, r PutMuteRequestObject) (PutMuteResponseObject, error) {
	match, err := optional(r.Params.IfMatch)
	w, err := a.writer(ctx, match, err, r.Params.PacekeeperReason)
	if err != nil {
		return nil, err
	}
	a.drain(ctx, r.GroupId)
	in, err := decode[MuteInput](a, r.Body)
	if err != nil {
		return nil, a.muteFault(ctx, r.GroupId, r.UserId, match, err)
	}
	end, err := a.muteEnd(in)
	if err != nil {
		return nil, a.muteFault(ctx, r.GroupId, r.UserId, match, err)
	}
	if in.Reason != nil {
		w.Reason = *in.Reason
	}
	m, err := a.cfg.Store.PutMute(ctx, w.Actor, r.GroupId, r.UserId, w.match, store.MuteInput{EndMS: end, Reason: w.Reason})
	if err != nil {
		return nil, a.staleMute(ctx, r.GroupId, r.UserId, err)
	}
	a.settle(ctx, r.GroupId, r.Params.Prefer)
	return PutMute200JSONResponse{muteResponse(m)}, nil
}

// LiftMute implements DELETE /v1/groups/{group_id}/mutes/{user_id}.
func (a *API) LiftMute(ctx context.Context, r LiftMuteRequestObject) (LiftMuteResponseObject, error) {
	match, err := optional(r.Params.IfMatch)
	w, err := a.writer(ctx, match, err, r.Params.PacekeeperReason)
	if err != nil {
		return nil, err
	}
	a.drain(ctx, r.GroupId)
	if _, err := a.cfg.Store.LiftMute(ctx, w.Actor, r.GroupId, r.UserId, w.match); err != nil {
		return nil, a.staleMute(ctx, r.GroupId, r.UserId, err)
	}
	a.settle(ctx, r.GroupId, r.Params.Prefer)
	return LiftMute204Response{}, nil
}

// drain brings in what scripts have just decided. A Redis that is away must not keep anybody from the store.
func (a *API) drain(ctx context.Context, groupID string) {
	if a.cfg.Drain == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	if err := a.cfg.Drain(ctx, groupID); err != nil {
		a.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "events not read", slog.String("group_id", groupID), slog.Any("error", err))
	}
}

const drainTime = 400 * time.Millisecond

// muteEnd is the moment that a mute is asked to end, in Unix ms.
func (a *API) muteEnd(in MuteInput) (int64, error) {
	switch {
	case (in.Until == nil) == (in.ForMs == nil):
		return 0, invalid(policy.FieldError{Code: "required", Detail: "the body must hold exactly one of until and for_ms"})
	case in.ForMs != nil:
		return a.cfg.Now().UnixMilli() + *in.ForMs, nil
	}
	if err := a.inFuture("/until", in.Until); err != nil {
		return 0, err
	}
	if in.Until.Sub(a.cfg.Now()) > policy.MaxMuteMS*time.Millisecond {
		return 0, invalid(policy.FieldError{Pointer: "/until", Code: "range", Detail: "until must be at most 30 days away"})
	}
	return in.Until.UnixMilli(), nil
}

// staleMute adds the mute in force to a failed precondition.
func (a *API) staleMute(ctx context.Context, groupID, userID string, err error) error {
	if !hasCode(err, policy.CodeStale) {
		return err
	}
	m, readErr := a.cfg.Store.Mute(ctx, groupID, userID)
	if readErr != nil {
		return stale(err, *etag(0), func() any { return nil })
	}
	return stale(err, *etag(m.StartMS), func() any { return showMute(m) })
}

// muteFault puts a failed precondition before a fault of the body.
func (a *API) muteFault(ctx context.Context, groupID, userID string, m store.Match, fault error) error {
	if m.Any {
		return fault
	}
	current, err := a.cfg.Store.Mute(ctx, groupID, userID)
	if hasCode(err, policy.CodeNotFound) {
		current, err = store.Mute{}, nil // the tag of no mute is "0", whatever one there was
	}
	if err != nil {
		return err
	}
	if err := mismatch(m, current.StartMS); err != nil {
		return a.staleMute(ctx, groupID, userID, err)
	}
	return fault
}

func muteResponse(m store.Mute) MuteJSONResponse {
	return MuteJSONResponse{Body: showMute(m), Headers: MuteResponseHeaders{ETag: etag(m.StartMS)}}
}

const bySystem = "system" // who gave a mute that nobody gave

func showMute(m store.Mute) Mute {
	by := m.By
	if by == "" {
		by = bySystem
	}
	return Mute{UserId: m.UserID, Until: time.UnixMilli(m.EndMS).UTC(), Cause: m.Cause, Step: m.Step, By: by}
}
