package ui

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// tokensView is every token, newest first, and a form for another. Secret is the one that was just made, shown this once.
type tokensView struct {
	base
	opsHead
	Banner      *bannerView
	Made        *madeToken
	Tokens      []tokenRow
	Next, First string
	Faults      []faultView
	Fault       faulted
	Once        string // of the form: sent twice, it makes one token
	Name        string
	GroupIDs    string
	Roles, Ends []optionView
}

// madeToken is a new token with its secret.
type madeToken struct{ Head, Secret string }

// tokenRow is one token. Kind is of the badge behind Ends.
type tokenRow struct {
	Name, Prefix, Role, Groups, MadeBy, Made string
	Ends, Kind                               string
	Revoke, RevokeLabel                      string // address, "" where there is nothing to revoke
}

// revokeView asks before a token is revoked.
type revokeView struct {
	base
	opsHead
	Token  tokenRow
	Action string
	Own    bool // the visitor signed in with it
}

const (
	tokensShown  = 50
	endsSoon     = 7 * 24 * time.Hour
	maxTokenName = 100 // characters
)

// tokenRoles are the roles in the order of the form.
func tokenRoles() []string {
	return []string{store.RoleGateway, store.RolePlatform, store.RoleGroupAdmin, store.RoleAuditor, store.RoleOperator}
}

// tokenDays are the lives that a token may have.
func tokenDays() []int { return []int{30, 90, 365} }

func (u *UI) tokensPage(c echo.Context) error {
	v, err := u.tokensView(c, url.Values{"role": {store.RoleGateway}, "days": {"90"}})
	if err != nil {
		return err
	}
	if id := c.QueryParam("revoked"); id != "" { // what the address claims is looked up: a link may come from anywhere
		t, err := u.cfg.Store.Token(c.Request().Context(), id)
		if err != nil && !hasCode(err, policy.CodeNotFound) {
			return err
		}
		if !t.RevokedAt.IsZero() {
			v.Banner = &bannerView{Kind: "good", Text: v.Say("token_revoked", t.Name)}
		}
	}
	return u.render(c.Response(), http.StatusOK, "ops_tokens", v)
}

func (u *UI) tokensView(c echo.Context, form url.Values) (tokensView, error) {
	b := u.base(c.Request(), "tokens")
	v := tokensView{
		base: b, opsHead: u.opsHead(c, "tokens", "tokens"), Name: form.Get("name"), GroupIDs: form.Get("groups"),
	}
	var err error
	if v.Once, err = u.cfg.Store.NewSecret(); err != nil {
		return v, err
	}
	page, err := u.cfg.Store.ListTokens(c.Request().Context(), c.QueryParam("cursor"), tokensShown)
	if err != nil {
		return v, err
	}
	soon := 0
	for _, t := range page.Items {
		row := u.tokenRow(b, t)
		if row.Kind == "warn" {
			soon++
		}
		v.Tokens = append(v.Tokens, row)
	}
	if soon > 0 {
		v.Badge = badgeView{Kind: "warn", Icon: "clock", Text: b.Say(counted("tokens_soon", soon), soon)}
	}
	if page.Next != "" {
		v.Next = "/ops/tokens?" + url.Values{"cursor": {page.Next}}.Encode()
	}
	if c.QueryParam("cursor") != "" {
		v.First = "/ops/tokens"
	}
	for _, role := range tokenRoles() {
		v.Roles = append(v.Roles, optionView{role, b.Say("token_role_" + role), role == form.Get("role")})
	}
	for _, days := range tokenDays() {
		text := strconv.Itoa(days)
		v.Ends = append(v.Ends, optionView{text, b.Say("token_days", days), text == form.Get("days")})
	}
	return v, nil
}

func (u *UI) tokenRow(b base, t store.Token) tokenRow {
	row := tokenRow{
		Name: t.Name, Prefix: "pk_" + t.ID + "_…", Role: b.Say("token_role_" + t.Role), Groups: strings.Join(t.Groups, b.Say("comma")),
		MadeBy: b.person(t.CreatedBy), Made: b.day(t.CreatedAt.UTC()),
	}
	now := u.cfg.Now()
	switch {
	case !t.RevokedAt.IsZero():
		row.Ends = b.Say("token_was_revoked", b.day(t.RevokedAt.UTC()))
		return row
	case t.ExpiresAt.IsZero():
		row.Ends = b.Say("no_end")
	case !now.Before(t.ExpiresAt):
		row.Ends = b.Say("ended", b.day(t.ExpiresAt.UTC()))
		return row
	default:
		row.Ends = b.day(t.ExpiresAt.UTC())
		if t.ExpiresAt.Sub(now) < endsSoon {
			row.Kind = "warn"
		}
	}
	row.Revoke, row.RevokeLabel = "/ops/tokens/"+url.PathEscape(t.ID)+"/revoke", b.Say("token_revoke_of", t.Name)
	return row
}

