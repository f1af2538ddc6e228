package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/pacekeeper/pacekeeper/store"
)

func (f *fixture) portal(groups ...string) (store.PortalSession, string) {
	f.t.Helper()
	p, code, err := f.store.CreatePortalSession(f.t.Context(), system, store.PortalInput{UserID: "u17", Name: "Mei", Groups: groups, Locale: "zh-CN"})
	if err != nil {
		f.t.Fatal(err)
	}
	return p, "/portal/" + code
}

func TestAPortalLinkSignsInOnceByItsButton(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.group("other", "Others")
		p, link := f.portal("tea")
		for range 3 { // link previews
			page := f.visitor().get(link).want(http.StatusOK).has("Continue")
			if n := strings.Count(page.body, "<form"); n != 1 || page.header.Get("Set-Cookie") != "" || page.header.Get("Referrer-Policy") != "no-referrer" {
				t.Fatalf("%d forms, %v", n, page.header)
			}
		}
		v := f.visitor()
		if to := v.post(link, url.Values{}).want(http.StatusSeeOther).header.Get("Location"); to != "/groups/tea" {
			t.Errorf("sent to %s", to)
		}
		v.get("/groups/tea").want(http.StatusOK).has("Mei", `<html lang="zh-CN">`)
		v.get("/groups/other").want(http.StatusNotFound)
		v.post("/groups/tea", v.edited("/groups/tea", "message-gap", "3")).want(http.StatusSeeOther)
		if versions, err := f.store.Versions(t.Context(), "tea", "", 1); err != nil || versions.Items[0].Actor != "Mei" || versions.Items[0].Role != store.RoleGroupAdmin {
			t.Errorf("%+v, %v", versions, err)
		}
		f.visitor().post(link, url.Values{}).want(http.StatusGone)
		if err := f.store.RevokePortalSession(t.Context(), system, p.ID); err != nil {
			t.Fatal(err)
		}
		v.get("/groups/tea").want(http.StatusSeeOther)
	})
}

func TestAPortalLinkOpensTheGroupThatItNames(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.group("a/b", "Slash")
		for _, test := range []struct{ query, want string }{
			{"", "/groups"}, {"?group=a%2Fb", "/groups/a%2Fb"}, {"?group=foreign", "/groups"}, {"?group=//evil.example", "/groups"},
		} {
			_, link := f.portal("tea", "a/b")
			if to := f.visitor().post(link+test.query, url.Values{}).want(http.StatusSeeOther).header.Get("Location"); to != test.want {
				t.Errorf("%s leads to %s", test.query, to)
			}
		}
	})
}

func TestOfSeveralWhoPressTheButtonOneIsLetIn(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		_, link := f.portal("tea")
		var wait sync.WaitGroup
		answers := make(chan int, 8)
		for range cap(answers) {
			v := f.visitor()
			wait.Go(func() {
				response, err := v.client.PostForm(f.server.URL+link, url.Values{})
				if err != nil {
					return
				}
				_ = response.Body.Close()
				answers <- response.StatusCode
			})
		}
		wait.Wait()
		close(answers)
		in := 0
		for status := range answers {
			if status == http.StatusSeeOther {
				in++
			}
		}
		if in != 1 {
			t.Errorf("%d were let in", in)
		}
	})
}

func TestWrongCodesAreLimited(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.visitor()
		for range 5 {
			v.post("/portal/0000", url.Values{}).want(http.StatusGone)
		}
		_, link := f.portal("tea")
		v.post(link, url.Values{}).want(http.StatusTooManyRequests)
		v.post(link, url.Values{}, "Sec-Fetch-Site", "cross-site").want(http.StatusForbidden)
	})
}
