package api_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pacekeeper/pacekeeper/api"
	"github.com/pacekeeper/pacekeeper/store"
)

const slow = `{"actions":{"message":{"min_interval_ms":5000}}}`

func TestPolicy_FromRegistrationToDefaults(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.call("GET", "/v1/groups/g1/policy", "").want(404).is("code", `"not_found"`)
	b.call("PUT", "/v1/groups/g1/policy", slow, `If-Match: *`).want(404)
	b.call("PUT", "/v1/groups/g1", `{"name":"Tea","locale":"en"}`).want(201).is("archived_at", "null")
	fresh := b.call("GET", "/v1/groups/g1/policy", "").want(200).is("version", "0").is("live", "null").is("requested", "{}")
	if fresh.etag() != `"0"` {
		t.Errorf("the tag of a group without a document is %s", fresh.etag())
	}
	b.call("PUT", "/v1/groups/g1/policy", slow).want(428).is("code", `"precondition_required"`)
	saved := b.call("PUT", "/v1/groups/g1/policy", slow, `If-Match: "0"`).want(200).is("version", "1").
		is("effective/actions/message/min_interval_ms", "5000").is("sources/message", `"group"`).is("sources/comment", `"default"`).
		is("redis_keys/message", `"pk:`+shardTag("g1")+`:policy:message|g1"`).is("pending", "true")
	if saved.etag() != `"1"` {
		t.Errorf("the tag is %s", saved.etag())
	}
	b.call("PATCH", "/v1/groups/g1/policy", `{"actions":{"comment":{"min_interval_ms":3000}}}`, `If-Match: "1"`).want(200).
		is("version", "2").is("requested/actions/message/min_interval_ms", "5000").is("requested/actions/comment/min_interval_ms", "3000")
	b.call("PATCH", "/v1/groups/g1/policy", `{"actions":{"message":null}}`, `If-Match: "2"`).want(200).is("requested/actions/message", "null")
	b.call("DELETE", "/v1/groups/g1/policy", "", `If-Match: "3"`).want(200).is("version", "4").is("requested", "{}")
	versions := b.call("GET", "/v1/groups/g1/policy/versions?limit=3", "").want(200).is("items/0/version", "4").is("items/2/version", "2")
	cursor, _ := versions.at("next_cursor").(string)
	b.call("GET", "/v1/groups/g1/policy/versions?limit=3&cursor="+cursor, "").want(200).is("items/0/version", "1").is("next_cursor", "null")
	b.call("GET", "/v1/groups/g1/policy/versions/1", "").want(200).is("document/actions/message/min_interval_ms", "5000")
	b.call("GET", "/v1/groups/g1/policy/versions/9", "").want(404)
}

func TestPolicy_ArchivedReadsButRefusesWrites(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	b.call("PUT", "/v1/groups/g1/policy", slow, `If-Match: "0"`).want(200)
	if at := b.call("DELETE", "/v1/groups/g1", "").want(200).at("archived_at"); at == nil {
		t.Error("archived_at is null")
	}
	b.call("GET", "/v1/groups/g1/policy", "").want(200)
	b.call("PUT", "/v1/groups/g1/policy", slow, `If-Match: *`).want(409).is("code", `"archived"`)
	b.call("PUT", "/v1/groups/g1/exemptions/u1", `{}`).want(409)
	b.call("PUT", "/v1/groups/g1/mutes/u1", `{"for_ms":60000}`).want(409)
	b.call("PUT", "/v1/groups/g1", `{"name":"Tea"}`).want(200).is("archived_at", "null")
	b.call("GET", "/v1/groups/g1/policy", "").want(200).is("requested/actions/message/min_interval_ms", "5000")
	b.call("PUT", "/v1/groups/g1", `{"name":"Tea","locale":"zh"}`).want(200).is("locale", `"zh"`)
	b.call("PUT", "/v1/groups/g1", `{"name":"Tee"}`).want(200).is("locale", `"zh"`)
}

func TestC13_UnchangedSaveMakesNoVersionAndNoAudit(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	b.call("PUT", "/v1/groups/g1/policy", slow, `If-Match: "0"`).want(200)
	before := b.auditCount()
	for range 100 {
		b.call("PUT", "/v1/groups/g1/policy", slow, `If-Match: "1"`).want(200).is("version", "1")
	}
	b.call("PATCH", "/v1/groups/g1/policy", slow, `If-Match: "1"`).want(200).is("version", "1")
	b.call("PUT", "/v1/groups/g1", `{"name":"Group g1","locale":"en"}`).want(200)
	if after := b.auditCount(); after != before {
		t.Errorf("%d audit entries of saves that changed nothing", after-before)
	}
}

