package api

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// PreviewBounds implements POST /v1/system/bounds/preview.
func (a *API) PreviewBounds(ctx context.Context, r PreviewBoundsRequestObject) (PreviewBoundsResponseObject, error) {
	terms, err := previewTerms(r.Params.Samples, r.Params.Seconds)
	if err != nil {
		return nil, err
	}
	bounds, err := parseBody(r.Body, policy.ParseBounds)
	if err != nil {
		return nil, err
	}
	impact, err := a.preview(ctx, terms, func(ctx context.Context) (store.Impact, error) {
		return a.cfg.Store.PreviewBounds(ctx, bounds, terms.samples)
	})
	if err != nil {
		return nil, err
	}
	return PreviewBounds200JSONResponse{ImpactJSONResponse(a.showImpact(impact, impact.Before.BoundsVersion))}, nil
}

// PreviewDefaults implements POST /v1/system/defaults/preview.
func (a *API) PreviewDefaults(ctx context.Context, r PreviewDefaultsRequestObject) (PreviewDefaultsResponseObject, error) {
	terms, err := previewTerms(r.Params.Samples, r.Params.Seconds)
	if err != nil {
		return nil, err
	}
	document, err := parseBody(r.Body, policy.ParseDefaults)
	if err == nil && parsePrefer(r.Params.Prefer).strict {
		err = a.strictDefaults(ctx, document)
	}
	if err != nil {
		return nil, err
	}
	impact, err := a.preview(ctx, terms, func(ctx context.Context) (store.Impact, error) {
		return a.cfg.Store.PreviewDefaults(ctx, document, terms.samples)
	})
	if err != nil {
		return nil, err
	}
	return PreviewDefaults200JSONResponse{ImpactJSONResponse(a.showImpact(impact, impact.Before.DefaultsVersion))}, nil
}

// terms are what a preview may cost.
type terms struct {
	samples int
	most    time.Duration
}

func previewTerms(samples *Samples, seconds *Seconds) (t terms, err error) {
	const maxSamples, maxSeconds = 100, 300
	t = terms{samples: 20, most: 45 * time.Second}
	if samples != nil {
		t.samples = *samples
	}
	if seconds != nil {
		t.most = time.Duration(*seconds) * time.Second
	}
	if t.samples < 0 || t.samples > maxSamples {
		return t, policy.Errorf(policy.CodeInvalid, "the query parameter samples must be 0 to %d groups", maxSamples)
	}
	if t.most < time.Second || t.most > maxSeconds*time.Second {
		return t, policy.Errorf(policy.CodeInvalid, "the query parameter seconds must be 1 to %d seconds", maxSeconds)
	}
	return t, nil
}

// preview runs one count at a time: each takes a core and a connection while it lasts.
func (a *API) preview(ctx context.Context, t terms, count func(context.Context) (store.Impact, error)) (store.Impact, error) {
	ctx, cancel := context.WithTimeout(ctx, t.most)
	defer cancel()
	select {
	case a.counting <- struct{}{}:
		defer func() { <-a.counting }()
		return count(ctx)
	case <-ctx.Done():
		return store.Impact{}, policy.Errorf(policy.CodeUnavailable, "another preview is being counted; ask again")
	}
}

func (a *API) showImpact(im store.Impact, version int64) Impact {
	return Impact{
		Version: version, Complete: im.Complete, Of: im.Of, Groups: im.Groups, WithoutDocument: im.WithoutDocument,
		Unreadable: im.Unreadable, Changed: im.Changed, Loosened: im.Loosened, Tightened: im.Tightened,
		NewlyClamped: im.NewlyClamped, Released: im.Released, DefaultsClamped: each(im.After.DefaultsClamped, showClamp),
		Settings: showImpactSettings(im.Settings), Samples: each(im.Samples, showImpactSample),
		Scopes: each(im.Scopes, showImpactChange), Publishing: a.showPublishing(im.Of),
	}
}

// showImpactSettings leaves out what nobody states and the change leaves as it is.
func showImpactSettings(settings []*policy.ImpactSetting) []ImpactSetting {
	shown := []ImpactSetting{}
	for _, s := range settings {
		if s.Stated+s.None == 0 && s.Before == s.After {
			continue
		}
		shown = append(shown, ImpactSetting{
			Path: s.Path, Unit: ImpactSettingUnit(s.Unit), Before: showRange(s.Before), After: showRange(s.After), Stated: s.Stated,
			None: s.None, HeldBefore: s.HeldBefore, HeldAfter: s.HeldAfter,
			Buckets: each(s.Buckets(), showBucket),
		})
	}
	return shown
}

func showRange(r policy.Range) Range { return Range{Min: r.Min, Max: r.Max} }

func showBucket(b policy.ImpactBucket) ImpactBucket {
	return ImpactBucket{From: b.From, To: b.To, Count: b.Count}
}

func showImpactSample(s policy.ImpactSample) ImpactSample {
	return ImpactSample{GroupId: s.GroupID, Loosens: s.Loosened, Tightens: s.Tightened, Changes: each(s.Changes, showImpactChange)}
}

func showImpactChange(c policy.ImpactChange) ImpactChange {
	shown := ImpactChange{
		Path: c.Path, EffectiveBefore: json.RawMessage(c.Before), EffectiveAfter: json.RawMessage(c.After), Limit: c.Limit,
	}
	if c.Requested != nil {
		shown.Requested = json.RawMessage(c.Requested)
	}
	if c.Bound != "" {
		bound := BoundKind(c.Bound)
		shown.Bound = &bound
	}
	return shown
}

// showPublishing is how long the groups take at the rate of the fleet job that runs, or of the last.
func (a *API) showPublishing(groups int64) *ImpactPublishing {
	if a.cfg.SyncStatus == nil {
		return nil
	}
	job := a.cfg.SyncStatus().Fleet
	at := job.EndedAt
	if job.Running {
		at = job.BeganAt
	}
	if at == nil || job.GroupsPerSecond == 0 {
		return nil
	}
	return &ImpactPublishing{
		Seconds: float64(groups) / job.GroupsPerSecond, GroupsPerSecond: job.GroupsPerSecond, MeasuredAt: *at,
	}
}
