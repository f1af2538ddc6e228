package api_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper"
	"github.com/pacekeeper/pacekeeper/api"
	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/store"
)

const bootstrap = "operator-token-of-the-tests-0123456789"

// bed is a face on stores of its own.
type bed struct {
	t      *testing.T
	server *httptest.Server
	store  *store.Store
	redis  redis.UniversalClient
	log    *safeBuffer
	tokens map[string]string // by role
}

// safeBuffer is a log that tests read while it is written.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// newBed starts a face on Postgres and the embedded Redis, with an operator's token.
func newBed(t *testing.T, edits ...func(*api.Config)) *bed {
	t.Helper()
	return newBedOn(t, pgtest.Postgres(t), redistest.Embedded(t), edits...)
}

func newBedOn(t *testing.T, database string, rdb redis.UniversalClient, edits ...func(*api.Config)) *bed {
	t.Helper()
	b := &bed{t: t, redis: rdb, log: &safeBuffer{}, tokens: map[string]string{"operator": bootstrap}}
	b.store = pgtest.Open(t, database)
	if _, _, err := b.store.BootstrapOperator(t.Context(), bootstrap); err != nil {
		t.Fatal(err)
	}
	cfg := api.Config{
		Store:  b.store,
		Check:  enforce.New(enforce.Config{Redis: rdb, Timeout: 5 * time.Second}), // a busy machine is no Redis away
		Keys:   enforce.NewKeys(""),
		Holds:  enforce.NewPublisher(rdb, enforce.NewKeys("")),
		Logger: slog.New(slog.NewTextHandler(b.log, nil)),
		Now:    time.Now,
		NewID:  func() string { return uuid.NewString() },
	}
	for _, edit := range edits {
		edit(&cfg)
	}
	face, err := api.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b.server = httptest.NewServer(face)
	t.Cleanup(b.server.Close)
	return b
}

// token makes a token of the role and remembers it.
func (b *bed) token(role string, groups ...string) string {
	b.t.Helper()
	_, secret, err := b.store.CreateToken(b.t.Context(), store.Actor{Name: "tests", Role: "operator", Channel: "api"},
		store.TokenInput{Name: "the " + role, Role: role, Groups: groups})
	if err != nil {
		b.t.Fatal(err)
	}
	b.tokens[role] = secret
	return secret
}

// answer is a response, read.
type answer struct {
	t      *testing.T
	to     *http.Request
	status int
	header http.Header
	body   []byte
}

// call asks as the operator. headers are "Name: value". The answer is held against openapi.yaml.
func (b *bed) call(method, path, body string, headers ...string) answer {
	b.t.Helper()
	return b.callAs(bootstrap, method, path, body, headers...)
}

func (b *bed) callAs(token, method, path, body string, headers ...string) answer {
	b.t.Helper()
	a := b.send(token, method, path, body, headers...)
	a.checkContract()
	return a
}

// send asks without a look at openapi.yaml, for paths that it does not hold.
func (b *bed) send(token, method, path, body string, headers ...string) answer {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.server.URL+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
		if method == http.MethodPatch {
			req.Header.Set("Content-Type", "application/merge-patch+json")
		}
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header[http.CanonicalHeaderKey(name)] = append(req.Header[http.CanonicalHeaderKey(name)], value)
	}
	return b.exchange(req)
}

// exchange sends a request and reads the answer.
func (b *bed) exchange(req *http.Request) answer {
	b.t.Helper()
	resp, err := b.server.Client().Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if resp.Header.Get("Content-Encoding") == "gzip" { // asked for by hand: the client does not unpack
		unpacked, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			b.t.Fatal(err)
		}
		if data, err = io.ReadAll(unpacked); err != nil {
			b.t.Fatal(err)
		}
	}
	return answer{t: b.t, to: req, status: resp.StatusCode, header: resp.Header, body: data}
}

// contract is openapi.yaml as the validator reads it.
var contract = sync.OnceValues(func() (validator.Validator, error) {
	doc, err := libopenapi.NewDocument(pacekeeper.OpenAPI)
	if err != nil {
		return nil, err
	}
	v, errs := validator.NewValidator(doc)
	if len(errs) > 0 {
		return nil, errs[0]
	}
	return v, nil
})

// contractLock: the validator builds its schemas lazily.
var contractLock sync.Mutex

func (a answer) checkContract() {
	t, req := a.t, a.to
	t.Helper()
	v, err := contract()
	if err != nil {
		t.Fatal(err)
	}
	contractLock.Lock()
	defer contractLock.Unlock()
	seen := &http.Response{StatusCode: a.status, Header: a.header.Clone(), Body: io.NopCloser(bytes.NewReader(a.body))}
	seen.Header.Del("Content-Encoding") // unpacked already
	if ok, faults := v.ValidateHttpResponse(req, seen); !ok {
		for _, f := range faults {
			t.Errorf("%s %s → %d breaks openapi.yaml: %s: %s %v\n%s", req.Method, req.URL, a.status, f.Message, f.Reason, f.SchemaValidationErrors, a.body)
		}
	}
	if got := a.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("%s %s: Cache-Control %q", req.Method, req.URL, got)
	}
	if a.status >= 400 && a.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s %s → %d is %q, not a problem", req.Method, req.URL, a.status, a.header.Get("Content-Type"))
	}
}

// want ends the test unless the status is as given.
func (a answer) want(status int) answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// at walks into the JSON of the body: "effective/actions/message/min_interval_ms".
func (a answer) at(path string) any {
	a.t.Helper()
	var value any
	decoder := json.NewDecoder(bytes.NewReader(a.body))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		a.t.Fatalf("no JSON: %v: %s", err, a.body)
	}
	for step := range strings.SplitSeq(path, "/") {
		switch node := value.(type) {
		case map[string]any:
			value = node[step]
		case []any:
			var i int
			if err := json.Unmarshal([]byte(step), &i); err != nil || i >= len(node) {
				return nil
			}
			value = node[i]
		default:
			return nil
		}
	}
	return value
}

// is asserts the value at a path by its JSON.
func (a answer) is(path, want string) answer {
	a.t.Helper()
	got, err := json.Marshal(a.at(path))
	if err != nil {
		a.t.Fatal(err)
	}
	if string(got) != want {
		a.t.Errorf("%s is %s, want %s in %s", path, got, want, a.body)
	}
	return a
}

// etag is the answer's tag.
func (a answer) etag() string { return a.header.Get("ETag") }

// group registers a group.
func (b *bed) group(id string) {
	b.t.Helper()
	if _, _, err := b.store.PutGroup(b.t.Context(), store.Actor{Name: "tests", Role: "operator", Channel: "api"},
		store.Anything(), id, "Group "+id, "en"); err != nil {
		b.t.Fatal(err)
	}
}

// auditCount counts entries.
func (b *bed) auditCount() int {
	b.t.Helper()
	page, err := b.store.ListAudit(context.WithoutCancel(b.t.Context()), store.AuditQuery{Limit: 500})
	if err != nil {
		b.t.Fatal(err)
	}
	return len(page.Items)
}
