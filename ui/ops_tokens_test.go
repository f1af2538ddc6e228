package ui_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/pacekeeper/pacekeeper/store"
)

func TestATokenIsMadeShownOnceAndRevoked(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		v.get("/ops/tokens").want(http.StatusOK).has("bootstrap", "no end date", "Gateway: check messages")
		p := v.post("/ops/tokens", url.Values{"name": {" mei "}, "role": {"group_admin"}, "groups": {"tea\ncoffee "}, "days": {"90"}}).
			want(http.StatusOK).has("Copy the token for mei now", "It is shown this once")
		if p.header.Get("Cache-Control") != "no-store" {
			t.Errorf("Cache-Control %q", p.header.Get("Cache-Control"))
		}
		secret := regexp.MustCompile(`pk_[0-9a-f-]+_[0-9a-f]{64}`).FindString(p.body)
		who, err := f.store.Authenticate(t.Context(), secret)
		if err != nil || who.Role != store.RoleGroupAdmin || strings.Join(who.Groups, " ") != "coffee tea" {
			t.Fatalf("the token is %+v, %v", who, err)
		}
		list := v.get("/ops/tokens").want(http.StatusOK).has("pk_" + who.TokenID + "_…").hasNot(secret)
		revoke := "/ops/tokens/" + who.TokenID + "/revoke"
		list.has(`href="` + revoke + `"`)
		v.get(revoke).want(http.StatusOK).has("Revoke mei?").hasNot("You are signed in with this token")
		to := v.post(revoke, nil).want(http.StatusSeeOther).header.Get("Location")
		v.get(to).want(http.StatusOK).has("mei is revoked").hasNot(`href="` + revoke + `"`)
		for _, claim := range []string{"everything", "nothing+is+left", v.heldToken()} {
			v.get("/ops/tokens?revoked=" + claim).want(http.StatusOK).hasNot("is revoked")
		}
		if _, err := f.store.Authenticate(t.Context(), secret); err == nil {
			t.Error("the revoked token still holds")
		}
		v.post(revoke, nil).want(http.StatusSeeOther) // already revoked: nothing more happens
		f.entries("token.create", 3)
		f.entries("token.revoke", 1)
		v.get("/ops/tokens/nowhere/revoke").want(http.StatusNotFound)
	})
}

// heldToken is the id of a token that still holds.
func (f *fixture) heldToken() string {
	f.t.Helper()
	token, _ := f.token(store.RoleAuditor)
	return token.ID
}

// entries holds the number of audit entries of an action against the wanted one.
func (f *fixture) entries(action string, want int) []store.AuditEntry {
	f.t.Helper()
	page, err := f.store.ListAudit(f.t.Context(), store.AuditQuery{Action: action, Limit: 500})
	if err != nil || len(page.Items) != want {
		f.t.Errorf("%d entries %s, want %d: %v", len(page.Items), action, want, err)
	}
	return page.Items
}

func TestATokenThatCannotBeMadeKeepsTheForm(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		for _, bad := range []struct{ name, role, groups, days, says string }{
			{"", "gateway", "", "90", "Enter a name"},
			{strings.Repeat("长", 101), "gateway", "", "90", "Shorten this to 100 characters"},
			{"x", "king", "", "90", "Choose one of the list"},
			{"x", "gateway", "", "9000", "Choose one of the list"},
			{"x", "gateway", "tea", "90", "Only a group admin has groups"},
			{"x", "group_admin", " ", "90", "Enter at least one group"},
			{"x", "group_admin", "te{a", "90", "“te{a” is no group’s id"},
		} {
			form := url.Values{"name": {bad.name}, "role": {bad.role}, "groups": {bad.groups}, "days": {bad.days}}
			v.post("/ops/tokens", form).want(http.StatusUnprocessableEntity).has(bad.says, "Problem: ", `value="`+bad.name+`"`)
		}
		f.entries("token.create", 1)
	})
}

func TestARevokedOwnTokenSignsOut(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		token, secret := f.token(store.RoleOperator)
		v := f.signedIn(secret)
		path := "/ops/tokens/" + token.ID + "/revoke"
		v.get(path).want(http.StatusOK).has("You are signed in with this token")
		to := v.post(path, nil).want(http.StatusSeeOther).header.Get("Location")
		v.get(to).want(http.StatusSeeOther) // to the sign-in page
	})
}
