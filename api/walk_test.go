package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// walkStep is one call of a mutating operation: made twice, it must write as many audit entries as said, of the action.
type walkStep struct {
	op, path, body string
	action         string // of its entries; "" = it changes nothing
	first, second  int    // entries of each call
	header         string
}

// walkSteps are all operations that are no GET, in an order in which each has something to do. {token} is the id of a
// token, {until} a moment in the future.
func walkSteps() []walkStep {
	const force, group = "If-Match: *", "/v1/groups/g1"
	return []walkStep{
		{"PutGroup", group, `{"name":"Tea","locale":"en"}`, "group.create", 1, 0, ""},
		{"PutGroup", group, `{"name":"Tea house","locale":"en"}`, "group.update", 1, 0, ""},
		{"PutPolicy", group + "/policy", `{"actions":{"message":{"min_interval_ms":3000}}}`, "policy.update", 1, 0, force},
		{"PatchPolicy", group + "/policy", `{"actions":{"message":{"min_interval_ms":4000}}}`, "policy.update", 1, 0, force},
		{"RestoreVersion", group + "/policy/versions/1/restore", "", "policy.restore", 1, 0, force},
		{"DeletePolicy", group + "/policy", "", "policy.delete", 1, 0, force},
		{"PutExemption", group + "/exemptions/u1", `{"note":"host"}`, "exemption.add", 1, 0, ""},
		{"PutExemption", group + "/exemptions/u1", `{"note":"guest"}`, "exemption.update", 1, 0, ""},
		{"ImportExemptions", group + "/exemptions/import", `{"items":[{"user_id":"u1","note":"guest"},{"user_id":"u2"},{"user_id":"u3"}]}`, "exemption.add", 2, 0, ""},
		{"DeleteExemption", group + "/exemptions/u1", "", "exemption.remove", 1, 0, ""},
		{"PutMute", group + "/mutes/u1", `{"until":"{until}"}`, "mute.put", 1, 0, ""},
		{"LiftMute", group + "/mutes/u1", "", "mute.lift", 1, 0, ""},
		{"LiftBan", group + "/bans/message/u1", "", "ban.lift", 1, 0, ""},
		{"LiftScopeBan", "/v1/system/bans/user/like/u7", "", "ban.lift", 1, 0, ""},
		{"Check", group + "/check", `{"user_id":"u9","action":"message"}`, "", 0, 0, ""},
		{"CheckAll", "/v1/check", `{"action":"message","subjects":{"group":"g1","user":"u9","peer":"u8","ip":"192.0.2.1"}}`, "", 0, 0, ""},
		{"PreviewPolicy", group + "/policy/preview", `{"policy":{},"traffic":"calm"}`, "", 0, 0, ""},
		{"PreviewBounds", "/v1/system/bounds/preview", "{bounds}", "", 0, 0, ""},
		{"PutBounds", "/v1/system/bounds", "{bounds}", "bounds.update", 1, 0, force},
		{"PreviewDefaults", "/v1/system/defaults/preview", "{defaults}", "", 0, 0, ""},
		{"PutDefaults", "/v1/system/defaults", "{defaults}", "defaults.update", 1, 0, force},
		{"PutAction", "/v1/system/actions/wave", `{"speech":true}`, "action.put", 1, 0, ""},
		{"PlanPolicies", "/v1/policies/plan", `{"groups":{"g1":{"exemptions":{"u8":{"note":"x"}}}}}`, "", 0, 0, ""},
		{"ApplyPolicies", "/v1/policies/apply?plan_token=*", `{"groups":{"g1":{"exemptions":{"u8":{"note":"x"}}}}}`, "exemption.add", 1, 0, ""},
		{"CreateToken", "/v1/tokens", `{"name":"x","role":"gateway"}`, "token.create", 1, 1, ""},
		{"RevokeToken", "/v1/tokens/{token}", "", "token.revoke", 1, 0, ""},
		{"CreatePortalSession", "/v1/portal-sessions", `{"user_id":"u1","name":"Mei","groups":["g1"],"locale":"en"}`, "portal.create", 1, 1, ""},
		{"RevokePortalSession", "/v1/portal-sessions/{portal}", "", "portal.revoke", 1, 0, ""},
		{"ArchiveGroup", group, "", "group.archive", 1, 0, ""},
		{"PutGroup", group, `{"name":"Tea house","locale":"en"}`, "group.unarchive", 1, 0, ""},
	}
}

