package api_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper"
	"github.com/pacekeeper/pacekeeper/api"
	"github.com/pacekeeper/pacekeeper/policy"
)

// within fails if what takes longer than it may, in ms, and says how long it took.
func (b *bed) within(ms int, what func()) time.Duration {
	b.t.Helper()
	start := time.Now()
	what()
	took := time.Since(start)
	if took > time.Duration(ms)*time.Millisecond {
		b.t.Errorf("took %v, may take %d ms", took, ms)
	}
	return took.Round(time.Millisecond)
}

func TestService_ProbesAndPages(t *testing.T) {
	t.Parallel()
	var notReady error
	b := newBed(t, func(c *api.Config) { c.Ready = func(context.Context) error { return notReady } })
	b.callAs("", "GET", "/livez", "").want(200)
	b.callAs("", "GET", "/readyz", "").want(200)
	notReady = errors.New("secret host 10.0.0.1")
	if a := b.callAs("", "GET", "/readyz", "").want(503).is("code", `"unavailable"`); bytes.Contains(a.body, []byte("10.0.0.1")) {
		t.Errorf("internal text leaves: %s", a.body)
	}
	notReady = policy.Errorf(policy.CodeUnavailable, "Redis does not answer")
	b.callAs("", "GET", "/readyz", "").want(503).is("detail", `"Redis does not answer"`)
	if spec := b.callAs("", "GET", "/openapi.yaml", "").want(200); !bytes.Equal(spec.body, pacekeeper.OpenAPI) {
		t.Error("/openapi.yaml is not the source")
	}
	page := b.callAs("", "GET", "/docs", "").want(200)
	if csp := page.header.Get("Content-Security-Policy"); !strings.Contains(csp, "script-src 'self'") || strings.Contains(csp, "unsafe") {
		t.Errorf("policy %q", csp)
	}
	for _, file := range []string{"swagger-ui-bundle.js", "swagger-ui.css", "start.js", "favicon-32x32.png", "LICENSE", "NOTICE"} {
		if !bytes.Contains(page.body, []byte("/docs/"+file)) && strings.Contains(file, "ui") {
			t.Errorf("the page does not load %s", file)
		}
		if a := b.send("", "GET", "/docs/"+file, ""); a.status != 200 {
			t.Errorf("%s: %d", file, a.status)
		}
	}
	b.call("GET", "/v1/system/sync", "").want(503)
}

func TestService_PanicsAreAnsweredAndLoggedOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(c *api.Config) { c.Drain = func(context.Context, string) error { panic("secret detail") } })
	b.group("g1")
	a := b.call("GET", "/v1/groups/g1/mutes", "", "X-Request-Id: panic-1").want(500).is("code", `"internal"`)
	if bytes.Contains(a.body, []byte("secret")) {
		t.Errorf("internal text leaves: %s", a.body)
	}
	log := b.log.String()
	if strings.Count(log, "secret detail") != 1 || !strings.Contains(log, "request_id=panic-1") {
		t.Errorf("log: %s", log)
	}
}

func TestSystem_BoundsAndDefaults(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	b.call("PUT", "/v1/groups/g1/policy", `{"actions":{"message":{"min_interval_ms":1500}}}`, `If-Match: "0"`).want(200).is("clamped", "[]")
	bounds := b.call("GET", "/v1/system/bounds", "").want(200)
	same := withoutVersion(string(bounds.body))
	b.call("PUT", "/v1/system/bounds", same).want(428)
	if again := b.call("PUT", "/v1/system/bounds", same, "If-Match: "+bounds.etag()).want(200); again.etag() != bounds.etag() {
		t.Errorf("an unchanged save moved the tag from %s to %s", bounds.etag(), again.etag())
	}
	for _, action := range []string{"*", "message", "coupon"} {
		if bounds.at("actions/"+action+"/window_period_ms/max") == nil {
			t.Errorf("%s is not listed in full", action)
		}
	}
	tight := strings.Replace(same, `"message":{"min_interval_ms":{"min":1000`, `"message":{"min_interval_ms":{"min":3000`, 1)
	changed := b.call("PUT", "/v1/system/bounds", tight, "If-Match: "+bounds.etag()).want(200)
	b.call("GET", "/v1/groups/g1/policy", "").want(200).is("version", "1").is("clamped/0/limit", "3000").
		is("effective/actions/message/min_interval_ms", "3000").is("requested/actions/message/min_interval_ms", "1500")
	b.call("PUT", "/v1/system/bounds", same, "If-Match: "+bounds.etag()).want(412).is("current/version", changed.etag()[1:len(changed.etag())-1])
	b.call("PUT", "/v1/system/bounds", "{}", "If-Match: "+bounds.etag()).want(412)
	b.call("PUT", "/v1/system/bounds", "{}", "If-Match: *").want(422)
	b.call("PUT", "/v1/system/bounds", same, "If-Match: "+changed.etag()).want(200)
	b.call("GET", "/v1/groups/g1/policy", "").want(200).is("clamped", "[]").is("effective/actions/message/min_interval_ms", "1500")

	defaults := b.call("GET", "/v1/system/defaults", "").want(200)
	body := withoutVersion(string(defaults.body))
	if again := b.call("PUT", "/v1/system/defaults", body, "If-Match: "+defaults.etag()).want(200); again.etag() != defaults.etag() {
		t.Errorf("an unchanged save moved the tag from %s to %s", defaults.etag(), again.etag())
	}
	b.call("PUT", "/v1/system/defaults", body).want(428)
	b.call("PUT", "/v1/system/defaults", `{"actions":{"comment":{"min_interval_ms":99000}}}`, "If-Match: *", "Prefer: handling=strict").want(422)
	b.call("PUT", "/v1/system/defaults", `{"actions":{"comment":{"min_interval_ms":99000}}}`, "If-Match: *").want(200).
		is("clamped/0/path", `"/actions/comment/min_interval_ms"`)
	b.call("PUT", "/v1/system/defaults", "{", "If-Match: "+defaults.etag()).want(412)
	b.call("PUT", "/v1/system/defaults", `{"actions":{"nonsense":{}}}`, "If-Match: *").want(422)
	b.call("GET", "/v1/system/actions", "").want(200).is("items/0/name", `"comment"`).is("items/0/speech", "true")
}

