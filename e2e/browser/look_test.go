package browser_test

import (
	_ "embed"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

var shots = flag.String("shots", "", "folder for screenshots of every page and state; empty = none are made")

//go:embed testdata/axe/axe.min.js
var axe string

// shot keeps a picture of the whole page, where pictures are asked for.
func (w *window) shot(name string) {
	w.t.Helper()
	if *shots == "" {
		return
	}
	picture, err := chromedp.Run(w.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(*shots, name+".png"), picture, 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// looked at: with every fold open, the page is held against axe's rules, in both schemes, and must not scroll sideways.
func (w *window) look(name string) {
	w.t.Helper()
	w.shot(name)
	w.eval("document.querySelectorAll('details').forEach(d=>d.open=true)||1")
	if _, err := chromedp.Run(w.ctx, chromedp.Evaluate[int](axe+";1")); err != nil {
		w.t.Fatalf("axe: %.200s", err.Error())
	}
	for _, scheme := range []string{"light", "dark"} {
		w.scheme(scheme)
		found, err := chromedp.Run(w.ctx, chromedp.Evaluate[string](`axe.run(document,{resultTypes:['violations']}).then(r=>JSON.stringify(`+
			`r.violations.map(v=>({rule:v.id,help:v.help,nodes:v.nodes.slice(0,3).map(n=>n.html.slice(0,160)+' '+n.failureSummary.slice(0,200))}))))`,
			chromedp.EvalAwaitPromise))
		if err != nil {
			w.t.Fatal(err)
		}
		var violations []any
		if err := json.Unmarshal([]byte(found), &violations); err != nil {
			w.t.Fatal(err)
		}
		if len(violations) > 0 {
			w.t.Errorf("%s, %s: %s", name, scheme, found)
		}
	}
	if w.eval("document.scrollingElement.scrollWidth>innerWidth") == "true" {
		w.t.Errorf("%s scrolls sideways", name)
	}
	w.sane()
}

// speak chooses the language of the window.
func (w *window) speak(lang string) {
	w.t.Helper()
	w.open("/sign-in")
	if w.eval("document.documentElement.lang.slice(0,2)") != lang {
		w.away("form[action='/language'] button")
	}
}

func TestEveryPageIsAccessible(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.group(`{"actions":{"message":{"min_interval_ms":500}},"notices":{"en":{"too_soon":"Slowly: {wait}"}}}`)
	s.call(http.MethodPut, "/v1/groups/tea/exemptions/mei", `{"note":"guest"}`, http.StatusCreated)
	s.call(http.MethodPut, "/v1/groups/tea/mutes/rafi", `{"for_ms":3600000,"reason":"asked to"}`, http.StatusOK)
	auditor := s.token("auditor", "")
	for _, lang := range []string{"en", "zh"} {
		for size, width := range map[string]int64{"phone": phone, "desktop": desktop} {
			name := func(page string) string { return page + "-" + lang + "-" + size }
			w := s.window(width)
			w.speak(lang)
			w.look(name("sign-in"))
			w.fill("token", "wrong")
			w.away("form[action='/sign-in'] button")
			w.look(name("sign-in-wrong"))
			w.signIn(operator, "/groups")
			w.look(name("groups"))
			w.open("/groups/nowhere")
			w.look(name("not-found"))
			w.open("/groups/tea?saved=1")
			w.look(name("settings"))
			w.fill("rung-1", "2")
			w.fill("message-count", "x")
			w.fill("message-period", "900")
			w.away(".savebar .primary")
			w.look(name("settings-errors"))
			w.open("/groups/tea")
			w.fill("message-gap", "3")
			w.eval("document.querySelector('[name=version]').value='0'")
			w.away(".savebar .primary")
			w.look(name("settings-conflict"))
			w.click("#discard")
			w.wait("document.getElementById('leave').open")
			w.look(name("settings-leave"))
			w.open("/groups/tea/members")
			w.look(name("members"))
			w.open("/groups/tea/history")
			w.look(name("history"))
			w.open("/groups/tea/history/1/restore")
			w.look(name("restore"))
			w.open("/portal/0000")
			w.look(name("portal"))
			reader := s.window(width)
			reader.speak(lang)
			reader.signIn(auditor, "/groups/tea")
			reader.look(name("settings-readonly"))
		}
	}
}
