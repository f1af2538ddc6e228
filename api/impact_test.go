package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/api"
)

func TestPreviewBounds_CountsAndChangesNothing(t *testing.T) {
	t.Parallel()
	published := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	b := newBed(t, func(c *api.Config) {
		c.SyncStatus = func() api.SyncStatus {
			return api.SyncStatus{Fleet: api.SyncFleet{EndedAt: &published, GroupsPerSecond: 2000}}
		}
	})
	for group, body := range map[string]string{
		"asks": `{"actions":{"message":{"min_interval_ms":500,"ban":null}}}`, "none": `{"actions":{"message":{"window":null}}}`,
	} {
		b.group(group)
		b.call("PUT", "/v1/groups/"+group+"/policy", body, "If-Match: *").want(http.StatusOK)
	}
	b.group("follows")
	entries, bounds := b.auditCount(), b.bounds()
	tight := changed(t, bounds, `"message":{"min_interval_ms":{"min":1000`, `"message":{"min_interval_ms":{"min":3000`)
	strict := changed(t, tight, `"may_disable":["interval","window","soft"],"edited_by":"group"},"sms"`, `"may_disable":[],"edited_by":"group"},"sms"`)
	a := b.call("POST", "/v1/system/bounds/preview", strict).want(http.StatusOK).is("version", "0").is("complete", "true").is("of", "3").
		is("groups", "3").is("without_document", "1").is("changed", "3").is("loosened", "0").is("tightened", "3").is("newly_clamped", "1").
		is("released", "0")
	a.is("settings/0/path", `"/actions/message/min_interval_ms"`).is("settings/0/before/min", "1000").is("settings/0/after/min", "3000").
		is("settings/0/buckets", `[{"count":1,"from":500,"to":599}]`).is("settings/0/held_after", "1")
	a.is("samples/0/group_id", `"asks"`).is("samples/0/changes/0", `{"bound":"min","effective_after":3000,"effective_before":1000,`+
		`"limit":3000,"path":"/actions/message/min_interval_ms","requested":500}`)
	a.is("samples/1/group_id", `"follows"`).
		is("samples/1/changes/0", `{"effective_after":3000,"effective_before":2000,"path":"/actions/message/min_interval_ms"}`)
	a.is("samples/2/changes/1/path", `"/actions/message/window"`).is("samples/2/changes/1/requested", "null").
		is("samples/2/changes/1/bound", `"forbidden"`).is("samples/2/changes/1/effective_after/limit", "8")
	a.is("publishing", `{"groups_per_second":2000,"measured_at":"2026-11-30T12:00:00Z","seconds":0.0015}`)
	b.call("POST", "/v1/system/bounds/preview?samples=1&seconds=300", tight).want(http.StatusOK).is("samples/1", "null").is("changed", "3")
	if b.auditCount() != entries || b.bounds() != bounds {
		t.Error("a preview changed something")
	}
}

func TestPreview_ForAuditorsAndItsParameters(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.token("auditor")
	bounds := b.bounds()
	b.callAs(b.tokens["auditor"], "POST", "/v1/system/bounds/preview", bounds).want(http.StatusOK).is("changed", "0").is("settings", "[]")
	for query, status := range map[string]int{
		"samples=0": 200, "samples=100": 200, "samples=101": 422, "samples=-1": 422, "samples=x": 400, "seconds=300": 200, "seconds=0": 422,
		"seconds=301": 422, "limit=1": 400,
	} {
		b.call("POST", "/v1/system/bounds/preview?"+query, bounds).want(status)
	}
}

// bounds are the bounds in force as a PUT takes them.
func (b *bed) bounds() string {
	b.t.Helper()
	return withoutVersion(string(b.call("GET", "/v1/system/bounds", "").want(http.StatusOK).body))
}

// changed replaces a part of a text that must be there.
func changed(t *testing.T, text, part, by string) string {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Fatalf("%s does not contain %s", text, part)
	}
	return strings.Replace(text, part, by, 1)
}

// TestPreview_RefusesWhatPutRefuses: the same status and the same faults as saving.
func TestPreview_RefusesWhatPutRefuses(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	bounds := b.bounds()
	for _, c := range []struct{ path, body, prefer string }{
		{"bounds", `{`, ""},
		{"bounds", `{}`, ""},
		{"bounds", changed(t, bounds, `"message":{`, `"poll":{`), ""},
		{"bounds", changed(t, bounds, `"min":1000`, `"min":0`), ""},
		{"defaults", `{"actions":{"poll":{}}}`, ""},
		{"defaults", `{"version":1}`, ""},
		{"defaults", `{"actions":{"message":{"min_interval_ms":1.5}}}`, ""},
		{"defaults", `{"actions":{"message":{"min_interval_ms":99000}}}`, "handling=strict"},
	} {
		saved := b.call("PUT", "/v1/system/"+c.path, c.body, "If-Match: *", "Prefer: "+c.prefer)
		previewed := b.call("POST", "/v1/system/"+c.path+"/preview", c.body, "Prefer: "+c.prefer).want(saved.status)
		if saved.status < 400 || string(withoutID(saved.body)) != string(withoutID(previewed.body)) {
			t.Errorf("%s %s: %d\nsaving     %s\npreviewing %s", c.path, c.body, saved.status, saved.body, previewed.body)
		}
	}
}

func TestPreviewDefaults_CountsWhoFollows(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("follows")
	b.group("pinned")
	b.call("PUT", "/v1/groups/pinned/policy", `{"actions":{"message":{"min_interval_ms":5000}}}`, "If-Match: *").want(http.StatusOK)
	b.call("POST", "/v1/system/defaults/preview", `{"actions":{"message":{"min_interval_ms":99000}}}`).want(http.StatusOK).
		is("changed", "1").is("tightened", "1").is("samples/0/group_id", `"follows"`).is("samples/0/changes/0/effective_after", "10000").
		is("defaults_clamped/0/bound", `"max"`).is("publishing", "null")
	b.call("GET", "/v1/system/defaults", "").want(http.StatusOK).is("version", "0")
}
