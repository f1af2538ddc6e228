package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pacekeeper/pacekeeper/store"
)

func TestSavingAClampedGapSaysSo(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		v.get("/groups/tea").want(http.StatusOK).
			has("System defaults, never changed", `name="gap"`, `value="2"`, `value="8"`, `value="30"`, "1 to 10 s, usually 2 s")
		to := v.post("/groups/tea", form(0, "0.5", "8")).want(http.StatusSeeOther).header.Get("Location")
		if to != "/groups/tea?saved=1" {
			t.Fatalf("sent to %s", to)
		}
		v.get(to).want(http.StatusOK).has("Saved as version 1", "You set 0.5 s. Clamped to 1 s by the system.", `value="0.5"`, "1 s")
		if got := f.requested("tea"); got != `{"actions":{"message":{"min_interval_ms":500}}}` {
			t.Errorf("requested %s: what was not changed must follow the defaults", got)
		}
	})
}

func TestC13_AnUnchangedFormSavesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		if to := v.post("/groups/tea", form(0, "2", "8")).want(http.StatusSeeOther).header.Get("Location"); to != "/groups/tea?saved=same" {
			t.Errorf("sent to %s", to)
		}
		if record, err := f.store.Policy(t.Context(), "tea"); err != nil || record.Version != 0 {
			t.Errorf("version %d, %v", record.Version, err)
		}
	})
}

func TestC16_WhatCannotBeReadIsNotSaved(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		for _, bad := range []string{"", "0", "-1", "lots", "1e3", "2s", "NaN", "0.0001", "99999999999999999999"} {
			v.post("/groups/tea", form(0, bad, "8")).want(http.StatusUnprocessableEntity).
				has("There is a problem", `aria-invalid="true"`, "Problem: ")
			v.post("/groups/tea", form(0, "2", bad+".")).want(http.StatusUnprocessableEntity)
		}
		v.post("/groups/tea", url.Values{"gap": {"3"}}).want(http.StatusBadRequest)
		if got := f.requested("tea"); got != "{}" {
			t.Errorf("saved %s", got)
		}
	})
}

func TestC30_ASecondSaveIsToldAndLosesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		v.get("/groups/tea").want(http.StatusOK)
		f.document(`{"actions":{"message":{"min_interval_ms":4000}}}`) // a colleague changes the gap
		v.post("/groups/tea", form(0, "2", "5")).want(http.StatusConflict).
			has("test saved version 1 while you were editing", "Nothing of yours is lost", `name="version" value="1"`,
				`name="gap" inputmode="decimal" autocomplete="off" value="4"`, `name="count" inputmode="decimal" autocomplete="off" value="5"`)
		if got := f.requested("tea"); !strings.Contains(got, "4000") || strings.Contains(got, "window") {
			t.Fatalf("the conflict wrote: %s", got)
		}
		v.post("/groups/tea", form(1, "4", "5")).want(http.StatusSeeOther)
		if got := f.requested("tea"); !strings.Contains(got, "4000") || !strings.Contains(got, `"limit":5`) {
			t.Fatalf("after the second save: %s", got)
		}
	})
}

func TestNoneStaysNone(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.document(`{"actions":{"message":{"min_interval_ms":null}}}`)
		v := f.signedIn(f.operator)
		v.get("/groups/tea").want(http.StatusOK).has("No limit is set")
		v.post("/groups/tea", form(1, "", "9")).want(http.StatusSeeOther)
		if got := f.requested("tea"); !strings.Contains(got, `"min_interval_ms":null`) || !strings.Contains(got, `"limit":9`) {
			t.Errorf("requested %s", got)
		}
	})
}

func TestC33_AForeignGroupAnswersLikeNone(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.group("other", "Others")
		_, secret := f.token(store.RoleGroupAdmin, "tea")
		v := f.signedIn(secret)
		v.get("/groups").want(http.StatusOK).has("Tea house").hasNot("Others")
		foreign := v.get("/groups/other").want(http.StatusNotFound)
		unknown := v.get("/groups/nowhere").want(http.StatusNotFound)
		if foreign.body != unknown.body {
			t.Errorf("the pages differ:\n%s\n%s", foreign.body, unknown.body)
		}
		v.post("/groups/other", form(0, "3", "8")).want(http.StatusNotFound)
		v.post("/groups/tea", form(0, "3", "8")).want(http.StatusSeeOther)
	})
}

func TestAuditorsSeeAndDoNotChange(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		_, secret := f.token(store.RoleAuditor)
		v := f.signedIn(secret)
		v.get("/groups/tea").want(http.StatusOK).has("View only").hasNot("Save and publish")
		v.post("/groups/tea", form(0, "3", "8")).want(http.StatusForbidden)
	})
}

func TestArchivedGroupsAreReadOnly(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		if _, err := f.store.ArchiveGroup(t.Context(), system, store.Anything(), "tea"); err != nil {
			t.Fatal(err)
		}
		v := f.signedIn(f.operator)
		v.get("/groups/tea").want(http.StatusOK).has("This group is archived", "View only")
	})
}

func TestC15_IdsOfAnyShapeHaveAPage(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		for _, id := range []string{"!a/b🐈:example.org", "-1002471352452", "100%", "a%2Fb", "*", "a?b#c"} {
			f.group(id, "Group "+id)
			v.get("/groups/" + url.PathEscape(id)).want(http.StatusOK).has("<h1>")
			v.post("/groups/"+url.PathEscape(id), form(0, "3", "8")).want(http.StatusSeeOther)
			if got := f.requested(id); !strings.Contains(got, "3000") {
				t.Errorf("%s: %s", id, got)
			}
		}
	})
}

func TestC65_NamesAreText(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.group("x", `<img src=x onerror=alert(1)>{{.}}`)
		v := f.signedIn(f.operator)
		for _, path := range []string{"/groups", "/groups/x"} {
			p := v.get(path).want(http.StatusOK).has("&lt;img").hasNot("<img src=x")
			if csp := p.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") {
				t.Errorf("CSP %q", csp)
			}
			p.hasNot(" style=", "<script")
		}
	})
}

func TestC66_CrossSitePostsAreRefused(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}} {
			for _, kind := range []string{"application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"} {
				v.post("/groups/tea", form(0, "3", "8"), append([]string{"Content-Type", kind}, headers...)...).want(http.StatusForbidden)
			}
		}
		for _, path := range []string{"/sign-out", "/language"} {
			if got := v.get(path); got.status != http.StatusNotFound && got.status != http.StatusMethodNotAllowed {
				t.Errorf("GET %s: %d", path, got.status)
			}
		}
		if got := f.requested("tea"); got != "{}" {
			t.Errorf("saved %s", got)
		}
		v.get("/groups").want(http.StatusOK)
	})
}
