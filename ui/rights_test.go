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

// groupAddresses are the addresses below a group: method, path.
func groupAddresses() [][2]string {
	return [][2]string{
		{"GET", ""},
		{"POST", ""},
		{"GET", "/state"},
		{"POST", "/preview"},
		{"GET", "/fold?action=like"},
		{"GET", "/exemptions"},
		{"POST", "/exemptions"},
		{"GET", "/members"},
		{"POST", "/members"},
		{"GET", "/history"},
		{"GET", "/history/1/restore"},
		{"POST", "/history/1/restore"},
	}
}

func TestC33_AForeignGroupAnswersLikeNone(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.group("other", "Others")
		_, secret := f.token(store.RoleGroupAdmin, "tea")
		v := f.signedIn(secret)
		v.get("/groups").want(http.StatusOK).has("Tea house").hasNot("Others")
		form := v.edited("/groups/tea", "message-gap", "3")
		for _, a := range groupAddresses() {
			foreign := v.send(a[0], "/groups/other"+a[1], form).want(http.StatusNotFound)
			unknown := v.send(a[0], "/groups/nowhere"+a[1], form).want(http.StatusNotFound)
			if strings.ReplaceAll(foreign.body, "other", "nowhere") != strings.ReplaceAll(unknown.body, "other", "nowhere") {
				t.Errorf("%v: the pages differ:\n%s\n%s", a, foreign.body, unknown.body)
			}
		}
		v.post("/groups/tea", form).want(http.StatusSeeOther)
	})
}

func TestC21_GroupAdminsLeaveOperatorsActionsAlone(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		_, secret := f.token(store.RoleGroupAdmin, "tea")
		v := f.signedIn(secret)
		form := v.get("/groups/tea?edit=all").want(http.StatusOK).has("Set by the operators", "SMS codes").hasNot("Edit these too", `name="sms-gap"`).fields()
		form.Add("acts", "sms")
		form.Set("sms-window-on", "on")
		form.Set("sms-count", "50")
		form.Set("sms-period", "1")
		form.Set("sms-period-u", "m")
		form.Set("was", form.Get("was")+";sms-count=3;sms-period=300000;sms-algo=sliding_window")
		v.post("/groups/tea", form).want(http.StatusForbidden)
		if got := f.requested("tea"); got != "{}" {
			t.Errorf("saved %s", got)
		}
	})
}

func TestAuditorsSeeAndDoNotChange(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		_, secret := f.token(store.RoleAuditor)
		v := f.signedIn(secret)
		p := v.get("/groups/tea").want(http.StatusOK).has("View only", "signed in as an auditor").hasNot("Save and publish", "Add a step", "Add member")
		form := p.fields()
		for name := range form {
			if name != "version" && name != "was" && name != "acts" && name != "pattern" && name != "of" && !strings.HasSuffix(name, "-on") &&
				name != "ladder" && name != "roles" && !strings.HasSuffix(name, "-enabled") && !strings.HasSuffix(name, "-algo") {
				t.Errorf("the field %s can be edited", name)
			}
		}
		v.post("/groups/tea", form).want(http.StatusForbidden)
		v.post("/groups/tea/exemptions", url.Values{"nm": {"mei"}, "version": {"0"}}).want(http.StatusForbidden)
		form.Set("pattern", "spammer")
		v.post("/groups/tea/preview", form).want(http.StatusOK).says("message-gap-n", "").has("tried while held")
	})
}

func TestArchivedGroupsAreReadOnly(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		if _, err := f.store.ArchiveGroup(t.Context(), system, store.Anything(), "tea"); err != nil {
			t.Fatal(err)
		}
		v := f.signedIn(f.operator)
		form := v.get("/groups/tea").want(http.StatusOK).has("This group is archived").hasNot("Save and publish").fields()
		v.post("/groups/tea", form).want(http.StatusForbidden)
	})
}

func TestC15_IdsOfAnyShapeHaveAPage(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		for _, id := range []string{"!a/b🐈:example.org", "-1002471352452", "100%", "a%2Fb", "*", "a?b#c"} {
			f.group(id, "Group "+id)
			path := "/groups/" + url.PathEscape(id)
			form := v.edited(path, "message-gap", "3")
			v.post(path+"/preview", form).want(http.StatusOK)
			v.post(path+"/exemptions", url.Values{"version": {"0"}, "nm": {id}, "add": {"on"}}, "HX-Request", "true").want(http.StatusOK).has("1")
			v.post(path, form).want(http.StatusSeeOther)
			if got := f.requested(id); !strings.Contains(got, "3000") {
				t.Errorf("%s: %s", id, got)
			}
		}
	})
}

