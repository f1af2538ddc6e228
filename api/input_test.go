package api_test

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/pacekeeper/pacekeeper/api"
)

func TestC34_AnIdComesFromThePathAlone(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("A")
	b.group("B")
	for _, body := range []string{
		`{"group_id":"A","name":"x"}`, `{"GroupID":"A","name":"x"}`, `{"GroupId":"A","name":"x"}`, `{"version":7,"name":"x"}`,
		`{"Name":"x"}`, `{"NAME":"x","name":"x"}`,
	} {
		b.call("PUT", "/v1/groups/B", body).want(422)
	}
	b.call("PUT", "/v1/groups/B", `{"name":"x","GroupID":"A"}`).want(422).is("errors/0/code", `"unknown"`).is("errors/0/pointer", `"/GroupID"`)
	for _, body := range []string{`{"group_id":"A"}`, `{"version":7}`, `{"Actions":{}}`} {
		b.call("PUT", "/v1/groups/B/policy", body, `If-Match: "0"`).want(422)
	}
	b.call("PUT", "/v1/groups/B/exemptions/u1", `{"user_id":"u2"}`).want(422)
	b.call("PUT", "/v1/groups/B/mutes/u1", `{"for_ms":1000,"user_id":"u2"}`).want(422)
	for _, query := range []string{"?group_id=A", "?GroupID=A", "?version=7", "?name=x"} {
		b.call("PUT", "/v1/groups/B"+query, `{"name":"x"}`).want(400)
		b.call("PUT", "/v1/groups/B/policy"+query, slow, `If-Match: "0"`).want(400)
		b.call("GET", "/v1/groups/B/policy"+query, "").want(400)
		b.call("POST", "/v1/groups/B/check"+query, `{"user_id":"u","action":"message"}`).want(400)
	}
	for _, group := range []string{"A", "B"} {
		b.call("GET", "/v1/groups/"+group, "").is("name", `"Group `+group+`"`)
		b.call("GET", "/v1/groups/"+group+"/policy", "").is("version", "0")
	}
}

// oddBodies are bodies that no field can hold.
func oddBodies(field string) []string {
	return []string{
		`{"` + field + `":"a\u0000b"}`, `{"` + field + `":"\ud800"}`, "{\"" + field + "\":\"\xff\"}", "{\"" + field + "\":\"\x00\"}",
		`{"` + field + `":"x","` + field + `":"y"}`, `{"` + field + `":`, `{"` + field + `":"x"} {}`, strings.Repeat("[", 100), "",
		"\xef\xbb\xbf{}", `{"` + field + `":"` + strings.Repeat("e\u0301\u0302", 10000) + `"}`, "null", "[]", `"x"`, "1",
	}
}

func TestC40_OddTextIsRefusedNeverAnError(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	writes := []struct{ method, path, field string }{
		{"PUT", "/v1/groups/g1", "name"},
		{"PUT", "/v1/groups/g1", "locale"},
		{"PUT", "/v1/groups/g1/policy", "time_zone"},
		{"PATCH", "/v1/groups/g1/policy", "time_zone"},
		{"PUT", "/v1/groups/g1/exemptions/u1", "note"},
		{"PUT", "/v1/groups/g1/mutes/u1", "reason"},
		{"POST", "/v1/groups/g1/check", "user_id"},
		{"POST", "/v1/groups/g1/check", "action"},
		{"POST", "/v1/tokens", "name"},
		{"PUT", "/v1/system/bounds", "roles"},
		{"PUT", "/v1/system/defaults", "time_zone"},
		{"PUT", "/v1/system/actions/poll", "speech"},
	}
	for _, w := range writes {
		for _, body := range oddBodies(w.field) {
			a := b.call(w.method, w.path, body, "If-Match: *", "Content-Type: "+contentType(w.method))
			if a.status < 400 || a.status > 499 {
				t.Errorf("%s %s %.60q: %d %s", w.method, w.path, body, a.status, a.body)
			}
		}
	}
	marks := url.PathEscape("e" + strings.Repeat("\u0301", 10000))
	for _, id := range []string{"%00", "%ff", "a%20b", "%E2%80%AE", "%7B", "%7C", "~x", ".", "..", "%2e%2e", marks, "%ED%A0%80", strings.Repeat("x", 129)} {
		for _, path := range []string{
			"/v1/groups/" + id, "/v1/groups/" + id + "/policy", "/v1/groups/g1/exemptions/" + id, "/v1/groups/g1/bans/like/" + id,
			"/v1/system/actions/" + id, "/v1/tokens/" + id, "/v1/groups?query=" + id, "/v1/groups?cursor=" + id, "/v1/audit-events?actor=" + id,
			"/v1/groups/g1/policy/versions/" + id,
		} {
			for _, method := range []string{"GET", "PUT", "DELETE"} {
				a := b.send(bootstrap, method, path, `{}`, "If-Match: *")
				if a.status >= 500 {
					t.Errorf("%s %s: %d %s", method, path, a.status, a.body)
				}
			}
		}
	}
	for _, header := range []string{"If-Match: \xff", "Prefer: \xff", "Pacekeeper-Reason: \xff", "Pacekeeper-Reason: %00", "X-Request-Id: \xff", "Authorization: Bearer \xff"} {
		a := b.send(bootstrap, "PUT", "/v1/groups/g1/policy", slow, header)
		if a.status >= 500 {
			t.Errorf("%q: %d %s", header, a.status, a.body)
		}
	}
	if log := b.log.String(); strings.Contains(log, "level=ERROR") {
		t.Errorf("errors were logged: %s", log)
	}
}

