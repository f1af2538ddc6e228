package ui_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// The budget of the settings page: bytes of HTML, and bytes on the wire at the first visit, all files counted.
const (
	maxHTML  = 30 << 10
	maxFirst = 45 << 10
)

func TestTheSettingsPageIsLight(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		p := v.get("/groups/tea").want(http.StatusOK)
		if len(p.body) > maxHTML {
			t.Errorf("%d bytes of HTML, at most %d", len(p.body), maxHTML)
		}
		zipped := v.get("/groups/tea", "Accept-Encoding", "gzip").want(http.StatusOK)
		first := len(zipped.body)
		for _, m := range regexp.MustCompile(`(?:href|src)="(/static/[^"]+)"`).FindAllStringSubmatch(p.body, -1) {
			file := v.get(m[1], "Accept-Encoding", "gzip").want(http.StatusOK)
			first += len(file.body)
			if cache := file.header.Get("Cache-Control"); !strings.Contains(cache, "immutable") {
				t.Errorf("%s: %s", m[1], cache)
			}
		}
		t.Logf("%d bytes of HTML, %d on the wire, %d with all files", len(p.body), len(zipped.body), first)
		if first > maxFirst {
			t.Errorf("%d bytes at the first visit, at most %d", first, maxFirst)
		}
		v.get("/static/app.css").want(http.StatusNotFound)
	})
}

func BenchmarkSettingsPage(b *testing.B) {
	f := newFixture(b, postgres(b))
	v := f.signedIn(f.operator)
	for b.Loop() {
		v.get("/groups/tea").want(http.StatusOK)
	}
}
