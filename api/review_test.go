package api_test

import (
	"net/url"
	"strings"
	"testing"
)

// TestAudit_OneEntryIsToldInWords reads an entry by its number.
func TestAudit_OneEntryIsToldInWords(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	b.call("PUT", "/v1/groups/g1/policy", `{"actions":{"message":{"min_interval_ms":2000}}}`, "If-Match: *").want(200)
	b.call("PUT", "/v1/groups/g1/policy", `{"actions":{"message":{"min_interval_ms":4000}}}`, "If-Match: *").want(200)
	b.call("GET", "/v1/audit-events/4", "").want(200).is("seq", "4").is("action", `"policy.update"`).
		is("changes/0/path", `"/actions/message/min_interval_ms"`).is("changes/0/before", "2000").is("changes/0/after", "4000").
		is("changes/0/words/en", `"Messages, shortest gap: 2 s → 4 s"`).is("changes/0/words/zh", `"消息，最短间隔：2 秒 → 4 秒"`).
		is("changes/1", "null")
	b.call("GET", "/v1/audit-events/2", "").want(200).is("changes/1/words/en", `"Name: “Group g1”"`)
	b.call("GET", "/v1/audit-events/5", "").want(404)
	b.call("GET", "/v1/audit-events/0", "").want(404)
	b.call("GET", "/v1/audit-events/x", "").want(400)
}

func TestAudit_BadFiltersAreNamed(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for query, pointer := range map[string]string{
		"role=admin": "/role", "channel=rest": "/channel", "action=Policy": "/action", "changed=window": "/changed",
		"from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z": "/to",
	} {
		for _, path := range []string{"/v1/audit-events?", "/v1/audit-events/export?"} {
			b.call("GET", path+query, "").want(422).is("errors/0/pointer", quoted(pointer)).is("errors/1", "null")
		}
	}
	for _, query := range []string{"from=yesterday", "field=x", "field="} {
		b.call("GET", "/v1/audit-events?"+query, "").want(400)
	}
	b.call("GET", "/v1/audit-events?cursor=x", "").want(422)
	b.call("GET", "/v1/audit-events?changed="+url.QueryEscape("/actions/message/window"), "").want(200).is("items", "[]")
}