// walkWorld fills in what only the running face knows.
func (b *bed) walkWorld() *strings.Replacer {
	b.t.Helper()
	tok, _, err := b.store.CreateToken(b.t.Context(), store.Actor{Name: "tests", Role: "operator", Channel: "api"},
		store.TokenInput{Name: "y", Role: store.RoleGateway})
	if err != nil {
		b.t.Fatal(err)
	}
	portal, _, err := b.store.CreatePortalSession(b.t.Context(), store.Actor{Name: "tests", Role: "operator", Channel: "api"},
		store.PortalInput{UserID: "u1", Groups: []string{"g1"}})
	if err != nil {
		b.t.Fatal(err)
	}
	bounds := withoutVersion(string(b.call("GET", "/v1/system/bounds", "").want(200).body))
	return strings.NewReplacer(
		"{token}", tok.ID, "{portal}", portal.ID, "{until}", time.Now().Add(time.Hour).UTC().Format(time.RFC3339), "{defaults}", `{"time_zone":"Asia/Shanghai"}`,
		"{bounds}", strings.Replace(bounds, `"exemptions_max":10000`, `"exemptions_max":9000`, 1),
	)
}

// TestAudit_EveryOperationWritesWhatItChanged walks every operation of openapi.yaml that is no GET, each call twice, and
// holds what the database holds against the entries: who changes something writes an entry for it, who does not, none.
func TestAudit_EveryOperationWritesWhatItChanged(t *testing.T) {
	t.Parallel()
	database := pgtest.SQLite(t)
	b, decided := newBedOn(t, database, redistest.Embedded(t)), pgtest.Decisions(t, database)
	fill := b.walkWorld()
	methods := map[string]string{}
	for _, op := range operations(t) {
		if op.method != http.MethodGet && !slices.Contains(op.Tags, "service") {
			methods[op.ID] = op.method
		}
	}
	walked := map[string]bool{}
	for _, step := range walkSteps() {
		walked[step.op] = true
		if step.op == "LiftBan" {
			b.ban("g1", "u1")
			b.scopeBan("like", "u7")
		}
		for n, want := range []int{step.first, step.second} {
			b.walkStep(decided, step, methods[step.op], fill, n+1, want)
		}
	}
	for op := range methods {
		if !walked[op] {
			t.Errorf("%s has no case in this walk: say what it writes", op)
		}
	}
	if v, err := b.store.VerifyAudit(t.Context(), ""); err != nil || !v.OK {
		t.Errorf("the log does not verify: %+v, %v", v, err)
	}
}

func (b *bed) walkStep(decided func() string, step walkStep, method string, fill *strings.Replacer, call, want int) {
	b.t.Helper()
	const bans = "/v1/system/bans?user=u7" // which Redis alone holds
	before, entries := decided()+string(b.call("GET", bans, "").body), b.auditCount()
	var headers []string
	if step.header != "" {
		headers = append(headers, step.header)
	}
	a := b.call(method, fill.Replace(step.path), fill.Replace(step.body), headers...)
	if a.status >= 300 && a.status != http.StatusNotFound {
		b.t.Fatalf("%s, call %d: %d %s", step.op, call, a.status, a.body)
	}
	wrote, changed := b.auditCount()-entries, decided()+string(b.call("GET", bans, "").body) != before
	if wrote != want || changed != (wrote > 0) {
		b.t.Errorf("%s, call %d: %d entries, want %d; changed: %v", step.op, call, wrote, want, changed)
	}
	if wrote == 0 {
		return
	}
	page, err := b.store.ListAudit(b.t.Context(), store.AuditQuery{Limit: wrote})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, e := range page.Items {
		if e.Action != step.action || e.Actor != "bootstrap" || e.RequestID != a.header.Get("X-Request-Id") {
			b.t.Errorf("%s, call %d: the entry says %+v", step.op, call, e)
		}
	}
}

// scopeBan bans a user from an action across all groups, as the script does.
func (b *bed) scopeBan(action, user string) {
	b.t.Helper()
	now := time.Now().UnixMilli()
	state := enforce.EncodeState(policy.ActionState{LastMS: now, BanStartMS: now, BanEndMS: now + 3_600_000})
	key := enforce.NewKeys("").ScopeState(action, policy.ScopeUser, user)
	if err := b.redis.Set(b.t.Context(), key, state, time.Hour).Err(); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bed) ban(group, user string) {
	b.t.Helper()
	now := time.Now().UnixMilli()
	err := b.store.ApplyEvents(b.t.Context(), []store.EventBatch{{Shard: 1, Cursor: "1-1", Events: []store.HoldEvent{{
		GroupID: group, Action: "message", UserID: user, BanStartMS: now, BanEndMS: now + 3_600_000,
	}}}})
	if err != nil {
		b.t.Fatal(err)
	}
}