func TestC65_WordsOfPeopleAreText(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		const evil = `<img src=x onerror=alert(1)>{{.}}`
		f.group("x", evil)
		v := f.signedIn(f.operator)
		v.post("/groups/x/exemptions", url.Values{"version": {"0"}, "nm": {"mei"}, "nm-note": {evil}}).want(http.StatusOK).hasNot("<img src=x")
		form := v.edited("/groups/x", "notice-en-too_soon", evil[:28]+" {wait}", "reason", evil)
		v.post("/groups/x", form).want(http.StatusSeeOther)
		form.Set("message-gap", "3")
		v.post("/groups/x", form).want(http.StatusPreconditionFailed).hasNot("<img src=x")
		for _, path := range []string{"/groups", "/groups/x", "/groups?query=%3Cimg+src%3Dx", "/groups/x?q=%3Cimg+src%3Dx&of=%3Cimg+src%3Dx"} {
			p := v.get(path).want(http.StatusOK).has("&lt;img").hasNot("<img src=x")
			if csp := p.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") {
				t.Errorf("CSP %q", csp)
			}
			p.hasNot(" style=", "<style", "<script>", " onclick")
		}
	})
}

func TestC66_CrossSitePostsAreRefused(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		form := v.edited("/groups/tea", "message-gap", "3")
		for _, path := range []string{"", "/preview", "/exemptions"} {
			for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}} {
				for _, kind := range []string{"application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"} {
					v.post("/groups/tea"+path, form, append([]string{"Content-Type", kind}, headers...)...).want(http.StatusForbidden)
				}
			}
		}
		for _, path := range []string{"/sign-out", "/language", "/groups/tea/preview"} {
			if got := v.get(path); got.status != http.StatusNotFound && got.status != http.StatusMethodNotAllowed {
				t.Errorf("GET %s: %d", path, got.status)
			}
		}
		v.get("/groups/tea/exemptions?remove=mei&nm=mei&add=on")
		if got := f.requested("tea"); got != "{}" {
			t.Errorf("saved %s", got)
		}
		v.get("/groups").want(http.StatusOK)
	})
}

// bounds changes the bounds as operators do.
func (f *fixture) bounds(change func(*policy.Bounds)) {
	f.t.Helper()
	record, err := f.store.Bounds(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	b := record.Bounds
	b.Actions = maps.Clone(b.Actions)
	change(&b)
	if _, _, err := f.store.UpdateBounds(f.t.Context(), system, store.Anything(), b); err != nil {
		f.t.Fatal(err)
	}
}

// Whatever the pages refuse to somebody is counted in the log of refused access, as the REST face does.
func TestRefusalsOfThePagesAreCounted(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.group("other", "Others")
		token, secret := f.token(store.RoleGroupAdmin, "tea")
		admin, guest := f.signedIn(secret), f.visitor()
		session, link := f.portal("tea")
		guest.post(link, url.Values{}).want(http.StatusSeeOther)
		guest.post(link, url.Values{}).want(http.StatusGone)
		for _, v := range []*visitor{admin, guest} {
			v.get("/ops/audit").want(http.StatusForbidden)
			v.post("/ops/tokens", url.Values{}).want(http.StatusForbidden)
			v.get("/groups/other").want(http.StatusNotFound)
			v.get("/groups/tea").want(http.StatusOK)
		}
		f.signedIn(f.operator).get("/groups/nowhere").want(http.StatusNotFound) // hidden from nobody
		page, err := f.store.ListRefusals(t.Context(), store.RefusalQuery{Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int64{}
		for _, r := range page.Items {
			got[r.Who+" "+r.Kind+" "+r.Route] += r.Count
		}
		want := map[string]int64{store.AddressWho("") + " sign_in POST /portal/:code": 1}
		for _, id := range []string{token.ID, session.ID} {
			who := store.TokenWho(id)
			want[who+" forbidden GET /ops/audit"], want[who+" forbidden POST /ops/tokens"], want[who+" foreign_group GET /groups/:group_id"] = 1, 1, 1
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("refused (-want +got):\n%s", diff)
		}
	})
}
