package browser_test

import (
	"context"
	"encoding/json"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// window is a browser window with cookies of its own.
type window struct {
	*server
	ctx context.Context //nolint:containedctx // a window of chromedp is its context
}

// watch notes what the policy of content refused, and what scripts threw.
const watch = `window.__faults=[];
document.addEventListener('securitypolicyviolation',function(e){window.__faults.push(e.violatedDirective+' '+e.blockedURI)});
addEventListener('error',function(e){window.__faults.push(String(e.message))});
addEventListener('unhandledrejection',function(e){window.__faults.push(String(e.reason))});`

// The widths that pages are looked at: a phone and a desktop.
const (
	phone   = 390
	desktop = 1280
)

func (s *server) window(width int64) *window {
	s.t.Helper()
	ctx, cancel := chromedp.NewContext(chrome, chromedp.WithNewBrowserContext())
	s.t.Cleanup(cancel)
	ctx, stop := context.WithTimeout(ctx, 20*patience)
	s.t.Cleanup(stop)
	w := &window{server: s, ctx: ctx}
	w.do(chromedp.EmulateViewport(width, 900))
	w.leaveAnyway()
	if _, err := chromedp.Call(ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: watch}); err != nil {
		s.t.Fatal(err)
	}
	return w
}

// leaveAnyway answers the browser's own question whether to leave a page with unsaved changes.
func (w *window) leaveAnyway() {
	w.t.Helper()
	err := chromedp.Listen(w.ctx, func(event any) {
		if _, asks := event.(*page.EventJavascriptDialogOpening); asks {
			go func() {
				_, _ = chromedp.Call(w.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
			}()
		}
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *window) do(actions ...chromedp.Action[chromedp.Void]) {
	w.t.Helper()
	if err := chromedp.Do(w.ctx, actions...); err != nil {
		w.t.Fatal(err)
	}
}

// open goes to a path.
func (w *window) open(path string) {
	w.t.Helper()
	w.do(chromedp.Navigate(w.url + path))
}

// eval runs a script and returns what it gives as text.
func (w *window) eval(script string) string {
	w.t.Helper()
	text, err := chromedp.Run(w.ctx, chromedp.Evaluate[string]("String("+script+")"))
	if err != nil {
		w.t.Fatalf("%s: %v", script, err)
	}
	return text
}

// wait waits until a script gives true. Pages that are just being replaced give nothing.
func (w *window) wait(script string) {
	w.t.Helper()
	eventually(w.t, script+"\n"+w.path(), func() bool {
		yes, err := chromedp.Run(w.ctx, chromedp.Evaluate[bool]("!!("+script+")"))
		return err == nil && yes
	})
}

func (w *window) path() string {
	text, err := chromedp.Run(w.ctx, chromedp.Evaluate[string]("location.pathname+location.search"))
	if err != nil {
		return err.Error()
	}
	return text
}

func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(data)
}

// has waits until the page's text holds a text.
func (w *window) has(text string) {
	w.t.Helper()
	w.wait("document.body&&document.body.innerText.includes(" + quoted(text) + ")")
}

// fill types into a field as people do, over what is there.
func (w *window) fill(id, text string) {
	w.t.Helper()
	w.wait("document.getElementById(" + quoted(id) + ")")
	w.eval("(e=>{for(let d=e.closest('details');d;d=d.parentElement.closest('details'))d.open=true;e.focus();e.select&&e.select();return 1})(document.getElementById(" + quoted(id) + "))")
	w.do(chromedp.KeyEvent(text))
}

// click presses what a selector names.
func (w *window) click(selector string) {
	w.t.Helper()
	w.wait("document.querySelector(" + quoted(selector) + ")")
	w.do(chromedp.ScrollIntoView(chromedp.CSS(selector)), chromedp.Click(chromedp.CSS(selector)))
}

// away presses what leads to another page, and waits for it.
func (w *window) away(selector string) {
	w.t.Helper()
	w.eval("window.__here=1")
	w.click(selector)
	w.wait("!window.__here&&document.readyState==='complete'")
}

// signIn signs in with a token.
func (w *window) signIn(token, to string) {
	w.t.Helper()
	w.open("/sign-in?to=" + to)
	w.fill("token", token)
	w.away("form[action='/sign-in'] button")
}

// sane fails the test if scripts threw, or the policy of content refused anything.
func (w *window) sane() {
	w.t.Helper()
	if faults := w.eval("JSON.stringify(window.__faults)"); faults != "[]" {
		w.t.Errorf("%s: %s", w.path(), faults)
	}
}

// scheme makes the window light or dark.
func (w *window) scheme(name string) {
	w.t.Helper()
	_, err := chromedp.Call(w.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
}