func contentType(method string) string {
	if method == http.MethodPatch {
		return "application/merge-patch+json"
	}
	return "application/json"
}

func TestInput_EveryFaultOfSmallBodiesIsNamed(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	cases := []struct{ method, path, body, pointer, code string }{
		{"PUT", "/v1/groups/g1", `{}`, "/name", "required"},
		{"PUT", "/v1/groups/g1", `{"name":1}`, "/name", "type"},
		{"PUT", "/v1/groups/g1", `{"name":null}`, "/name", "type"},
		{"PUT", "/v1/groups/g1", `{"name":"` + strings.Repeat("x", 201) + `"}`, "/name", "range"},
		{"PUT", "/v1/groups/g1", `{"name":"two\nlines"}`, "/name", "format"},
		{"PUT", "/v1/groups/g1", `{"name":"x\u202ey"}`, "/name", "format"},
		{"PUT", "/v1/groups/g1/exemptions/u1", `{"note":"x\u2066y"}`, "/note", "format"},
		{"PUT", "/v1/groups/g1/mutes/u1", `{"for_ms":1000,"reason":"x\ty"}`, "/reason", "format"},
		{"POST", "/v1/tokens", `{"name":"x\u202ey","role":"auditor"}`, "/name", "format"},
		{"POST", "/v1/tokens", `{"name":"x\r\ny","role":"auditor"}`, "/name", "format"},
		{"POST", "/v1/portal-sessions", `{"user_id":"u","name":"x\u200fy","groups":["g1"]}`, "/name", "format"},
		{"PUT", "/v1/groups/g1", `{"name":"x","locale":"!!"}`, "/locale", "format"},
		{"PUT", "/v1/groups/g1", `{"name":"x","a/b~":1}`, "/a~1b~0", "unknown"},
		{"PUT", "/v1/groups/g1/exemptions/u1", `{"expires_at":"2000-01-01T00:00:00Z"}`, "/expires_at", "range"},
		{"PUT", "/v1/groups/g1/exemptions/u1", `{"expires_at":"2099-01-01T00:00:00"}`, "/expires_at", "type"},
		{"PUT", "/v1/groups/g1/exemptions/u1", `{"expires_at":4102444800}`, "/expires_at", "type"},
		{"PUT", "/v1/groups/g1/exemptions/u1", `{"note":"` + strings.Repeat("x", 501) + `"}`, "/note", "range"},
		{"PUT", "/v1/groups/g1/mutes/u1", `{}`, "", "required"},
		{"PUT", "/v1/groups/g1/mutes/u1", `{"for_ms":1000,"until":"2099-01-01T00:00:00Z"}`, "", "required"},
		{"PUT", "/v1/groups/g1/mutes/u1", `{"for_ms":0}`, "/for_ms", "range"},
		{"PUT", "/v1/groups/g1/mutes/u1", `{"for_ms":-5}`, "/for_ms", "range"},
		{"PUT", "/v1/groups/g1/mutes/u1", `{"for_ms":1.5}`, "/for_ms", "type"},
		{"PUT", "/v1/groups/g1/mutes/u1", `{"for_ms":2592000001}`, "/for_ms", "range"},
		{"PUT", "/v1/groups/g1/mutes/u1", `{"until":"2000-01-01T00:00:00Z"}`, "/until", "range"},
		{"PUT", "/v1/groups/g1/mutes/u1", `{"until":"9999-01-01T00:00:00Z"}`, "/until", "range"},
		{"POST", "/v1/groups/g1/check", `{"action":"message"}`, "/user_id", "required"},
		{"POST", "/v1/groups/g1/check", `{"user_id":7,"action":"message"}`, "/user_id", "type"},
		{"POST", "/v1/groups/g1/check", `{"user_id":"","action":"message"}`, "/user_id", "required"},
		{"POST", "/v1/groups/g1/check", `{"user_id":"u","action":"dance"}`, "/action", "unknown"},
		{"POST", "/v1/groups/g1/check", `{"user_id":"u","action":"message","cost":-1}`, "/cost", "range"},
		{"POST", "/v1/groups/g1/check", `{"user_id":"u","action":"message","cost":9}`, "/cost", "range"},
		{"POST", "/v1/groups/g1/check", `{"user_id":"u","action":"message","roles":"vip"}`, "/roles", "type"},
		{"POST", "/v1/tokens", `{"name":"x","role":"king"}`, "/role", "format"},
		{"POST", "/v1/tokens", `{"name":"","role":"auditor"}`, "/name", "range"},
		{"POST", "/v1/tokens", `{"name":"x","role":"group_admin"}`, "/groups", "required"},
		{"POST", "/v1/tokens", `{"name":"x","role":"auditor","groups":["g1"]}`, "/groups", "forbidden"},
		{"POST", "/v1/tokens", `{"name":"x","role":"group_admin","groups":["g1","a b"]}`, "/groups/1", "format"},
		{"PUT", "/v1/system/actions/poll", `{"speech":"yes"}`, "/speech", "type"},
	}
	for _, c := range cases {
		a := b.call(c.method, c.path, c.body)
		if a.status != http.StatusUnprocessableEntity {
			t.Errorf("%s %s %.80s: %d %s", c.method, c.path, c.body, a.status, a.body)
			continue
		}
		a.is("errors/0/pointer", `"`+c.pointer+`"`).is("errors/0/code", `"`+c.code+`"`)
	}
	a := b.call("PUT", "/v1/groups/g1", `{"locale":5,"x":1,"y":2}`).want(422)
	for i, pointer := range []string{"/locale", "/name", "/x", "/y"} {
		a.is("errors/"+string(rune('0'+i))+"/pointer", `"`+pointer+`"`)
	}
	b.call("GET", "/v1/groups/g1", "").want(200).is("name", `"Group g1"`)
}