// TestC38_RestoreByREST restores a bad save's predecessor, and what a newer bound holds back is told.
func TestC38_RestoreByREST(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	b.token("group_admin", "g1")
	const path = "/v1/groups/g1/policy"
	b.call("PUT", path, `{"actions":{"message":{"min_interval_ms":1000},"sms":{"min_interval_ms":5000}}}`, "If-Match: *").want(200)
	b.call("PUT", path, `{"actions":{"message":{"min_interval_ms":9000},"sms":{"min_interval_ms":6000}}}`, "If-Match: *").want(200)
	bounds := withoutVersion(string(b.call("GET", "/v1/system/bounds", "").want(200).body))
	tight := strings.Replace(bounds, `"message":{"min_interval_ms":{"min":1000`, `"message":{"min_interval_ms":{"min":2000`, 1)
	b.call("PUT", "/v1/system/bounds", tight, "If-Match: *").want(200)
	b.call("GET", path+"/diff", "").want(200).is("from", "1").is("to", "2").is("changes/0/after", "9000").is("changes/1/after", "6000")
	b.call("GET", path+"/diff?from=0&to=1", "").want(200).is("changes/0/words/en", `"Messages, shortest gap: system default → 1 s"`)
	b.call("GET", path+"/diff?from=1&to=1", "").want(200).is("changes", "[]")
	b.call("GET", path+"/diff?to=3", "").want(404)
	b.call("GET", path+"/diff?from=-1", "").want(400)
	const restore = path + "/versions/1/restore"
	b.call("POST", restore, "").want(428)
	b.call("POST", restore, "", `If-Match: "1"`).want(412).is("current/version", "2")
	b.call("POST", restore, "", `If-Match: "2"`, "Prefer: handling=strict").want(422).is("errors/0/pointer", `"/actions/message/min_interval_ms"`)
	b.callAs(b.tokens["group_admin"], "POST", restore, "", `If-Match: "2"`, "Pacekeeper-Reason: too%20slow").want(200).is("version", "3").
		is("requested/actions/message/min_interval_ms", "1000").is("effective/actions/message/min_interval_ms", "2000").
		is("clamped/0/bound", `"min"`).is("requested/actions/sms/min_interval_ms", "6000")
	b.call("POST", restore, "", "If-Match: *").want(200).is("version", "4").is("requested/actions/sms/min_interval_ms", "5000")
	b.call("POST", restore, "", "If-Match: *").want(200).is("version", "4")
	b.call("PUT", path, `{"actions":{"message":{"min_interval_ms":1000},"sms":{"min_interval_ms":5000}}}`, `If-Match: "4"`).want(200).is("version", "4")
	b.call("GET", path+"/versions/3", "").want(200).is("kind", `"restore"`).is("reason", `"too slow"`)
	b.call("GET", "/v1/audit-events?action=policy.restore", "").want(200).is("items/2", "null").is("items/1/role", `"group_admin"`)
	for range 2 {
		b.call("POST", path+"/versions/2/restore", "", `If-Match: "4"`, "Idempotency-Key: k1").want(200).is("version", "5")
	}
	b.call("POST", restore, "", "If-Match: *").want(200).is("version", "6")
	b.call("POST", path+"/versions/2/restore", "", `If-Match: "4"`, "Idempotency-Key: k1").want(200).is("version", "5").
		is("requested/actions/message/min_interval_ms", "9000")
	b.call("POST", path+"/versions/2/restore", "", "If-Match: *", "Idempotency-Key: k1", "Prefer: handling=strict").want(422).
		is("code", `"idempotency_key_reused"`)
	b.call("POST", path+"/versions/9/restore", "", "If-Match: *").want(404)
	b.call("DELETE", "/v1/groups/g1", "").want(200)
	b.call("POST", restore, "", "If-Match: *").want(409)
}

func TestAudit_RefusedAccessIsCounted(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("own")
	b.group("foreign")
	b.token("group_admin", "own")
	b.token("gateway")
	const tried = "pk_0_the-secret-that-was-tried"
	for range 3 {
		b.callAs(tried, "GET", "/v1/groups/own", "").want(401)
	}
	b.callAs(b.tokens["group_admin"], "GET", "/v1/groups/foreign/policy", "").want(404)
	b.callAs(b.tokens["gateway"], "GET", "/v1/audit-events", "").want(403)
	b.callAs(b.tokens["group_admin"], "PUT", "/v1/groups/own/policy", `{"actions":{"sms":{"mode":"soft"}}}`, "If-Match: *").want(403)
	b.call("GET", "/v1/groups/none", "").want(404)
	all := b.call("GET", "/v1/audit-events/refusals", "").want(200).is("items/4", "null")
	if text := string(all.body); strings.Contains(text, "secret") || strings.Contains(text, "127.0.0.1") {
		t.Errorf("kept too much: %s", text)
	}
	for kind, want := range map[string][2]string{
		"unauthenticated": {"3", `"address 127.0.0.0/24"`}, "foreign_group": {"1", ""}, "sign_in": {"null", "null"},
	} {
		a := b.call("GET", "/v1/audit-events/refusals?kind="+kind, "").want(200).is("items/0/count", want[0])
		if want[1] != "" {
			a.is("items/0/who", want[1])
		}
	}
	b.call("GET", "/v1/audit-events/refusals?kind=forbidden", "").want(200).is("items/2", "null").is("items/0/count", "1").is("items/1/count", "1")
	b.call("GET", "/v1/audit-events/refusals?kind=x", "").want(422)
	b.call("GET", "/v1/audit-events/refusals?from=2026-01-01", "").want(400)
}