func TestC16_NumbersAreRefusedOrClamped(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	b.call("PUT", "/v1/groups/g1/policy", slow, `If-Match: "0"`).want(200)
	for _, bad := range []string{"0", "-1", "1.5", `"2s"`, "NaN", "1e400", "true", "[]", "{}"} {
		a := b.call("PUT", "/v1/groups/g1/policy", `{"actions":{"message":{"min_interval_ms":`+bad+`}}}`, `If-Match: "1"`)
		a.want(422).is("errors/0/pointer", `"/actions/message/min_interval_ms"`)
		detail, _ := a.at("errors/0/detail").(string)
		if !strings.Contains(detail, "min_interval_ms") || !strings.Contains(detail, "ms") || !strings.Contains(detail, "1") {
			t.Errorf("%s: field, unit and range are not all named: %s", bad, detail)
		}
	}
	b.call("GET", "/v1/groups/g1/policy", "").want(200).is("version", "1").is("requested/actions/message/min_interval_ms", "5000")
	for asked, held := range map[string]string{"86400000": "10000", "2": "1000"} {
		bound := map[string]string{"86400000": `"max"`, "2": `"min"`}[asked]
		b.call("PUT", "/v1/groups/g1/policy", `{"actions":{"message":{"min_interval_ms":`+asked+`}}}`, `If-Match: *`).want(200).
			is("requested/actions/message/min_interval_ms", asked).is("effective/actions/message/min_interval_ms", held).
			is("clamped/0/path", `"/actions/message/min_interval_ms"`).is("clamped/0/requested", asked).
			is("clamped/0/effective", held).is("clamped/0/bound", bound).is("clamped/0/limit", held)
	}
	b.call("PUT", "/v1/groups/g1/policy", `{"actions":{"message":{"min_interval_ms":2}}}`, `If-Match: *`, "Prefer: handling=strict").
		want(422).is("errors/0/pointer", `"/actions/message/min_interval_ms"`)
}

func TestC30_TheSecondOfTwoIsTold(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	ann := b.call("GET", "/v1/groups/g1/policy", "").etag()
	bob := b.call("GET", "/v1/groups/g1/policy", "").etag()
	b.call("PUT", "/v1/groups/g1/policy", slow, "If-Match: "+ann).want(200)
	told := b.call("PUT", "/v1/groups/g1/policy", `{"actions":{"message":{"window":{"algorithm":"sliding_window","limit":5,"period_ms":30000}}}}`,
		"If-Match: "+bob).want(412).is("code", `"stale"`).is("current/version", "1").
		is("current/requested/actions/message/min_interval_ms", "5000")
	if told.etag() != `"1"` {
		t.Errorf("the current tag is not told: %q", told.etag())
	}
	b.call("PUT", "/v1/groups/g1/policy", `{"nonsense":1}`, "If-Match: "+bob).want(412)
	b.call("PUT", "/v1/groups/g1/policy", `{`, "If-Match: "+bob).want(412)
	b.call("GET", "/v1/groups/g1/policy", "").want(200).is("requested/actions/message/min_interval_ms", "5000")
}

func TestC32_EditsElsewhereDisturbNoTag(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("A")
	b.group("B")
	tag := b.call("GET", "/v1/groups/A/policy", "").etag()
	for i := range 20 {
		b.call("PUT", "/v1/groups/B/policy", fmt.Sprintf(`{"actions":{"message":{"min_interval_ms":%d}}}`, 2000+i), fmt.Sprintf(`If-Match: "%d"`, i)).want(200)
	}
	b.call("PUT", "/v1/groups/A/exemptions/u1", `{"note":"colleague"}`).want(201)
	b.call("PUT", "/v1/groups/A/mutes/u2", `{"for_ms":60000}`).want(200)
	b.call("PUT", "/v1/groups/A/policy", slow, "If-Match: "+tag).want(200)
}

func TestC39_GzipKeepsTheTag(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	packed := b.call("GET", "/v1/groups/g1/policy", "", "Accept-Encoding: gzip").want(200)
	if packed.header.Get("Content-Encoding") != "gzip" || packed.etag() != `"0"` {
		t.Errorf("encoding %q, tag %s", packed.header.Get("Content-Encoding"), packed.etag())
	}
	for i, tag := range []string{`"0"`, `W/"1"`, `"2-gzip"`} {
		b.call("PUT", "/v1/groups/g1/policy", fmt.Sprintf(`{"actions":{"message":{"min_interval_ms":%d}}}`, 3000+i), "If-Match: "+tag).want(200)
	}
	for _, bad := range []string{`1`, `"1`, `"1", "2"`, ``} {
		b.call("PUT", "/v1/groups/g1/policy", slow, "If-Match: "+bad).want(400)
	}
	for _, stale := range []string{`"03"`, `"x"`, `"-1"`, `"99999999999999999999"`} {
		b.call("PUT", "/v1/groups/g1/policy", slow, "If-Match: "+stale).want(412)
	}
}

