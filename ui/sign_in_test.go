package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/store"
)

func TestSignInAndOut(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.visitor()
		if to := v.get("/groups/tea").want(http.StatusSeeOther).header.Get("Location"); to != "/sign-in?to=%2Fgroups%2Ftea" {
			t.Fatalf("sent to %s", to)
		}
		answer := v.post("/sign-in", url.Values{"token": {f.operator}, "to": {"/groups/tea"}}).want(http.StatusSeeOther)
		cookie := answer.header.Get("Set-Cookie")
		for _, part := range []string{"__Host-pk_session=", "HttpOnly", "Secure", "SameSite=Lax", "Path=/"} {
			if !strings.Contains(cookie, part) {
				t.Errorf("cookie lacks %s: %s", part, cookie)
			}
		}
		if to := answer.header.Get("Location"); to != "/groups/tea" {
			t.Errorf("sent to %s", to)
		}
		v.get("/groups").want(http.StatusOK).has("Tea house", `href="/groups/tea"`)
		v.post("/sign-out", url.Values{}).want(http.StatusSeeOther)
		v.get("/groups").want(http.StatusSeeOther)
	})
}

func TestSignInIsLimitedPerAddress(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.visitor()
		for range 5 {
			v.post("/sign-in", url.Values{"token": {"wrong"}}).want(http.StatusUnprocessableEntity).has("This token is not known")
		}
		paused := v.post("/sign-in", url.Values{"token": {f.operator}}).want(http.StatusTooManyRequests)
		if paused.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
		f.clock.Store(int64(10 * time.Minute))
		v.post("/sign-in", url.Values{"token": {f.operator}}).want(http.StatusSeeOther)
	})
}

func TestServicesDoNotSignIn(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		for _, role := range []string{store.RoleGateway, store.RolePlatform} {
			_, secret := f.token(role)
			f.visitor().post("/sign-in", url.Values{"token": {secret}}).want(http.StatusForbidden).has("belongs to a service")
		}
	})
}

func TestARevokedTokenEndsItsSessions(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		token, secret := f.token(store.RoleAuditor)
		v := f.signedIn(secret)
		v.get("/groups").want(http.StatusOK)
		if _, err := f.store.RevokeToken(t.Context(), system, token.ID); err != nil {
			t.Fatal(err)
		}
		v.get("/groups").want(http.StatusSeeOther)
	})
}

func TestSignInIsAudited(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		v.post("/sign-out", url.Values{}).want(http.StatusSeeOther)
		entries, err := f.store.ListAudit(t.Context(), store.AuditQuery{Action: "session.*"})
		if err != nil {
			t.Fatal(err)
		}
		if len(entries.Items) != 2 || entries.Items[0].Action != "session.revoke" || entries.Items[1].Channel != store.ChannelUI {
			t.Errorf("audit: %+v", entries.Items)
		}
	})
}

func TestRedirectsStayHere(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		for _, to := range []string{
			"https://evil.example", "//evil.example", `/\evil.example`, "javascript:alert(1)",
			"/\t/evil.example", "/\n/evil.example", "\t//evil.example",
		} {
			got := f.visitor().post("/sign-in", url.Values{"token": {f.operator}, "to": {to}}).want(http.StatusSeeOther)
			if location := got.header.Get("Location"); location != "/groups" {
				t.Errorf("%s: sent to %s", to, location)
			}
		}
	})
}

func TestPagesSpeakChinese(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.visitor()
		v.get("/sign-in", "Accept-Language", "zh-CN,zh;q=0.9").want(http.StatusOK).has(`<html lang="zh-CN">`, "登录")
		v.get("/sign-in", "Accept-Language", "de,en;q=0.5").want(http.StatusOK).has(`<html lang="en">`)
		v.post("/language", url.Values{"lang": {"zh"}, "to": {"/sign-in"}}).want(http.StatusSeeOther)
		v.get("/sign-in").want(http.StatusOK).has("访问令牌")
	})
}