// createToken makes a token and shows its secret, in this answer alone.
func (u *UI) createToken(c echo.Context) error {
	b := u.base(c.Request(), "tokens")
	in, faults := b.tokenInput(c, u.cfg.Now())
	if len(faults) > 0 {
		return u.showTokenFaults(c, faults)
	}
	made, secret, err := u.cfg.Store.CreateToken(c.Request().Context(), u.actor(c, principalOf(c.Request())), in)
	switch {
	case hasCode(err, policy.CodeConflict):
		return u.showTokenFaults(c, []faultView{{"name", b.Say("token_form_used")}})
	case err != nil:
		return err
	}
	v, err := u.tokensView(c, url.Values{"role": {store.RoleGateway}, "days": {"90"}})
	if err != nil {
		return err
	}
	v.Made = &madeToken{Head: v.Say("token_made", made.Name), Secret: secret}
	return u.render(c.Response(), http.StatusOK, "ops_tokens", v)
}

// tokenInput reads the form of a new token.
func (b base) tokenInput(c echo.Context, now time.Time) (in store.TokenInput, faults []faultView) {
	in = store.TokenInput{Name: strings.TrimSpace(c.FormValue("name")), Role: c.FormValue("role"), Secret: c.FormValue("once")}
	if in.Name == "" {
		faults = append(faults, faultView{"name", b.Say("token_enter_name")})
	} else if fault := b.lineFault(in.Name, maxTokenName); fault != "" {
		faults = append(faults, faultView{"name", fault})
	}
	if !slices.Contains(tokenRoles(), in.Role) {
		faults = append(faults, faultView{"role", b.Say("refused_choice")})
	}
	groups := strings.Fields(c.FormValue("groups"))
	switch isAdmin := in.Role == store.RoleGroupAdmin; {
	case isAdmin && len(groups) == 0:
		faults = append(faults, faultView{"groups", b.Say("token_enter_groups")})
	case !isAdmin && len(groups) > 0:
		faults = append(faults, faultView{"groups", b.Say("token_no_groups")})
	}
	for _, id := range groups {
		if policy.CheckID("", id) != nil {
			faults = append(faults, faultView{"groups", b.Say("token_group_wrong", id)})
		}
	}
	in.Groups = groups
	days, err := strconv.Atoi(c.FormValue("days"))
	if err != nil || !slices.Contains(tokenDays(), days) {
		faults = append(faults, faultView{"days", b.Say("refused_choice")})
	}
	in.ExpiresAt = now.AddDate(0, 0, days).UTC().Truncate(time.Second)
	return in, faults
}

func (u *UI) showTokenFaults(c echo.Context, faults []faultView) error {
	form, err := c.FormParams()
	if err != nil {
		return policy.Errorf(policy.CodeMalformed, "the form cannot be read")
	}
	v, err := u.tokensView(c, form)
	if err != nil {
		return err
	}
	v.Title, v.Faults, v.Fault = v.Say("error_title")+v.Title, faults, byField(faults)
	return u.render(c.Response(), http.StatusUnprocessableEntity, "ops_tokens", v)
}

// revokePage asks whether a token is to be revoked, and says what comes of it.
func (u *UI) revokePage(c echo.Context) error {
	t, err := u.cfg.Store.Token(c.Request().Context(), c.Param("id"))
	if err != nil {
		return err
	}
	b := u.base(c.Request(), "token_revoke")
	row := u.tokenRow(b, t)
	v := revokeView{
		base: b, opsHead: u.opsHead(c, "tokens", "tokens"), Token: row, Action: row.Revoke, Own: principalOf(c.Request()).TokenID == t.ID,
	}
	if v.ReadOnly {
		v.Action = ""
	}
	return u.render(c.Response(), http.StatusOK, "ops_revoke", v)
}

func (u *UI) revokeToken(c echo.Context) error {
	t, err := u.cfg.Store.RevokeToken(c.Request().Context(), u.actor(c, principalOf(c.Request())), c.Param("id"))
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, "/ops/tokens?"+url.Values{"revoked": {t.ID}}.Encode())
}
