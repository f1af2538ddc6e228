package ui_test

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/pacekeeper/pacekeeper/policy"
)

// sentence is what only English has: three words in a row.
var sentence = regexp.MustCompile(`[A-Za-z][a-z’']*( [a-z’']+){2,}`)

// english are the English sentences that a page shows, but for the parts that say they are English.
func (p page) english() (found []string) {
	p.t.Helper()
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if attr(n, "lang") == "en" || n.Data == "textarea" {
			return
		}
		said := []string{attr(n, "aria-label"), attr(n, "placeholder"), attr(n, "data-done")}
		if n.Type == html.TextNode {
			said = append(said, n.Data)
		}
		for _, text := range said {
			found = append(found, sentence.FindAllString(text, -1)...)
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	walk(p.document())
	return found
}

// oddForms are forms that are refused, by the address that they are sent to: something is wrong with each field in turn.
func (v *visitor) oddForms() map[string][]url.Values {
	v.t.Helper()
	odd := map[string][]url.Values{}
	for _, path := range []string{"/groups/tea", "/ops/defaults", "/ops/bounds"} {
		page := v.get(path).want(http.StatusOK)
		values := []string{"none", "", "a\u202eb", "99999999999999999999", strings.Repeat("x", 600), "-1"}
		for i, name := range slices.Sorted(maps.Keys(page.fields())) {
			form := maps.Clone(page.fields())
			form.Set("reason", "x")
			form.Set(name, values[i%len(values)])
			odd[path] = append(odd[path], form)
		}
		odd[path] = append(odd[path], url.Values{}, url.Values{"version": {"0"}}, url.Values{"version": {"x"}}, url.Values{"version": {"77"}, "was": {"%zz"}})
	}
	token := func(name, role, groups, days, once string) url.Values {
		return url.Values{"name": {name}, "role": {role}, "groups": {groups}, "days": {days}, "once": {once}}
	}
	odd["/ops/tokens"] = []url.Values{
		{},
		token("x", "king", "", "30", ""),
		token("x", "gateway", "tea", "30", ""),
		token("x", "group_admin", "a{b", "1", ""),
		token("a\nb", "gateway", "", "30", ""),
		token("x", "gateway", "", "30", "pk_x"),
		token(strings.Repeat("x", 101), "group_admin", "", "30", ""),
	}
	odd["/groups/tea/members"] = []url.Values{
		{}, {"user": {"a b"}, "for": {"0"}, "reason": {"a\u202eb"}}, {"user": {"mei"}, "for": {"99"}, "for-u": {"d"}, "reason": {strings.Repeat("x", 501)}}, {"lift": {"mei"}},
	}
	odd["/groups/tea/exemptions"] = []url.Values{
		{}, {"version": {"0"}}, {"version": {"0"}, "nm": {"a b"}}, {"version": {"0"}, "nm": {"mei"}, "nm-until": {"2001-01-01"}}, {"version": {"0"}, "nm": {"mei"}, "nm-note": {"a\u202eb"}},
	}
	odd["/groups/tea/history/1/restore"] = []url.Values{{}, {"version": {"x"}}, {"version": {"1"}}}
	odd["/groups/tea/history/99/restore"] = []url.Values{{"version": {"1"}}}
	odd["/groups/nowhere"] = []url.Values{{}}
	odd["/ops/tokens/nowhere/revoke"] = []url.Values{{}}
	odd["/portal/nowhere"] = []url.Values{{}}
	odd["/sign-in"] = []url.Values{{"token": {"wrong"}}, {"token": {"\x01"}}}
	return odd
}

// What is refused of a form is said in the visitor's language.
func TestC66_RefusalsSpeakChinese(t *testing.T) {
	t.Parallel()
	f := newFixture(t, postgres(t))
	f.document(`{"actions":{"message":{"min_interval_ms":3000}}}`)
	f.document(`{}`)
	v := f.signedIn(f.operator)
	v.post("/language", url.Values{"lang": {"zh"}}).want(http.StatusSeeOther)
	refused := 0
	for path, forms := range v.oddForms() {
		for _, form := range forms {
			p := v.post(path, form)
			if p.status < 400 {
				continue
			}
			refused++
			if found := p.english(); len(found) > 0 {
				t.Errorf("POST %s %v: %d speaks English: %q", path, brief(form), p.status, slices.Compact(found))
			}
		}
	}
	if refused < 80 {
		t.Errorf("only %d forms were refused", refused)
	}
	for _, path := range []string{"/ops/audit?cursor=x", "/ops/audit?from=x", "/ops/audit/export?from=x", "/ops/tokens?cursor=x", "/groups/tea/members?after=x", "/groups?query=%00", "/nowhere"} {
		if p := v.get(path); p.status < 400 || len(p.english()) > 0 {
			t.Errorf("GET %s: %d %q", path, p.status, p.english())
		}
	}
}

// brief is what a form has that is odd.
func brief(form url.Values) url.Values {
	short := url.Values{}
	for name, all := range form {
		if name != "was" && slices.ContainsFunc(all, func(s string) bool {
			return !policy.IsLine(s) || len(s) > 15 || s == "" || s == "none" || s == "-1" || s == "1e99"
		}) {
			short[name] = all
		}
	}
	return short
}
