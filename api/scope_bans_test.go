package api_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

const thenBanned = `{"window":{"algorithm":"sliding_window","limit":1,"period_ms":60000},"ban":{"for_ms":3600000}}`

// TestScopeBans has a user, two users and an address banned by the system, lists the bans and lifts each once.
func TestScopeBans(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		t.Helper()
		b := newBedOn(t, pgtest.Postgres(t), rdb)
		b.group("g1")
		gateway, auditor := b.token("gateway"), b.token("auditor")
		b.call("PUT", "/v1/system/defaults", `{"scopes":{"user":{"like":`+thenBanned+`},"peer":{"sms":`+thenBanned+`},"ip":{"upload":`+thenBanned+`}}}`,
			"If-Match: *").want(200)
		for scope, action := range map[policy.Scope]string{policy.ScopeUser: "like", policy.ScopePeer: "sms", policy.ScopeIP: "upload"} {
			b.publishScope(rdb, scope, action)
		}
		for place, x := range map[string]struct {
			action, subjects string
			query, subject   string
		}{
			"user": {"like", `{"user":"mei"}`, "user=mei", "mei"},
			"peer": {"sms", `{"user":"rafi","peer":"ann/1"}`, "user=rafi&peer=ann/1", "ann/1|rafi"},
			"ip":   {"upload", `{"ip":"2001:db8::1"}`, "ip=2001:db8::2", "2001:db8::/64"},
		} {
			check := func() answer {
				return b.callAs(gateway, "POST", "/v1/check", `{"action":"`+x.action+`","subjects":`+x.subjects+`}`).want(200)
			}
			list := func() answer { return b.call("GET", "/v1/system/bans?"+x.query, "").want(200) }
			check().is("allowed", "true")
			list().is("items", "[]")
			check().is("allowed", "false")
			check().is("code", "13")
			list().is("items/0/scope", `"`+place+`"`).is("items/0/action", `"`+x.action+`"`).is("items/0/subject", `"`+x.subject+`"`)
			path := "/v1/system/bans/" + place + "/" + x.action + "/" + url.PathEscape(x.subject)
			b.callAs(auditor, "DELETE", path, "").want(403)
			before := b.auditCount()
			b.call("DELETE", path, "", "Pacekeeper-Reason: asked").want(204)
			list().is("items", "[]")
			check().is("code", "11")
			if t.Failed() {
				t.Fatalf("of a ban of %s", place)
			}
			b.lastLift(before+1, x.action+"/"+x.subject, `"scope":"`+place+`"`)
		}
	})
}

// lastLift holds the newest entry of a log with so many.
func (b *bed) lastLift(entries int, target, before string) {
	b.t.Helper()
	page, err := b.store.ListAudit(b.t.Context(), store.AuditQuery{Limit: 1})
	if err != nil {
		b.t.Fatal(err)
	}
	if e := page.Items[0]; b.auditCount() != entries || e.Action != "ban.lift" || e.Target != target || !strings.Contains(e.Before, before) || e.Reason != "asked" {
		b.t.Errorf("%d entries, want %d; the last is %+v", b.auditCount(), entries, e)
	}
}

func TestScopeBans_Faults(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, query := range []string{"", "?peer=a", "?ip=here", "?user=a%7Cb", "?user=a&peer=%7B"} {
		b.call("GET", "/v1/system/bans"+query, "").want(400)
	}
	for _, path := range []string{"user/like/nobody", "group/like/a", "user/NOPE/a", "ip/like/192.0.2.1", "peer/like/a%7Cb"} {
		b.call("DELETE", "/v1/system/bans/"+path, "").want(404)
	}
}

// TestScopeBans_RedisGone: nothing is lifted, nothing written.
func TestScopeBans_RedisGone(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := server.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	b := newBedOn(t, pgtest.Postgres(t), rdb)
	server.Stop()
	entries := b.auditCount()
	b.call("GET", "/v1/system/bans?user=mei", "").want(503)
	b.call("DELETE", "/v1/system/bans/user/like/mei", "").want(503)
	if got := b.auditCount(); got != entries {
		t.Errorf("%d entries", got-entries)
	}
}