func TestTokens_MadeShownOnceRevoked(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	made := b.call("POST", "/v1/tokens", `{"name":"Ann","role":"group_admin","groups":["g2","g1"],"expires_at":"2099-01-01T00:00:00Z"}`).want(201).
		is("groups", `["g1","g2"]`)
	id, _ := made.at("id").(string)
	secret, _ := made.at("token").(string)
	if !strings.HasPrefix(secret, "pk_"+id+"_") {
		t.Errorf("token %q of id %q", secret, id)
	}
	b.group("g1")
	b.callAs(secret, "GET", "/v1/groups/g1", "").want(200)
	if list := b.call("GET", "/v1/tokens", "").want(200); bytes.Contains(list.body, []byte(secret)) {
		t.Error("a list shows a secret")
	}
	b.call("GET", "/v1/tokens/"+id, "").want(200).is("revoked_at", "null").is("name", `"Ann"`).is("token", "null").is("expires_at", `"2099-01-01T00:00:00Z"`)
	b.call("DELETE", "/v1/tokens/"+id, "").want(204)
	b.callAs(secret, "GET", "/v1/groups/g1", "").want(401)
	if at, _ := b.call("GET", "/v1/tokens/"+id, "").want(200).at("revoked_at").(string); at == "" {
		t.Error("a revoked token does not say so")
	}
	b.call("DELETE", "/v1/tokens/none", "").want(404)
	b.call("POST", "/v1/tokens", `{"name":"x","role":"auditor","expires_at":"2001-01-01T00:00:00Z"}`).want(422)
}

func TestLists_PagesAndTheirFaults(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		b.group(id)
	}
	var seen []string
	for cursor := ""; ; {
		page := b.call("GET", "/v1/groups?limit=2"+cursor, "").want(200)
		items, _ := page.at("items").([]any)
		for _, item := range items {
			id, _ := item.(map[string]any)["group_id"].(string)
			seen = append(seen, id)
		}
		next, _ := page.at("next_cursor").(string)
		if next == "" {
			break
		}
		cursor = "&cursor=" + next
	}
	if got := strings.Join(seen, ""); got != "abcde" {
		t.Errorf("pages gave %q", got)
	}
	for query, status := range map[string]int{
		"limit=0": 422, "limit=501": 422, "limit=-1": 422, "limit=x": 400, "limit=": 400, "limit=1&limit=2": 400, "cursor=nonsense": 422,
		"limit=99999999999999999999": 400, "%zz=1": 400, "order=name": 400, "limit=500": 200,
	} {
		if a := b.call("GET", "/v1/groups?"+query, ""); a.status != status {
			t.Errorf("?%s: %d %s", query, a.status, a.body)
		}
	}
	for query, status := range map[string]int{"from=2026-01-01": 400, "from=2026-01-01T00:00:00Z&to=2027-01-01T00:00:00%2B01:00": 200, "actor=nobody": 200} {
		if a := b.call("GET", "/v1/audit-events?"+query, ""); a.status != status {
			t.Errorf("?%s: %d %s", query, a.status, a.body)
		}
	}
}
