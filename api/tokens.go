package api

import (
	"context"
	"strconv"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// ListTokens implements GET /v1/tokens.
func (a *API) ListTokens(ctx context.Context, r ListTokensRequestObject) (ListTokensResponseObject, error) {
	limit, err := pageLimit(r.Params.Limit)
	if err != nil {
		return nil, err
	}
	page, err := a.cfg.Store.ListTokens(ctx, deref(r.Params.Cursor), limit)
	if err != nil {
		return nil, err
	}
	return ListTokens200JSONResponse(TokenList{Items: each(page.Items, showToken), NextCursor: next(page.Next)}), nil
}

// GetToken implements GET /v1/tokens/{id}.
func (a *API) GetToken(ctx context.Context, r GetTokenRequestObject) (GetTokenResponseObject, error) {
	t, err := a.cfg.Store.Token(ctx, r.Id)
	if err != nil {
		return nil, err
	}
	return GetToken200JSONResponse(showToken(t)), nil
}

// CreateToken implements POST /v1/tokens.
func (a *API) CreateToken(ctx context.Context, r CreateTokenRequestObject) (CreateTokenResponseObject, error) {
	w, err := a.writer(ctx, store.Anything(), nil, r.Params.PacekeeperReason)
	if err != nil {
		return nil, err
	}
	in, err := decode[TokenInput](a, r.Body)
	if err == nil {
		err = a.tokenFault(in)
	}
	if err != nil {
		return nil, err
	}
	t, secret, err := a.cfg.Store.CreateToken(ctx, w.Actor, store.TokenInput{
		Name: in.Name, Role: string(in.Role), Groups: deref(in.Groups), ExpiresAt: deref(in.ExpiresAt).UTC(),
	})
	if err != nil {
		return nil, err
	}
	shown := showToken(t)
	return CreateToken201JSONResponse(NewToken{
		Id: shown.Id, Name: shown.Name, Role: shown.Role, Groups: shown.Groups, ExpiresAt: shown.ExpiresAt,
		CreatedAt: shown.CreatedAt, Token: secret,
	}), nil
}

// RevokeToken implements DELETE /v1/tokens/{id}.
func (a *API) RevokeToken(ctx context.Context, r RevokeTokenRequestObject) (RevokeTokenResponseObject, error) {
	w, err := a.writer(ctx, store.Anything(), nil, r.Params.PacekeeperReason)
	if err != nil {
		return nil, err
	}
	if _, err := a.cfg.Store.RevokeToken(ctx, w.Actor, r.Id); err != nil {
		return nil, err
	}
	return RevokeToken204Response{}, nil
}

// tokenFault checks what tags cannot say: ids, and that groups belong to group admins alone.
func (a *API) tokenFault(in TokenInput) error {
	groups := deref(in.Groups)
	isAdmin := in.Role == RoleGroupAdmin
	switch {
	case isAdmin && len(groups) == 0:
		return invalid(policy.FieldError{Pointer: "/groups", Code: "required", Detail: "groups must name at least one group for a group_admin"})
	case !isAdmin && len(groups) > 0:
		return invalid(policy.FieldError{Pointer: "/groups", Code: "forbidden", Detail: "groups belong to the role group_admin alone"})
	}
	var fields []policy.FieldError
	for i, group := range groups {
		if policy.CheckID("", group) != nil {
			fields = append(fields, policy.FieldError{Pointer: "/groups/" + strconv.Itoa(i), Code: "format", Detail: "this is not a group's id"})
		}
	}
	if len(fields) > 0 {
		return invalid(fields...)
	}
	return a.inFuture("/expires_at", in.ExpiresAt)
}

func showToken(t store.Token) Token {
	groups := t.Groups
	if groups == nil {
		groups = []string{}
	}
	return Token{
		Id: t.ID, Name: t.Name, Role: Role(t.Role), Groups: groups, ExpiresAt: moment(t.ExpiresAt), CreatedAt: t.CreatedAt.UTC(),
		RevokedAt: moment(t.RevokedAt),
	}
}
