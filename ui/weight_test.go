package ui_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
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

// The budget of every other page, all files counted, and of the files as they stand in the repository.
const (
	maxOther  = 40 << 10
	maxStyle  = 15 << 10
	maxScript = 16 << 10
)

func TestTheOtherPagesAreLight(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]int64{"static/app.css": maxStyle, "static/app.js": maxScript} {
		if file, err := os.Stat(name); err != nil || file.Size() > most {
			t.Errorf("%s: more than %d bytes: %v, %v", name, most, file.Size(), err)
		}
	}
	f := newFixture(t, postgres(t))
	for i := range 60 {
		f.group(fmt.Sprintf("g%d", i), "Reading club")
	}
	v := f.signedIn(f.operator)
	for _, path := range []string{"/groups", "/groups/tea/members", "/groups/tea/history", "/ops", "/ops/bounds", "/ops/defaults", "/ops/audit", "/ops/tokens"} {
		if wire := v.firstVisit(path); wire > maxOther {
			t.Errorf("%s: %d bytes at the first visit, at most %d", path, wire, maxOther)
		}
	}
}

// firstVisit is how many bytes a page takes on the wire with all its files.
func (v *visitor) firstVisit(path string) int {
	v.t.Helper()
	all := len(v.get(path, "Accept-Encoding", "gzip").want(http.StatusOK).body)
	for _, m := range regexp.MustCompile(`(?:href|src)="(/static/[^"]+)"`).FindAllStringSubmatch(v.get(path).body, -1) {
		all += len(v.get(m[1], "Accept-Encoding", "gzip").want(http.StatusOK).body)
	}
	return all
}

// BenchmarkSettingsPage asks for the settings page as a browser does: session, database, templates, gzip and TLS are in it.
func BenchmarkSettingsPage(b *testing.B) {
	f := newFixture(b, postgres(b))
	f.document(everything)
	v := f.signedIn(f.operator)
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		v.get("/groups/tea", "Accept-Encoding", "gzip").want(http.StatusOK)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	at := func(percent int) float64 { return float64(took[len(took)*percent/100].Microseconds()) / 1000 }
	b.ReportMetric(at(50), "p50_ms")
	b.ReportMetric(at(99), "p99_ms")
}
