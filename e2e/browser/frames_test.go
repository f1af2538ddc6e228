package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/security"
	"github.com/chromedp/chromedp"
)

// A chat app shows the pages in a frame of its own page, over https as people reach both; nobody else may.
func TestOnlyAllowedOriginsShowThePagesInAFrame(t *testing.T) {
	t.Parallel()
	var target *url.URL
	front := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}})
	t.Cleanup(front.Close)
	chat := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<!doctype html><title>chat</title><iframe src="%s/sign-in" width="390" height="700"></iframe>`, front.URL)
	}))
	t.Cleanup(chat.Close)
	foreign := httptest.NewTLSServer(chat.Config.Handler)
	t.Cleanup(foreign.Close)
	s := serve(t, "PACEKEEPER_PUBLIC_URL="+front.URL, "PACEKEEPER_FRAME_ANCESTORS="+chat.URL)
	target, _ = url.Parse(s.url)
	w := s.window(phone)
	if _, err := chromedp.Call(w.ctx, security.SetIgnoreCertificateErrors, security.SetIgnoreCertificateErrorsParams{Ignore: true}); err != nil {
		t.Fatal(err)
	}
	for origin, shown := range map[string]bool{chat.URL: true, foreign.URL: false} {
		w.do(chromedp.Navigate(origin))
		if got := w.framed(); (got == front.URL+"/sign-in") != shown {
			t.Errorf("in a frame of %s, the allowed one being %s, stands %q", origin, chat.URL, got)
		}
	}
}

// framed is the address of what the page's frame shows.
func (w *window) framed() string {
	w.t.Helper()
	tree, err := chromedp.Call(w.ctx, page.GetFrameTree, cdp.Empty{})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(tree.FrameTree.ChildFrames) != 1 {
		w.t.Fatalf("%d frames", len(tree.FrameTree.ChildFrames))
	}
	return tree.FrameTree.ChildFrames[0].Frame.URL
}
