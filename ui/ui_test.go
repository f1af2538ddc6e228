package ui_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
	"github.com/pacekeeper/pacekeeper/ui"
)

// fixture is the pages on a database of the test's own, with one group and an operator token.
type fixture struct {
	t        testing.TB
	url      string // of the database
	store    *store.Store
	pages    *ui.UI
	server   *httptest.Server
	operator string
	clock    atomic.Int64 // added to the real time, ns
}

var system = store.Actor{Name: "test", Role: store.RoleOperator, Channel: store.ChannelSystem}

func each(t *testing.T, test func(f *fixture)) {
	t.Helper()
	pgtest.Each(t, func(t *testing.T, url string) {
		t.Helper()
		test(newFixture(t, url))
	})
}

func postgres(tb testing.TB) string {
	tb.Helper()
	return pgtest.Postgres(tb)
}

func newFixture(tb testing.TB, databaseURL string) *fixture {
	tb.Helper()
	return newFixtureWith(tb, databaseURL, func(*ui.Config) {})
}

func newFixtureWith(tb testing.TB, databaseURL string, edit func(*ui.Config)) *fixture {
	tb.Helper()
	f := &fixture{t: tb, url: databaseURL, store: pgtest.Open(tb, databaseURL)}
	cfg := ui.Config{
		Store: f.store, Sessions: f.store.Sessions(), Secure: true,
		Now:   func() time.Time { return time.Now().Add(time.Duration(f.clock.Load())) },
		NewID: func() string { return "request" }, Log: slog.New(slog.DiscardHandler),
	}
	edit(&cfg)
	var err error
	f.pages, err = ui.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	f.server = httptest.NewTLSServer(f.pages)
	tb.Cleanup(f.server.Close)
	if f.operator, _, err = f.store.BootstrapOperator(tb.Context(), ""); err != nil {
		tb.Fatal(err)
	}
	f.group("tea", "Tea house")
	return f
}

func (f *fixture) group(id, name string) {
	f.t.Helper()
	if _, _, err := f.store.PutGroup(f.t.Context(), system, store.Anything(), id, name, "en"); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) token(role string, groups ...string) (store.Token, string) {
	f.t.Helper()
	token, secret, err := f.store.CreateToken(f.t.Context(), system, store.TokenInput{Name: role + "-token", Role: role, Groups: groups})
	if err != nil {
		f.t.Fatal(err)
	}
	return token, secret
}

// document saves a document of the group tea as a colleague would, over REST.
func (f *fixture) document(text string) store.PolicyRecord {
	f.t.Helper()
	record, _, err := f.store.UpdatePolicy(f.t.Context(), system, "tea", store.Anything(),
		func(s *policy.System, _ policy.Document) (policy.Document, error) {
			return s.ParseDocument([]byte(text))
		})
	if err != nil {
		f.t.Fatal(err)
	}
	return record
}

func (f *fixture) requested(id string) string {
	f.t.Helper()
	record, err := f.store.Policy(f.t.Context(), id)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(record.Document.JSON())
}

// visitor is a browser with cookies of its own.
type visitor struct {
	*fixture
	client *http.Client
}

func (f *fixture) visitor() *visitor {
	f.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		f.t.Fatal(err)
	}
	client := *f.server.Client()
	client.Jar = jar
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &visitor{fixture: f, client: &client}
}

// signedIn is a visitor who signed in with the token.
func (f *fixture) signedIn(token string) *visitor {
	f.t.Helper()
	v := f.visitor()
	v.post("/sign-in", url.Values{"token": {token}}).want(http.StatusSeeOther)
	return v
}

// page is an answer.
type page struct {
	t      testing.TB
	status int
	header http.Header
	body   string
}

func (v *visitor) get(path string, headers ...string) page {
	v.t.Helper()
	return v.send(http.MethodGet, path, nil, headers...)
}

func (v *visitor) post(path string, form url.Values, headers ...string) page {
	v.t.Helper()
	return v.send(http.MethodPost, path, form, headers...)
}

func (v *visitor) send(method, path string, form url.Values, headers ...string) page {
	v.t.Helper()
	request, err := http.NewRequestWithContext(v.t.Context(), method, v.server.URL+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := v.client.Do(request)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return page{t: v.t, status: response.StatusCode, header: response.Header, body: string(body)}
}

// brief is the beginning of what the page says.
func (p page) brief() string {
	if said := []rune(p.text()); len(said) > 200 {
		return string(said[:200]) + "…"
	}
	return p.text()
}

// text is what the page says, without its markup.
func (p page) text() string { return strings.Join(strings.Fields(text(p.document())), " ") }

func (p page) want(status int) page {
	p.t.Helper()
	if p.status != status {
		p.t.Fatalf("status %d, want %d: %s", p.status, status, p.brief())
	}
	return p
}

func (p page) has(texts ...string) page {
	p.t.Helper()
	for _, text := range texts {
		if !strings.Contains(p.body, text) && !strings.Contains(p.text(), text) {
			p.t.Errorf("lacks %q: %s", text, p.brief())
		}
	}
	return p
}

func (p page) hasNot(texts ...string) page {
	p.t.Helper()
	for _, text := range texts {
		if strings.Contains(p.body, text) {
			p.t.Errorf("shows %q: %s", text, p.brief())
		}
	}
	return p
}
