package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// file plans or applies a file of YAML as the operator; the answer is held against openapi.yaml.
func (b *bed) file(path, text string, headers ...string) answer {
	b.t.Helper()
	return b.typed("application/yaml", path, text, headers...)
}

func (b *bed) typed(media, path, text string, headers ...string) answer {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.server.URL+"/v1/policies/"+path, strings.NewReader(text))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+bootstrap)
	r.Header.Set("Content-Type", media)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	a := b.exchange(r)
	a.checkContract()
	return a
}

// apply plans and applies a file.
func (b *bed) apply(text, query string, headers ...string) answer {
	b.t.Helper()
	plan := b.file("plan?"+query, text).want(200)
	token, _ := plan.at("plan_token").(string)
	return b.file("apply?plan_token="+token+"&"+query, text, headers...).want(200)
}

const teaFile = `defaults:
  time_zone: Asia/Shanghai
groups:
  tea:
    name: Tea house
    policy:
      actions:
        message: {min_interval_ms: 500}
    exemptions:
      mei: {note: host}
`

func TestPlanAndApply(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	plan := b.file("plan", teaFile).want(200)
	plan.is("counts", `{"create":3,"remove":0,"unchanged":0,"update":1}`)
	plan.is("changes/0/kind", `"defaults"`).is("changes/0/group_id", `null`)
	plan.is("changes/2", `{"clamped":[{"bound":"min","effective":1000,"limit":1000,"path":"/actions/message/min_interval_ms","requested":500}],`+
		`"diff":[{"after":500,"path":"/actions/message/min_interval_ms"}],"group_id":"tea","kind":"policy","loosens":true,"op":"create","target":null,"tightens":false}`)
	if n := b.auditCount(); n != 1 {
		t.Errorf("a plan wrote %d entries", n-1)
	}
	b.file("apply", teaFile).want(428).is("code", `"precondition_required"`)
	b.apply(teaFile, "", "Pacekeeper-Reason: commit%20abc123").is("counts/create", `3`).is("pending", `1`)
	b.apply(teaFile, "").is("changes", `[]`).is("counts", `{"create":0,"remove":0,"unchanged":4,"update":0}`)
	entries := b.call("GET", "/v1/audit-events?channel=apply", "").want(200)
	entries.is("items/3/action", `"defaults.update"`).is("items/0/reason", `"commit abc123"`).is("items/4", `null`)
	b.file("apply?plan_token="+plan.at("plan_token").(string), teaFile).want(412).is("code", `"stale"`)
	b.file("apply?plan_token="+plan.at("plan_token").(string), teaFile+"\n# the same\n").want(412)
	b.file("apply?plan_token="+plan.at("plan_token").(string), strings.Replace(teaFile, "500", "600", 1)).want(422)
	b.file("plan", teaFile, "Prefer: handling=strict").want(422).is("errors/0/pointer", `"/groups/tea/policy/actions/message/min_interval_ms"`)
	b.file("plan", "groups: {nobody: {policy: {}}}").want(409).is("errors/0/code", `"not_registered"`)
	b.file("plan?prune=exemptions", teaFile).want(400)
	b.file("plan?scope=all", teaFile).want(400)
	b.file("plan?prune=exemptions&scope=everything", teaFile).want(400)
	b.apply("groups: {tea: {}}", "prune=exemptions&prune=policies&scope=group:tea").is("counts", `{"create":0,"remove":2,"unchanged":0,"update":0}`)
}

// An apply that is sent again with its key is answered as it was, though its token is stale by then.
func TestApplyOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	token, _ := b.file("plan", teaFile).want(200).at("plan_token").(string)
	first := b.file("apply?plan_token="+token, teaFile, "Idempotency-Key: k1").want(200)
	again := b.file("apply?plan_token="+token, teaFile, "Idempotency-Key: k1").want(200)
	if string(first.body) != string(again.body) {
		t.Errorf("%s, then %s", first.body, again.body)
	}
	b.file("apply?plan_token=*", strings.Replace(teaFile, "500", "600", 1), "Idempotency-Key: k1").want(422).is("code", `"idempotency_key_reused"`)
}

// Export, apply, export: the same bytes, on the same server and on a fresh one, in both forms.
func TestExportApplyExport(t *testing.T) {
	t.Parallel()
	b, fresh := newBed(t), newBed(t)
	bounds, _, _ := strings.Cut(string(b.call("GET", "/v1/policies/export?kind=bounds", "").want(200).body), "  roles: []\n")
	b.apply(bounds+everything, "")
	b.call("PUT", "/v1/groups/gone", `{"name":"Gone","locale":"en"}`).want(201)
	b.call("DELETE", "/v1/groups/gone", "").want(200)
	for _, format := range []string{"yaml", "json"} {
		media := "application/" + format
		exported := string(b.call("GET", "/v1/policies/export?format="+format, "").want(200).body)
		for _, server := range []*bed{b, fresh} {
			token, _ := server.typed(media, "plan", exported).want(200).at("plan_token").(string)
			applied := server.typed(media, "apply?plan_token="+token, exported).want(200)
			if server == b {
				applied.is("changes", `[]`)
			}
			if got := string(server.call("GET", "/v1/policies/export?format="+format, "").want(200).body); got != exported {
				t.Errorf("exported\n%s\nthen\n%s", exported, got)
			}
		}
	}
	some := string(b.call("GET", "/v1/policies/export?group_id=a&kind=policies", "").want(200).body)
	if some != "groups:\n  a: {policy: {}}\n" {
		t.Errorf("exported %q", some)
	}
	b.call("GET", "/v1/policies/export?group_id=gone", "").want(404)
	b.call("GET", "/v1/policies/export?kind=mutes", "").want(400)
	b.call("GET", "/v1/policies/export?format=toml", "").want(400)
	if got := string(b.call("GET", "/v1/policies/export?group_id=a&group_id=z", "").want(200).body); strings.Contains(got, "bounds") || !strings.Contains(got, "  z:") {
		t.Errorf("exported %q", got)
	}
}

// everything is a file that uses all there is, with bounds put before it.
const everything = `  roles: [host]
defaults:
  time_zone: Asia/Shanghai
  actions:
    gift: {mode: soft}
    message: {min_interval_ms: 50}
  exempt_roles: [owner, host]
actions:
  gift: {speech: true}
groups:
  a: {name: A}
  "9007199254740993": {name: "no", locale: zh-CN, policy: {time_zone: Europe/Berlin}}
  "!a/b🐈:example.org":
    name: "not: a #comment '\\"
    policy:
      actions:
        gift: {enabled: true, mode: hard, min_interval_ms: 1000000000, window: null, ban: {for_ms: 1}, on_failure: refuse}
        message:
          window: {algorithm: sliding_window, limit: 3, period_ms: 5000, count_refused: true}
          ban: null
      exempt_roles: []
      penalties:
        ladder: [{after: 2, do: mute, for_ms: 1000}, {after: 9, do: review}, {after: 10, do: remove}]
        forgive_one_every_ms: 60000
      notices:
        en: {too_soon: "Slow: {wait}", too_many: "{limit} in {period}"}
        zh: {too_soon: "请稍等 {wait}"}
  z:
    name: Z
    policy: {penalties: {ladder: []}}
    exemptions:
      "007": {note: "-", expires_at: "2020-01-01T00:00:00.123456+08:00"}
      "no": {}
      mei: {expires_at: null}
`

func TestSchemaIsPublic(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	got := b.send("", "GET", "/schema/policy-config.json", "").want(200)
	got.is("title", `"Pacekeeper: policy as config"`)
}