func TestInput_SizesAndTypesOfBodies(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	b.call("PUT", "/v1/groups/g1/policy", `{"time_zone":"`+strings.Repeat("x", 1<<20)+`"}`, `If-Match: "0"`).want(413).is("code", `"too_large"`)
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin1", "application/merge-patch+json", ""} {
		a := b.sendTyped("PUT", "/v1/groups/g1/policy", slow, kind)
		if a.status != http.StatusUnsupportedMediaType {
			t.Errorf("%q: %d", kind, a.status)
		}
	}
	a := b.sendTyped("PATCH", "/v1/groups/g1/policy", slow, "application/json")
	if a.status != http.StatusUnsupportedMediaType || a.header.Get("Accept-Patch") == "" {
		t.Errorf("PATCH as JSON: %d, Accept-Patch %q", a.status, a.header.Get("Accept-Patch"))
	}
	b.call("PUT", "/v1/groups/g1/policy", slow, `If-Match: "0"`, "Content-Encoding: gzip").want(415)
}

// sendTyped sends with If-Match: * and the given type alone.
func (b *bed) sendTyped(method, path, body, kind string) answer {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.server.URL+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+bootstrap)
	req.Header.Set("If-Match", "*")
	req.Header.Set("Content-Type", kind)
	return b.exchange(req)
}

func TestInput_UnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	for path, status := range map[string]int{
		"/": 404, "/v1": 404, "/v1/": 404, "/v1/nothing": 404, "/v1/groups/": 404, "/v1/groups/g1/": 404, "/v1/groups/g1/exemptions/a/b": 404,
		"/v1/tokens/a/b": 404, "/v1/groups/g1/check": 405, "/docs/none.js": 404, "/docs/%2e%2e%2fapi.go": 404,
	} {
		a := b.send(bootstrap, "GET", path, "")
		if a.status != status || a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s %s", path, a.status, a.header.Get("Content-Type"), a.body)
		}
	}
	a := b.send(bootstrap, "TRACE", "/v1/groups", "")
	if a.status != http.StatusMethodNotAllowed || !strings.Contains(a.header.Get("Allow"), "GET") {
		t.Errorf("TRACE: %d, Allow %q", a.status, a.header.Get("Allow"))
	}
}

func TestInput_OnlyTrustedProxiesNameAddresses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		trusted []netip.Prefix
		address string
	}{{nil, "127.0.0.1"}, {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, "198.51.100.7"}} {
		b := newBed(t, func(cfg *api.Config) { cfg.TrustedProxies = c.trusted })
		b.call("PUT", "/v1/groups/g1", `{"name":"x"}`, "X-Forwarded-For: 203.0.113.9, 198.51.100.7").want(201)
		b.call("GET", "/v1/audit-events?action=group.create", "").want(200).is("items/0/address", quoted(c.address))
	}
}

func TestInput_RequestIdsAreEchoedOrMade(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	if a := b.call("GET", "/v1/groups/none", "", "X-Request-Id: abc-1").want(404).is("request_id", `"abc-1"`); a.header.Get("X-Request-Id") != "abc-1" {
		t.Errorf("not echoed: %q", a.header.Get("X-Request-Id"))
	}
	for _, odd := range []string{"a b", strings.Repeat("x", 200), "<script>"} {
		a := b.call("GET", "/v1/groups", "", "X-Request-Id: "+odd).want(200)
		if got := a.header.Get("X-Request-Id"); got == odd || len(got) != 36 {
			t.Errorf("%q became %q", odd, got)
		}
	}
}
