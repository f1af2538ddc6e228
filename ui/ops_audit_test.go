package ui_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

func TestTheAuditLogTellsChangesInWords(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.document(`{"actions":{"message":{"min_interval_ms":2000}}}`)
		v := f.signedIn(f.operator)
		v.post("/groups/tea", v.edited("/groups/tea", "message-gap", "4", "forgive", "20", "reason", "spam wave")).want(http.StatusSeeOther)
		p := v.get("/ops/audit").want(http.StatusOK).has("policy.update", "Messages, shortest gap: 2 s → 4 s, and 1 more", "token.create", "Name: “bootstrap”, and 2 more", "no group")
		seq := f.entries("policy.update", 2)[0].Seq
		href := fmt.Sprintf("/ops/audit/%d", seq)
		p.has(`href="` + href + `"`)
		v.get(href).want(http.StatusOK).has("4 s", "spam wave", "request", "bootstrap", `href="/groups/tea"`)
		v.get(href, "HX-Request", "true").want(http.StatusOK).has("4 s").hasNot("<html")
		v.get("/ops/audit/99999").want(http.StatusNotFound)
		v.get("/ops/audit/x").want(http.StatusNotFound)
		v.post("/language", url.Values{"lang": {"zh"}}).want(http.StatusSeeOther)
		v.get("/ops/audit").want(http.StatusOK).has("消息，最短间隔：2 秒 → 4 秒，另有 1 处")
	})
}

func TestTheAuditLogIsFiltered(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.group("coffee", "Coffee")
		f.document(`{"actions":{"message":{"min_interval_ms":2000}}}`)
		v := f.signedIn(f.operator)
		today := time.Now().UTC().Format(time.DateOnly)
		for query, want := range map[string]string{
			"action=policy.*":                                     "policy.update",
			"changed=/actions/message":                            "policy.update",
			"group=coffee":                                        "group.create",
			"actor=bootstrap&channel=ui":                          "session.create",
			"request=request":                                     "session.create",
			"role=operator&action=session.create":                 "session.create",
			"action=policy.update&from=" + today + "&to=" + today: "policy.update",
		} {
			v.get("/ops/audit?"+query).want(http.StatusOK).has("<code>"+want+"</code>", "Clear filters").hasNot("<code>token.create</code>")
		}
		v.get("/ops/audit?actor=nobody").want(http.StatusOK).has("No entries match")
		for _, bad := range []string{"role=king", "channel=x", "action=A%20B", "changed=x", "from=yesterday", "from=2026-02-02&to=2026-01-01"} {
			v.get("/ops/audit?"+bad).want(http.StatusUnprocessableEntity).has("There is a problem", "Problem: ")
		}
		v.get("/ops/audit?cursor=nonsense").want(http.StatusUnprocessableEntity)
	})
}

// What is written while somebody pages stands before what he has seen: nothing is shown twice, nothing is left out.
func TestPagesOfTheAuditLogAreStable(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		for i := range 60 {
			f.group(fmt.Sprintf("g%d", i), "x")
		}
		v := f.signedIn(f.operator)
		first := v.get("/ops/audit?action=group.create").want(http.StatusOK).has("Older").hasNot(">Newest<")
		f.group("late", "x")
		second := v.get(hrefOf(first, "Older")).want(http.StatusOK).has(">Newest<").hasNot("late")
		if got := strings.Count(first.body, "data-seq=") + strings.Count(second.body, "data-seq="); got != 61 { // tea and 60
			t.Errorf("%d entries on two pages, want 61", got)
		}
		for i := range 60 {
			if n := strings.Count(first.body+second.body, fmt.Sprintf("<span>g%d</span>", i)); n != 1 {
				t.Errorf("g%d stands %d times", i, n)
			}
		}
		v.get(hrefOf(second, "Newest")).want(http.StatusOK).has("late")
	})
}

func TestC63_TheExportOfThePageIsThatOfREST(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.group("x", `=HYPERLINK("http://evil")`)
		v := f.signedIn(f.operator)
		p := v.get("/ops/audit?action=group.create&group=x").want(http.StatusOK)
		sheet := v.get(hrefOf(p, "Export CSV")).want(http.StatusOK)
		rows, err := csv.NewReader(strings.NewReader(sheet.body)).ReadAll()
		if err != nil || len(rows) != 3 || rows[2][0] != "footer" {
			t.Fatalf("%d rows, %v: %s", len(rows), err, sheet.body)
		}
		lines := v.get(hrefOf(p, "Export JSONL")).want(http.StatusOK)
		if got := lines.header.Get("Content-Disposition"); got != `attachment; filename="audit.jsonl"` {
			t.Errorf("Content-Disposition %q", got)
		}
		var entry struct{ Target string }
		if err := json.Unmarshal([]byte(strings.SplitN(lines.body, "\n", 2)[0]), &entry); err != nil || entry.Target != "x" {
			t.Errorf("%+v, %v", entry, err)
		}
		v.get("/ops/audit/export?role=king").want(http.StatusUnprocessableEntity)
	})
}

