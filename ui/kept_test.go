package ui_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// typed are the inputs that hold what a visitor typed into the form of the group tea.
var typed = []string{`name="version" value="0"`, `name="message-gap" value="7.5"`, `name="message-count" value="lots"`, `name="was" value="`}

func typedInto(v *visitor) url.Values {
	return v.edited("/groups/tea", "message-gap", "7.5", "message-count", "lots")
}

func TestASessionThatIsOverKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		token, secret := f.token(store.RoleGroupAdmin, "tea")
		v := f.signedIn(secret)
		form := typedInto(v)
		if _, err := f.store.RevokeToken(t.Context(), system, token.ID); err != nil {
			t.Fatal(err)
		}
		for _, visitor := range []*visitor{v, f.visitor()} {
			visitor.post("/groups/tea", form).want(http.StatusUnauthorized).
				has("You are not signed in any more", `href="/sign-in" target="_blank"`, `action="/groups/tea"`).has(typed...).hasNot("Tea house")
		}
		v.get("/groups/tea/state", "HX-Request", "true").want(http.StatusUnauthorized)
		stranger := f.visitor().post("/groups/tea", form, "Sec-Fetch-Site", "cross-site")
		stranger.want(http.StatusForbidden).hasNot("7.5", "<form")
	})
}

func TestTheKeptFormSavesWithTheVersionItStartedFrom(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		form := v.edited("/groups/tea", "message-gap", "7.5")
		kept := f.visitor().post("/groups/tea", form).want(http.StatusUnauthorized).allFields()
		v.post("/groups/tea", kept).want(http.StatusSeeOther)
		if got := f.requested("tea"); got != `{"actions":{"message":{"min_interval_ms":7500}}}` {
			t.Errorf("saved %s", got)
		}
		f.document(`{"actions":{"message":{"min_interval_ms":6000}}}`)
		v.post("/groups/tea", kept).want(http.StatusPreconditionFailed)
	})
}

func TestADatabaseThatIsAwayKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		form := typedInto(v)
		if err := f.store.Close(); err != nil {
			t.Fatal(err)
		}
		v.post("/groups/tea", form).want(http.StatusServiceUnavailable).has(typed...)
		v.get("/groups/tea").want(http.StatusServiceUnavailable).hasNot("<form")
	})
}

// Whatever form is sent while the database is away, or by somebody who is not signed in any more, can be sent again; but
// the secret that signs in is repeated by no page.
func TestEveryFormIsKeptButTheOneThatSignsIn(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		forms := map[string]url.Values{
			"/groups/tea":            v.edited("/groups/tea", "message-gap", "7.5"),
			"/groups/tea/members":    {"user": {"mei"}, "for": {"10"}, "for-u": {"m"}, "reason": {"typed"}},
			"/groups/tea/exemptions": {"nm": {"mei"}, "nm-note": {"typed"}},
			"/ops/bounds":            v.edited("/ops/bounds", "message.gap.min", "3 s", "reason", "typed"),
			"/ops/defaults":          v.edited("/ops/defaults", "message-gap", "3", "reason", "typed"),
			"/ops/tokens":            {"name": {"typed"}, "role": {"gateway"}, "days": {"90"}},
		}
		kept := func(v *visitor, status int) {
			for path, form := range forms {
				p := v.post(path, form).want(status).has(`action="` + path + `"`)
				if diff := cmp.Diff(form, p.allFields()); diff != "" {
					t.Errorf("%s: kept (-sent +kept):\n%s", path, diff)
				}
			}
		}
		kept(f.visitor(), http.StatusUnauthorized)
		if err := f.store.Close(); err != nil {
			t.Fatal(err)
		}
		kept(v, http.StatusServiceUnavailable)
		f.visitor().post("/sign-in", url.Values{"token": {"secret-token"}}).hasNot("secret-token")
	})
}

func TestAFaultKeepsWhatTheFormWasOpenedWith(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		form := typedInto(v)
		f.document(`{"actions":{"message":{"min_interval_ms":4000}}}`) // a colleague changes the gap
		p := v.post("/groups/tea", form).want(http.StatusUnprocessableEntity)
		if got := p.fields(); cmp.Diff(got["was"], form["was"]) != "" || got.Get("version") != "0" || got.Get("message-gap") != "7.5" {
			t.Errorf("kept %v", got)
		}
		form.Set("message-count", "5")
		p = v.post("/groups/tea", form).want(http.StatusPreconditionFailed)
		if got := p.fields(); got.Get("version") != "1" || !strings.Contains(strings.Join(got["was"], ";"), "message-gap=4000") {
			t.Errorf("the merge starts from %v", got)
		}
	})
}

// What nobody touched is not stated: it follows the defaults, those that moved while the page was open too.
func TestDefaultsThatMoveUnderAnOpenPageAreFollowed(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		form := v.edited("/groups/tea", "message-count", "9")
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
		v.post("/groups/tea", form).want(http.StatusSeeOther)
		if got := f.requested("tea"); strings.Contains(got, "min_interval_ms") || !strings.Contains(got, `"limit":9`) {
			t.Errorf("requested %s: the gap that nobody touched is pinned", got)
		}
	})
}

func TestUnitsAndFaultsSpeakChinese(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		v.post("/language", url.Values{"lang": {"zh"}}).want(http.StatusSeeOther)
		v.get("/groups/tea").want(http.StatusOK).has(`<span aria-hidden="true">秒</span>`).hasNot(">s<", ">min<").
			says("message-gap-h", "可填 1–10 秒，默认 2 秒")
		v.post("/groups/tea", v.edited("/groups/tea", "message-gap", "lots")).want(http.StatusUnprocessableEntity).
			says("message-gap-n", "请为“最短间隔”填写大于 0 的数字")
		form := v.edited("/groups/tea", "message-gap", "3")
		f.document(`{"actions":{"message":{"min_interval_ms":4000}}}`)
		v.post("/groups/tea", form).want(http.StatusPreconditionFailed).has("4 秒", "消息：最短间隔").hasNot("4 s")
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
