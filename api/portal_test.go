package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pacekeeper/pacekeeper/api"
)

func TestPortalSessionsOverREST(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(c *api.Config) { c.PublicURL = "https://pace.example.org" })
	b.group("g1")
	platform := b.token("platform")
	made := b.callAs(platform, "POST", "/v1/portal-sessions", `{"user_id":"u17","name":"Mei","groups":["g1"],"locale":"zh-CN"}`).want(http.StatusCreated)
	id, url := made.at("id").(string), made.at("url").(string)
	if !strings.HasPrefix(url, "https://pace.example.org/portal/") || len(url) < 90 {
		t.Errorf("url %s", url)
	}
	one := b.callAs(platform, "GET", "/v1/portal-sessions/"+id, "").want(http.StatusOK)
	one.is("user_id", `"u17"`).is("used_at", "null").is("revoked_at", "null").is("groups", `["g1"]`)
	b.callAs(platform, "DELETE", "/v1/portal-sessions/"+id, "").want(http.StatusNoContent)
	list := b.call("GET", "/v1/portal-sessions", "").want(http.StatusOK)
	if items := list.at("items").([]any); len(items) != 1 || items[0].(map[string]any)["revoked_at"] == nil {
		t.Errorf("listed %v", items)
	}
	for _, bad := range []string{
		`{}`, `{"user_id":"u","groups":[]}`, `{"user_id":"","groups":["g1"]}`, `{"user_id":"u","groups":["a b"]}`,
		`{"user_id":"u","groups":["g1"],"locale":"not a tag"}`, `{"user_id":"u","groups":["g1"],"role":"operator"}`,
	} {
		b.callAs(platform, "POST", "/v1/portal-sessions", bad).want(http.StatusUnprocessableEntity)
	}
}

func TestPreviewOfAPolicy(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	const path = "/v1/groups/g1/policy/preview"
	got := b.call("POST", path, `{"policy":{"actions":{"message":{"min_interval_ms":500}}},"traffic":"spammer"}`).want(http.StatusOK)
	if n := len(got.at("decisions").([]any)); n != 85 {
		t.Errorf("%d decisions", n)
	}
	got.is("effective/actions/message/min_interval_ms", "1000")
	if clamped := got.at("clamped").([]any); len(clamped) != 1 {
		t.Errorf("clamped %v", clamped)
	}
	if text := got.at("summary/zh").(string); !strings.Contains(text, "成员每 1 秒可发 1 条消息") {
		t.Errorf("summary %s", text)
	}
	tries := b.call("POST", path, `{"policy":{},"traffic":[{"at_ms":0,"user_id":"a","cost":1},{"at_ms":900,"user_id":"a","cost":1},{"at_ms":900,"user_id":"b","cost":1}]}`).
		want(http.StatusOK).at("decisions").([]any)
	for i, want := range []string{"allowed", "refused_interval", "allowed"} {
		if reason := tries[i].(map[string]any)["reason"]; reason != want {
			t.Errorf("try %d: %v, want %s", i, reason, want)
		}
	}
	for body, pointer := range map[string]string{
		`{"policy":{"actions":{"message":{"min_interval_ms":0}}},"traffic":"calm"}`: "/policy/actions/message/min_interval_ms",
		`{"policy":{},"traffic":"wild"}`:                                            "/traffic",
		`{"policy":{},"traffic":[{"at_ms":-1,"user_id":"a","cost":1}]}`:             "/traffic/0/at_ms",
		`{"policy":{},"traffic":[{"at_ms":1,"user_id":"a b","cost":1}]}`:            "/traffic/0/user_id",
		`{"policy":{},"traffic":[{"at_ms":1,"user_id":"a"}]}`:                       "/traffic/0/cost",
		`{"policy":{},"action":"nothing","traffic":"calm"}`:                         "/action",
		`{"policy":{},"traffic":[` + strings.Repeat(`{},`, 1000) + `{}]}`:           "/traffic",
	} {
		fault := b.call("POST", path, body).want(http.StatusUnprocessableEntity)
		if got := fault.at("errors").([]any)[0].(map[string]any)["pointer"]; got != pointer {
			t.Errorf("%.80s: %v, want %s", body, got, pointer)
		}
	}
	if got := b.call("GET", "/v1/groups/g1/policy", ""); string(got.body) == "" || got.etag() != `"0"` {
		t.Errorf("version %s after previews", got.etag())
	}
}
