package api

import (
	"context"
	"slices"
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// holdsWait is how long Redis may take to tell of the bans of scopes, or to lift one.
const holdsWait = time.Second

// ListScopeBans implements GET /v1/system/bans.
func (a *API) ListScopeBans(ctx context.Context, r ListScopeBansRequestObject) (ListScopeBansResponseObject, error) {
	subjects, err := scopeSubjects(r.Params)
	if err != nil {
		return nil, err
	}
	sys, err := a.cfg.Store.System(ctx)
	if err != nil {
		return nil, err
	}
	bans, err := a.scopeBans(ctx, subjects, sys.ActionNames())
	if err != nil {
		return nil, err
	}
	return ListScopeBans200JSONResponse(ScopeBanList{Items: each(bans, showScopeBan)}), nil
}

// LiftScopeBan implements DELETE /v1/system/bans/{scope}/{action}/{subject}.
func (a *API) LiftScopeBan(ctx context.Context, r LiftScopeBanRequestObject) (LiftScopeBanResponseObject, error) {
	w, err := a.writer(ctx, store.Anything(), nil, r.Params.PacekeeperReason)
	if err != nil {
		return nil, err
	}
	scope := policy.Scope(r.Scope)
	if !slices.Contains(policy.SystemScopes(), scope) || !policy.ValidActionName(r.Action) {
		return nil, policy.Errorf(policy.CodeNotFound, "there is no such scope or action")
	}
	bans, err := a.scopeBans(ctx, map[policy.Scope]string{scope: r.Subject}, []string{r.Action})
	if err != nil {
		return nil, err
	}
	if len(bans) == 0 {
		return nil, policy.Errorf(policy.CodeNotFound, "no such ban holds")
	}
	err = a.cfg.Store.LiftScopeBan(ctx, w.Actor, bans[0], func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, holdsWait)
		defer cancel()
		lifted, err := a.cfg.Holds.LiftScopeBan(ctx, bans[0])
		return lifted, errHolds(err)
	})
	if err != nil {
		return nil, err
	}
	return LiftScopeBan204Response{}, nil
}

// scopeSubjects are whom a caller asks for, by scope.
func scopeSubjects(p ListScopeBansParams) (map[policy.Scope]string, error) {
	user, peer, subjects := deref(p.User), deref(p.Peer), map[policy.Scope]string{}
	for _, id := range [...]string{user, peer} {
		if id != "" && policy.CheckID("", id) != nil {
			return nil, policy.Errorf(policy.CodeMalformed, "the query parameters user and peer are ids of users")
		}
	}
	if user != "" {
		subjects[policy.ScopeUser] = user
	}
	if user != "" && peer != "" {
		subjects[policy.ScopePeer] = policy.PeerSubject(user, peer)
	}
	if ip := deref(p.Ip); ip != "" {
		address, err := policy.IPSubject("", ip)
		if err != nil {
			return nil, policy.Errorf(policy.CodeMalformed, "the query parameter ip is an IPv4 or IPv6 address without a port")
		}
		subjects[policy.ScopeIP] = address
	}
	if len(subjects) == 0 || user == "" && peer != "" {
		return nil, policy.Errorf(policy.CodeMalformed, "the query parameters name a user, a user and a peer, or an ip")
	}
	return subjects, nil
}

// scopeBans are the bans that hold now.
func (a *API) scopeBans(ctx context.Context, subjects map[policy.Scope]string, actions []string) ([]policy.ScopeBan, error) {
	if a.cfg.Holds == nil {
		return nil, policy.Errorf(policy.CodeUnavailable, "this server does not look into Redis")
	}
	ctx, cancel := context.WithTimeout(ctx, holdsWait)
	defer cancel()
	bans, err := a.cfg.Holds.ScopeBans(ctx, subjects, actions)
	now := a.cfg.Now().UnixMilli()
	return slices.DeleteFunc(bans, func(b policy.ScopeBan) bool { return b.EndMS <= now }), errHolds(err)
}

// errHolds is what callers are told of an error of Redis.
func errHolds(err error) error {
	if err == nil {
		return nil
	}
	return policy.Errorf(policy.CodeUnavailable, "Redis does not answer")
}

func showScopeBan(b policy.ScopeBan) ScopeBan {
	return ScopeBan{
		Scope: ScopeBanScope(b.Scope), Action: b.Action, Subject: b.Subject,
		Since: time.UnixMilli(b.StartMS).UTC(), Until: time.UnixMilli(b.EndMS).UTC(),
	}
}
