package ui_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/store"
)

// twice sends one form two times at once, as a double click does, and holds where both end.
func (v *visitor) twice(path string, form url.Values, want string) {
	v.t.Helper()
	var answers [2]page
	var both sync.WaitGroup
	for i := range answers {
		both.Go(func() { answers[i] = v.post(path, form) })
	}
	both.Wait()
	for _, a := range append(answers[:], v.post(path, form)) {
		if to := a.header.Get("Location"); a.status != http.StatusSeeOther || to != want {
			v.t.Errorf("POST %s: %d, sent to %q, want %q: %s", path, a.status, to, want, a.brief())
		}
	}
}

func TestASaveSentTwiceEndsOnce(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		form := v.edited("/groups/tea", "message-gap", "3", "reason", "calmer")
		v.twice("/groups/tea", form, "/groups/tea?saved=1")
		v.twice("/ops/defaults", v.edited("/ops/defaults", "message-gap", "4", "reason", "calmer"), "/ops/defaults?saved=1")
		v.twice("/ops/bounds", v.edited("/ops/bounds", "message.gap.min", "2 s", "reason", "calmer"), "/ops/bounds?saved=1")
		f.entries("policy.update", 1)
		f.entries("defaults.update", 1)
		f.entries("bounds.update", 1)

		f.document(`{}`)
		v.twice("/groups/tea/history/1/restore", url.Values{"version": {"2"}}, "/groups/tea/history?restored=1")
		f.entries("policy.restore", 1)
		v.get("/groups/tea/history?restored=1").has("Version 1 is restored as version 3")

		form = v.edited("/groups/tea", "message-gap", "6")
		f.document(`{"actions":{"message":{"min_interval_ms":6000}}}`) // by somebody else
		v.post("/groups/tea", form).want(http.StatusPreconditionFailed).has("test saved version 4 while you were editing")
		form = v.edited("/groups/tea", "message-gap", "7")
		v.post("/groups/tea", v.edited("/groups/tea", "message-gap", "8")).want(http.StatusSeeOther)
		v.post("/groups/tea", form).want(http.StatusPreconditionFailed) // one's own, but another
	})
}

func TestATokenFormSentTwiceMakesOneToken(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		form := url.Values{"name": {"gate"}, "role": {"group_admin"}, "groups": {"tea coffee tea"}, "days": {"30"}, "once": {v.onceOf("/ops/tokens")}}
		var answers [3]page
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() { answers[i] = v.post("/ops/tokens", form) })
		}
		all.Wait()
		for _, a := range answers {
			a.want(http.StatusOK).has("Copy the token for gate now").says("tok", form.Get("once"))
		}
		f.entries("token.create", 2) // the other is the operator's own
		who, err := f.store.Authenticate(t.Context(), form.Get("once"))
		if err != nil || who.Name != "gate" {
			t.Errorf("%+v, %v", who, err)
		}
		other := maps.Clone(form)
		other["name"] = []string{"another"}
		again := v.post("/ops/tokens", other).want(http.StatusUnprocessableEntity).has("This form has made its token already", `value="another"`)
		again.hasNot(form.Get("once"))
		f.clock.Add(int64(time.Minute))
		v.post("/ops/tokens", form).want(http.StatusUnprocessableEntity).hasNot(form.Get("once"))
		for _, odd := range []string{"x", "pk_", "pk_a_b", "pk__" + strings.Repeat("a", 64), "pk_a b_" + strings.Repeat("a", 64)} {
			other["once"] = []string{odd}
			v.post("/ops/tokens", other).want(http.StatusBadRequest)
		}
		f.entries("token.create", 2)
		_, auditor := f.token(store.RoleAuditor)
		f.signedIn(auditor).get("/ops/tokens").want(http.StatusOK).hasNot(`name="once"`)
	})
}

// onceOf is what makes the form of a page good for one time.
func (v *visitor) onceOf(path string) string {
	v.t.Helper()
	return v.get(path).allFields().Get("once")
}

func TestBannersSayWhatIsSo(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		for _, id := range []string{"mei", "lin"} {
			v.post("/groups/tea/members", url.Values{"user": {id}, "for": {"10"}, "for-u": {"m"}}).want(http.StatusSeeOther)
		}
		v.post("/groups/tea/members", url.Values{"lift": {"lin"}}).want(http.StatusSeeOther)
		v.get("/groups/tea/members?muted=mei").has("mei is muted")
		v.get("/groups/tea/members?lifted=lin").has("lin may speak again")
		for _, claim := range []string{"muted=lin", "muted=jun", "muted=Mei+and+all+her+friends", "lifted=mei", "lifted=jun", "lifted=l&muted=in"} {
			v.get("/groups/tea/members?" + claim).want(http.StatusOK).hasNot(`class="banner`)
		}
		f.document(`{"actions":{"message":{"min_interval_ms":3000}}}`)
		f.document(`{}`)
		for _, claim := range []string{"1", "2", "99", "-1", "all", "9223372036854775808"} {
			v.get("/groups/tea/history?restored=" + claim).want(http.StatusOK).hasNot(`class="banner`)
		}
	})
}

// Names, reasons and notes are one line that shows as it is written, also for who makes the form up.
func TestNamesReasonsAndNotesAreLines(t *testing.T) {
	t.Parallel()
	f := newFixture(t, postgres(t))
	v := f.signedIn(f.operator)
	for _, odd := range []string{"two\nlines", "two\r\nlines", "a\u202eb", "\u2067a", "a\tb\u200f"} {
		for path, form := range map[string]url.Values{
			"/ops/tokens":            {"name": {odd}, "role": {"gateway"}, "days": {"30"}},
			"/groups/tea/members":    {"user": {"mei"}, "for": {"10"}, "for-u": {"m"}, "reason": {odd}},
			"/groups/tea":            v.edited("/groups/tea", "message-gap", "3", "reason", odd),
			"/groups/tea/exemptions": v.edited("/groups/tea", "nm", "mei", "nm-note", odd),
		} {
			v.post(path, form).want(http.StatusUnprocessableEntity).has("Enter one line, without control characters")
		}
	}
	v.post("/ops/bounds", v.edited("/ops/bounds", "message.gap.min", "2 s", "reason", "a\u202eb")).want(http.StatusUnprocessableEntity).has(`href="#reason"`, "Enter one line")
	v.post("/ops/bounds", v.edited("/ops/bounds", "message.gap.min", "2 s", "reason", "spam\r\nat night\n")).want(http.StatusSeeOther)
	if e := f.entries("bounds.update", 1); len(e) == 1 && e[0].Reason != "spam at night" {
		t.Errorf("the reason is %q", e[0].Reason)
	}
	f.entries("token.create", 1)
	if page, err := f.store.ListMutes(t.Context(), "tea", "", 10); err != nil || len(page.Items) != 0 || f.requested("tea") != "{}" {
		t.Errorf("something was saved: %v %v", page.Items, err)
	}
	if _, _, err := f.store.CreateToken(t.Context(), system, store.TokenInput{Name: "a\u202eb", Role: store.RoleGateway}); err == nil {
		t.Error("the store takes the name of a token that is no line")
	}
}