func TestC62_TheChainBadgeNamesTheBadEntry(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		v.get("/ops/audit").want(http.StatusOK).has("Chain not verified yet", `hx-trigger="load"`)
		v.get("/ops/audit/chain").want(http.StatusSeeOther)
		v.get("/ops/audit").want(http.StatusOK).has("Chain verified, 3 entries, just now").hasNot(`hx-trigger="load"`)
		f.clock.Store(int64(25 * time.Minute))
		v.get("/ops/audit").want(http.StatusOK).has("25 min ago", `hx-trigger="load"`)
		f.sql("UPDATE audit_entries SET actor = 'somebody' WHERE seq = 2")
		v.get("/ops/audit/chain", "HX-Request", "true").want(http.StatusOK).has("Chain broken at entry 2", "altered").hasNot("<html")
	})
}

func TestWordsOfTheAuditLogAreText(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		const evil = `<img src=x onerror=alert(1)>{{.}}`
		if _, _, err := f.store.CreateToken(t.Context(), store.Actor{Name: evil, Role: "operator", Channel: "api", Reason: evil}, store.TokenInput{Name: evil, Role: store.RoleGateway}); err != nil {
			t.Fatal(err)
		}
		v := f.signedIn(f.operator)
		seq := f.entries("token.create", 2)[0].Seq
		for _, path := range []string{"/ops/audit", "/ops/tokens", fmt.Sprintf("/ops/audit/%d", seq), "/ops/audit?actor=%3Cimg+src%3Dx", "/ops?query=%3Cimg+src%3Dx"} {
			v.get(path).want(http.StatusOK).has("&lt;img").hasNot("<img src=x", " style=", "<style", "<script>", " onclick")
		}
	})
}

func TestTheAuditLogSaysWhatWasErased(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		v.post("/groups/tea/members", url.Values{"user": {"mei"}, "for": {"10"}, "for-u": {"m"}, "reason": {"spam"}}).want(http.StatusSeeOther)
		v.get("/ops/audit?action=mute.*").want(http.StatusOK).has("mei")
		if _, err := f.store.ErasePerson(t.Context(), system, "mei"); err != nil {
			t.Fatal(err)
		}
		v.get("/ops/audit?action=mute.*").want(http.StatusOK).has(`class="what">A person was erased from this entry`).hasNot("mei", "spam")
		seq := f.entries("mute.put", 1)[0].Seq
		v.get(fmt.Sprintf("/ops/audit/%d", seq)).want(http.StatusOK).has("A person was erased").hasNot("mei", "spam")
		v.get(fmt.Sprintf("/ops/audit/%d", seq)).has("<dt>Target</dt><dd>erased</dd>")
	})
}

func TestAnErasedActorHasAWordInsteadOfAName(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		edit := func(*policy.System, policy.Document) (policy.Document, error) { return policy.Document{}, nil }
		ann := store.Actor{Name: "ann", Role: store.RoleOperator, Channel: store.ChannelAPI}
		f.document(`{"actions":{"message":{"min_interval_ms":2500}}}`)
		if _, _, err := f.store.UpdatePolicy(f.t.Context(), ann, "tea", store.Anything(), edit); err != nil {
			t.Fatal(err)
		}
		if _, err := f.store.ErasePerson(f.t.Context(), system, "ann"); err != nil {
			t.Fatal(err)
		}
		seq := f.entries("policy.update", 2)[0].Seq
		v := f.signedIn(f.operator)
		for _, x := range []struct{ language, word, saved string }{{"en", "erased", "Saved by erased"}, {"zh-CN", "已清除", "已清除 保存"}} {
			in := func(path string) page { return v.get(path, "Accept-Language", x.language).want(http.StatusOK) }
			in("/ops/audit?action=policy.*").has("</time><span>" + x.word + "</span>")
			in(fmt.Sprintf("/ops/audit/%d", seq)).has("<dd>" + x.word + "</dd>")
			in("/groups/tea/history").has(x.saved)
		}
	})
}
