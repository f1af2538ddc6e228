package ui_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// opened adds to a form what its fields said when the page was opened: the shipped defaults.
func opened(f url.Values) url.Values {
	f.Set("gap-was", "2")
	f.Set("count-was", "8")
	f.Set("period-was", "30")
	return f
}

// typed are the inputs that hold what the visitor typed into opened(form(0, "7.5", "lots")).
var typed = []string{
	`name="version" value="0"`, `name="gap-was" value="2"`,
	`name="gap" inputmode="decimal" autocomplete="off" value="7.5"`,
	`name="count" inputmode="decimal" autocomplete="off" value="lots"`,
}

func TestASessionThatIsOverKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		token, secret := f.token(store.RoleGroupAdmin, "tea")
		v := f.signedIn(secret)
		if _, err := f.store.RevokeToken(t.Context(), system, token.ID); err != nil {
			t.Fatal(err)
		}
		for _, visitor := range []*visitor{v, f.visitor()} {
			visitor.post("/groups/tea", opened(form(0, "7.5", "lots"))).want(http.StatusUnauthorized).
				has("You are not signed in any more", `href="/sign-in" target="_blank"`, `action="/groups/tea"`).has(typed...).hasNot("Tea house")
		}
		stranger := f.visitor().post("/groups/tea", form(0, "7.5", "8"), "Sec-Fetch-Site", "cross-site")
		stranger.want(http.StatusForbidden).hasNot("7.5", "<form")
	})
}

func TestADatabaseThatIsAwayKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		if err := f.store.Close(); err != nil {
			t.Fatal(err)
		}
		v.post("/groups/tea", opened(form(0, "7.5", "lots"))).want(http.StatusServiceUnavailable).has(typed...)
		v.get("/groups/tea").want(http.StatusServiceUnavailable).hasNot("<form")
	})
}

func TestAFaultKeepsWhatTheFormWasOpenedWith(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		v.get("/groups/tea").want(http.StatusOK).has(`name="gap-was" value="2"`, `name="count-was" value="8"`, `name="period-was" value="30"`)
		f.document(`{"actions":{"message":{"min_interval_ms":4000}}}`) // a colleague changes the gap
		v.post("/groups/tea", opened(form(0, "7.5", "lots"))).want(http.StatusUnprocessableEntity).has(typed...)
		v.post("/groups/tea", opened(form(0, "7.5", "5"))).want(http.StatusConflict).
			has(`name="version" value="1"`, `name="gap-was" value="4"`)
	})
}

// What nobody touched is not stated: it follows the defaults, those that moved while the page was open too.
func TestDefaultsThatMoveUnderAnOpenPageAreFollowed(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		before, err := f.store.Defaults(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		moved := before.Document
		moved.Actions = maps.Clone(before.Document.Actions)
		message := moved.Actions["message"]
		message.MinIntervalMS = policy.State(int64(3000))
		moved.Actions["message"] = message
		if _, _, err := f.store.UpdateDefaults(t.Context(), system, store.Anything(), moved); err != nil {
			t.Fatal(err)
		}
		v := f.signedIn(f.operator)
		v.post("/groups/tea", opened(form(0, "2", "9"))).want(http.StatusSeeOther)
		if got := f.requested("tea"); strings.Contains(got, "min_interval_ms") || !strings.Contains(got, `"limit":9`) {
			t.Errorf("requested %s: the gap that nobody touched is pinned", got)
		}
	})
}

func TestUnitsAndFaultsSpeakChinese(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		v.get("/groups/tea", "Accept-Language", "zh").want(http.StatusOK).has(`<span aria-hidden="true">秒</span>`).hasNot(">s<")
		v.post("/groups/tea", form(0, "lots", "8"), "Accept-Language", "zh").want(http.StatusUnprocessableEntity).has("最短间隔：")
		f.document(`{"actions":{"message":{"min_interval_ms":4000}}}`)
		v.post("/groups/tea", form(0, "3", "8"), "Accept-Language", "zh").want(http.StatusConflict).has("4 秒").hasNot("4 s")
	})
}

func TestAChangeOfLanguageKeepsTheWayBack(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.visitor()
		v.get("/sign-in?to=%2Fgroups%2Ftea").want(http.StatusOK).has(`name="to" value="/sign-in?to=%2Fgroups%2Ftea"`)
		to := v.post("/language", url.Values{"lang": {"zh"}, "to": {"/sign-in?to=%2Fgroups%2Ftea"}}).want(http.StatusSeeOther).header.Get("Location")
		v.get(to).want(http.StatusOK).has(`name="to" value="/groups/tea"`)
	})
}
