package api

import (
	"context"
	"encoding/json"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// GetBounds implements GET /v1/system/bounds.
func (a *API) GetBounds(ctx context.Context, _ GetBoundsRequestObject) (GetBoundsResponseObject, error) {
	record, err := a.cfg.Store.Bounds(ctx)
	if err != nil {
		return nil, err
	}
	return GetBounds200JSONResponse{boundsResponse(record)}, nil
}

// PutBounds implements PUT /v1/system/bounds.
func (a *API) PutBounds(ctx context.Context, r PutBoundsRequestObject) (PutBoundsResponseObject, error) {
	match, err := required(r.Params.IfMatch)
	w, err := a.writer(ctx, match, err, r.Params.PacekeeperReason)
	if err != nil {
		return nil, err
	}
	bounds, err := parseBody(r.Body, policy.ParseBounds)
	if err != nil {
		return nil, a.boundsFault(ctx, match, err)
	}
	record, _, err := a.cfg.Store.UpdateBounds(ctx, w.Actor, w.match, bounds)
	if err != nil {
		return nil, staleBounds(record, err)
	}
	a.systems.keep(record.System, a.cfg.Now())
	return PutBounds200JSONResponse{boundsResponse(record)}, nil
}

// GetDefaults implements GET /v1/system/defaults.
func (a *API) GetDefaults(ctx context.Context, _ GetDefaultsRequestObject) (GetDefaultsResponseObject, error) {
	record, err := a.cfg.Store.Defaults(ctx)
	if err != nil {
		return nil, err
	}
	return GetDefaults200JSONResponse{defaultsResponse(record, nil)}, nil
}

// PutDefaults implements PUT /v1/system/defaults.
func (a *API) PutDefaults(ctx context.Context, r PutDefaultsRequestObject) (PutDefaultsResponseObject, error) {
	match, err := required(r.Params.IfMatch)
	w, err := a.writer(ctx, match, err, r.Params.PacekeeperReason)
	if err != nil {
		return nil, err
	}
	document, err := parseBody(r.Body, policy.ParseDefaults)
	if err == nil && parsePrefer(r.Params.Prefer).strict {
		err = a.strictDefaults(ctx, document)
	}
	if err != nil {
		return nil, a.defaultsFault(ctx, match, err)
	}
	record, _, err := a.cfg.Store.UpdateDefaults(ctx, w.Actor, w.match, document)
	if err != nil {
		return nil, staleDefaults(record, err)
	}
	a.systems.keep(record.System, a.cfg.Now())
	clamped := each(record.System.DefaultsClamped, showClamp)
	return PutDefaults200JSONResponse{defaultsResponse(record, &clamped)}, nil
}

// ListActions implements GET /v1/system/actions.
func (a *API) ListActions(ctx context.Context, _ ListActionsRequestObject) (ListActionsResponseObject, error) {
	sys, err := a.cfg.Store.System(ctx)
	if err != nil {
		return nil, err
	}
	return ListActions200JSONResponse(ActionList{Items: each(sys.Actions, showAction)}), nil
}

// PutAction implements PUT /v1/system/actions/{name}.
func (a *API) PutAction(ctx context.Context, r PutActionRequestObject) (PutActionResponseObject, error) {
	w, err := a.writer(ctx, store.Anything(), nil, r.Params.PacekeeperReason)
	if err != nil {
		return nil, err
	}
	in, err := decode[ActionInput](a, r.Body)
	if err == nil && !policy.ValidActionName(r.Name) {
		err = policy.Errorf(policy.CodeInvalid, "an action's name must be a lower-case letter, then up to 31 of a-z, 0-9, _ and -")
	}
	if err != nil {
		return nil, err
	}
	created, _, err := a.cfg.Store.PutAction(ctx, w.Actor, policy.ActionSpec{Name: r.Name, Speech: in.Speech})
	if err != nil {
		return nil, err
	}
	a.systems.fresh(ctx, a.cfg.Now())
	entry := ActionEntry{Name: r.Name, Speech: in.Speech}
	if created {
		return PutAction201JSONResponse(entry), nil
	}
	return PutAction200JSONResponse{ActionEntryJSONResponse(entry)}, nil
}

// GetSync implements GET /v1/system/sync.
func (a *API) GetSync(_ context.Context, _ GetSyncRequestObject) (GetSyncResponseObject, error) {
	if a.cfg.SyncStatus == nil {
		return nil, policy.Errorf(policy.CodeUnavailable, "nothing is published by this process")
	}
	return GetSync200JSONResponse(a.cfg.SyncStatus()), nil
}

// parseBody hands the bytes of a body to a parser of policy.
func parseBody[T any](b *Body, parse func([]byte) (T, error)) (T, error) {
	data, err := b.raw()
	if err != nil {
		var zero T
		return zero, err
	}
	return parse(data)
}

// strictDefaults refuses defaults that bounds would clamp.
func (a *API) strictDefaults(ctx context.Context, document policy.Document) error {
	sys, err := a.cfg.Store.System(ctx)
	if err != nil {
		return err
	}
	if err := sys.ValidateDefaults(sys.Defaults, document); err != nil {
		return err
	}
	draft := sys.SystemConfig
	draft.Defaults = document
	drafted, err := policy.NewSystem(draft)
	if err != nil {
		return err
	}
	if len(drafted.DefaultsClamped) > 0 {
		return clampFault(drafted.DefaultsClamped)
	}
	return nil
}

// boundsFault puts a failed precondition before a fault of the body.
func (a *API) boundsFault(ctx context.Context, m store.Match, fault error) error {
	record, err := a.cfg.Store.Bounds(ctx)
	if err != nil {
		return err
	}
	if err := mismatch(m, record.Version); err != nil {
		return staleBounds(record, err)
	}
	return fault
}

// defaultsFault does so for the defaults.
func (a *API) defaultsFault(ctx context.Context, m store.Match, fault error) error {
	record, err := a.cfg.Store.Defaults(ctx)
	if err != nil {
		return err
	}
	if err := mismatch(m, record.Version); err != nil {
		return staleDefaults(record, err)
	}
	return fault
}

func staleBounds(record store.BoundsRecord, err error) error {
	return stale(err, *etag(record.Version), func() any { return showBounds(record) })
}

func staleDefaults(record store.DefaultsRecord, err error) error {
	return stale(err, *etag(record.Version), func() any { return showDefaults(record, nil) })
}

func boundsResponse(record store.BoundsRecord) BoundsJSONResponse {
	return BoundsJSONResponse{Body: showBounds(record), Headers: BoundsResponseHeaders{ETag: etag(record.Version)}}
}

func defaultsResponse(record store.DefaultsRecord, clamped *[]Clamp) DefaultsJSONResponse {
	return DefaultsJSONResponse{Body: showDefaults(record, clamped), Headers: DefaultsResponseHeaders{ETag: etag(record.Version)}}
}

func showBounds(record store.BoundsRecord) json.RawMessage {
	return withMember("version", record.Version, record.Bounds.JSON(record.System.ActionNames()))
}

func showDefaults(record store.DefaultsRecord, clamped *[]Clamp) json.RawMessage {
	shown := withMember("version", record.Version, record.Document.JSON())
	if clamped != nil {
		shown = withMember("clamped", *clamped, shown)
	}
	return shown
}

// withMember puts a member in front of a JSON object; the rest keeps its order. The value is one of ours and marshals.
func withMember(name string, value any, object []byte) json.RawMessage {
	front, err := json.Marshal(map[string]any{name: value})
	if err != nil || len(object) <= len("{}") {
		return front
	}
	return append(append(front[:len(front)-1], ','), object[1:]...)
}

func showAction(spec policy.ActionSpec) ActionEntry {
	return ActionEntry{Name: spec.Name, Speech: spec.Speech}
}
