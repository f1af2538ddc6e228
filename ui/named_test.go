package ui_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/store"
)

func TestNamedMembersComeAndGoBesideTheForm(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		form := v.edited("/groups/tea", "message-gap", "7.5", "nm", " mei ", "nm-until", "2199-12-31", "nm-note", "guest", "add", "on")
		p := v.post("/groups/tea/exemptions", form).want(http.StatusOK).has("mei is not limited any more", "until 31 December 2199", "guest", "nor is 1 named member")
		if got := p.fields(); got.Get("message-gap") != "7.5" || got.Get("nm") != "" {
			t.Errorf("the form is now %v", got)
		}
		e, _, err := f.store.Exemption(t.Context(), "tea", "mei")
		if err != nil || !e.ExpiresAt.Equal(time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)) {
			t.Fatalf("%+v, %v", e, err)
		}
		v.post("/groups/tea/exemptions", url.Values{"remove": {"mei"}}, "HX-Request", "true").want(http.StatusOK).
			has("mei is limited again", `id="named"`).hasNot("<html")
		if n, err := f.store.ExemptionsCount(t.Context(), "tea"); n != 0 || err != nil {
			t.Errorf("%d left, %v", n, err)
		}
		if got := f.requested("tea"); got != "{}" {
			t.Errorf("saved %s", got)
		}
	})
}

func TestFaultsOfNamedMembersKeepWhatWasTyped(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		for _, test := range []struct{ id, until, want string }{
			{"", "", "Enter a member’s id"},
			{"two words", "", "This is no member’s id"},
			{"mei", "2001-01-01", "Choose a day from today on"},
			{"mei", "soon", "Choose a day from today on"},
		} {
			form := v.edited("/groups/tea", "message-gap", "7.5", "nm", test.id, "nm-until", test.until, "nm-note", "why not")
			p := v.post("/groups/tea/exemptions", form).want(http.StatusUnprocessableEntity).has(test.want, `href="#nm"`)
			if got := p.fields(); got.Get("nm") != test.id || got.Get("nm-note") != "why not" || got.Get("message-gap") != "7.5" {
				t.Errorf("%v: kept %v", test, got)
			}
		}
	})
}

func TestNamedMembersArePagedAndSearched(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		for i := range 45 {
			e := store.Exemption{UserID: fmt.Sprintf("user-%02d", i), Note: "of team " + string(rune('a'+i%5))}
			if _, err := f.store.PutExemption(t.Context(), system, "tea", store.Anything(), e); err != nil {
				t.Fatal(err)
			}
		}
		v := f.signedIn(f.operator)
		p := v.get("/groups/tea").want(http.StatusOK).has("user-00", "user-19", "nor are 45 named members").hasNot("user-20")
		seen := 20
		for next := nextPage(p); next != ""; next = nextPage(p) {
			p = v.get(next, "HX-Request", "true").want(http.StatusOK).hasNot("<html")
			seen += strings.Count(p.body, "<strong>user-")
		}
		if seen != 45 {
			t.Errorf("%d seen on all pages", seen)
		}
		v.get("/groups/tea?q=team+c").want(http.StatusOK).has("user-02", "user-42").hasNot("user-03")
		v.get("/groups/tea?q=nobody").want(http.StatusOK).has("No named member matches “nobody”")
		if to := v.get("/groups/tea/exemptions?q=7").want(http.StatusSeeOther).header.Get("Location"); to != "/groups/tea?q=7#named" {
			t.Errorf("without scripts: %s", to)
		}
	})
}

// nextPage is the address behind rel=next, as htmx asks it.
func nextPage(p page) string {
	_, rest, found := strings.Cut(p.body, `hx-get="/groups/tea/exemptions?after=`)
	if !found {
		return ""
	}
	after, tail, _ := strings.Cut(rest, `"`)
	if !strings.Contains(tail[:strings.Index(tail, ">")], "next") {
		return ""
	}
	return "/groups/tea/exemptions?after=" + strings.ReplaceAll(after, "&amp;", "&")
}