func TestC35_ZeroFalseAndEmptyAreValues(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	document := `{"actions":{"message":{"enabled":false,"min_interval_ms":null,"window":{"algorithm":"sliding_window","limit":5,` +
		`"period_ms":30000,"count_refused":false},"ban":null}},"exempt_roles":[],"penalties":{"ladder":[]},"notices":{"en":{"too_soon":""}}}`
	b.call("PUT", "/v1/groups/g1/policy", document, `If-Match: "0"`).want(200)
	b.call("GET", "/v1/groups/g1/policy", "").want(200).
		is("requested/actions/message/enabled", "false").is("requested/actions/message/min_interval_ms", "null").
		is("requested/actions/message/window/count_refused", "false").is("requested/exempt_roles", "[]").
		is("requested/penalties/ladder", "[]").is("effective/penalties/ladder", "[]").is("effective/exempt_roles", `["owner"]`)
	b.call("PUT", "/v1/groups/g1/exemptions/u1", `{"note":"x","expires_at":"2099-01-01T00:00:00+02:00"}`).want(201).
		is("expires_at", `"2098-12-31T22:00:00Z"`)
	b.call("PUT", "/v1/groups/g1/exemptions/u1", `{"note":"","expires_at":null}`).want(200).is("note", `""`).is("expires_at", "null")
	b.call("PUT", "/v1/groups/g1", `{"name":""}`).want(200).is("name", `""`)
	b.call("PUT", "/v1/system/actions/poll", `{"speech":true}`).want(201)
	b.call("PUT", "/v1/system/actions/poll", `{"speech":false}`).want(200).is("speech", "false")
}

func TestPolicy_OperatorsActionsAreLeftAsTheyStand(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	admin := b.token("group_admin", "g1")
	sms := `{"actions":{"sms":{"window":{"algorithm":"sliding_window","limit":2,"period_ms":300000}}}}`
	b.call("PUT", "/v1/groups/g1/policy", sms, `If-Match: "0"`).want(200)
	b.callAs(admin, "PUT", "/v1/groups/g1/policy", slow, `If-Match: "1"`).want(200).is("requested/actions/sms/window/limit", "2")
	b.callAs(admin, "PUT", "/v1/groups/g1/policy", strings.Replace(sms, `"limit":2`, `"limit":3`, 1), `If-Match: "2"`).want(403).
		is("errors/0/pointer", `"/actions/sms/window"`)
	b.callAs(admin, "DELETE", "/v1/groups/g1/policy", "", `If-Match: "2"`).want(200).is("requested/actions/sms/window/limit", "2").
		is("requested/actions/message", "null")
}

func TestPolicy_WaitsUntilLive(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	wait := func(ctx context.Context, group string, version int64) (store.Publication, bool) {
		asked.Store(version)
		if deadline, ok := ctx.Deadline(); !ok || deadline.IsZero() {
			t.Error("the wait has no end")
		}
		return store.Publication{GroupID: group, Version: version, Order: 7, LagMS: 0}, true
	}
	b := newBed(t, func(c *api.Config) { c.Wait = wait })
	b.group("g1")
	b.call("PUT", "/v1/groups/g1/policy", slow, `If-Match: "0"`, "Prefer: wait=5").want(200).
		is("live/version", "1").is("live/order", "7").is("live/lag_ms", "0").is("pending", "false")
	if asked.Load() != 1 {
		t.Errorf("waited for version %d", asked.Load())
	}
}

func TestPolicy_ReasonsReachTheAudit(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g1")
	b.call("PUT", "/v1/groups/g1/policy", slow, `If-Match: "0"`, "Pacekeeper-Reason: calmer%20evenings%20%E5%A5%BD", "X-Request-Id: my-request").want(200)
	b.call("GET", "/v1/audit-events?action=policy.update&request_id=my-request", "").want(200).
		is("items/0/reason", `"calmer evenings 好"`).is("items/0/role", `"operator"`).
		is("items/0/channel", `"api"`).is("items/0/group_id", `"g1"`).is("items/0/address", `"127.0.0.1"`).is("items/1", "null")
	for _, bad := range []string{"%", "%zz", "%00", "%ff", "two%0Alines", "%E2%80%AE", strings.Repeat("x", 501)} {
		b.call("PUT", "/v1/groups/g1/policy", slow, `If-Match: "1"`, "Pacekeeper-Reason: "+bad).want(400)
	}
}
