package browser_test

import (
	_ "embed"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

var (
	shots   = flag.String("shots", "", "folder for screenshots of every page and state; empty = none are made")
	gallery = flag.Bool("gallery", false, "make small screenshots, of a desktop in English and a phone in Chinese alone")
)

//go:embed testdata/axe/axe.min.js
var axe string

// shot keeps a picture of the whole page, where pictures are asked for.
func (w *window) shot(name string) {
	w.t.Helper()
	if *shots == "" || *gallery && !w.exhibited() {
		return
	}
	data, kind := w.picture(name)
	if err := os.WriteFile(filepath.Join(*shots, name+kind), data, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// exhibited says whether the gallery shows pages as this window does.
func (w *window) exhibited() bool {
	wide := w.eval("innerWidth>600") == "true"
	return wide == (w.eval("document.documentElement.lang") == "en")
}

// maxPicture is the most bytes of a picture of the gallery.
const maxPicture = 20 << 10

// picture is the whole page: as PNG, or for the gallery as WebP, as large as fits.
func (w *window) picture(name string) (data []byte, kind string) {
	w.t.Helper()
	if !*gallery {
		data, err := chromedp.Run(w.ctx, chromedp.FullScreenshot(100))
		if err != nil {
			w.t.Fatal(err)
		}
		return data, ".png"
	}
	var size struct{ Width, Height float64 }
	if err := json.Unmarshal([]byte(w.eval("JSON.stringify({Width:innerWidth,Height:document.scrollingElement.scrollHeight})")), &size); err != nil {
		w.t.Fatal(err)
	}
	beyond, quality := true, int64(50)
	for _, scale := range []float64{1, .8, .65, .5, .4, .3} {
		r, err := chromedp.Call(w.ctx, page.CaptureScreenshot, page.CaptureScreenshotParams{
			Format: page.CaptureScreenshotFormatWebp, Quality: &quality, CaptureBeyondViewport: &beyond,
			Clip: &page.Viewport{Width: size.Width, Height: size.Height, Scale: scale},
		})
		if err != nil {
			w.t.Fatal(err)
		}
		if len(r.Data) <= maxPicture {
			return r.Data, ".webp"
		}
	}
	w.t.Fatalf("the picture of %s has more than %d bytes", name, maxPicture)
	return nil, ""
}

// colours are the rules of axe that look at colours: the only ones that a dark page may break and a light one not.
const colours = `{runOnly:{type:'rule',values:['color-contrast','link-in-text-block']},resultTypes:['violations']}`

// look holds a page against axe's rules, in both schemes; it must not scroll sideways.
func (w *window) look(name string) {
	w.t.Helper()
	if _, err := chromedp.Run(w.ctx, chromedp.Evaluate[int](axe+";1")); err != nil {
		w.t.Fatalf("axe: %.200s", err.Error())
	}
	for scheme, options := range map[string]string{"light": "{resultTypes:['violations']}", "dark": colours} {
		w.scheme(scheme)
		found, err := chromedp.Run(w.ctx, chromedp.Evaluate[string](`axe.run(document,`+options+`).then(r=>JSON.stringify(`+
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
	w.scheme("light")
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

// TestEveryPageIsAccessible looks at every page and state, in both languages, at both widths, each in a tab of its own.
func TestEveryPageIsAccessible(t *testing.T) {
	t.Parallel()
	shared := serve(t)
	auditor := shared.exhibits()
	for _, lang := range []string{"en", "zh"} {
		for size, width := range widths() {
			t.Run(lang+"-"+size, func(t *testing.T) {
				t.Parallel()
				s := shared.in(t)
				for role, token := range map[string]string{"": "", "operator": operator, "auditor": auditor} {
					w := s.window(width)
					w.speak(lang)
					if token != "" {
						w.signIn(token, "/groups")
					}
					w.lookAt(states()[role], "-"+lang+"-"+size)
				}
			})
		}
	}
}

func TestPagesWithoutRedisAreAccessible(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.exhibits()
	s.redis.Stop()
	for size, lang := range map[string]string{"phone": "zh", "desktop": "en"} {
		w := s.window(widths()[size])
		w.speak(lang)
		w.signIn(operator, "/groups")
		w.lookAt(statesWithoutRedis(), "-"+lang+"-"+size)
	}
}

func widths() map[string]int64 { return map[string]int64{"phone": phone, "desktop": desktop} }

func (w *window) lookAt(states []state, suffix string) {
	w.t.Helper()
	for _, st := range states {
		w.open(st.path)
		if st.then != nil {
			st.then(w)
		}
		w.shot(st.name + suffix)
		if !st.folded {
			w.eval("document.querySelectorAll('details').forEach(d=>d.open=true)||1")
		}
		w.look(st.name + suffix)
	}
}
