package browser_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
)

// operator is the bootstrap token of every server here.
const operator = "operator-token-of-the-browser-tests-0123456789abc"

// server is one running server on stores of its own.
type server struct {
	t     *testing.T
	url   string
	redis *redistest.Server
}

// serve starts a server, with settings beside the usual ones as NAME=value, and waits until it is ready.
func serve(t *testing.T, settings ...string) *server {
	t.Helper()
	s := &server{t: t, url: "http://127.0.0.1:" + strconv.Itoa(freePort(t)), redis: redistest.Start(t)}
	var out transcript
	cmd := exec.Command(binary)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "PACEKEEPER_ADDR=" + strings.TrimPrefix(s.url, "http://"),
		"PACEKEEPER_DATABASE_URL=" + pgtest.Postgres(t), "PACEKEEPER_REDIS_URL=" + s.redis.URL(),
		"PACEKEEPER_BOOTSTRAP_TOKEN=" + operator,
		"PACEKEEPER_AUDIT_KEY=" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32)),
	}
	cmd.Env = append(cmd.Env, settings...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the server said:\n%s", out.String())
		}
	})
	eventually(t, "the server is ready", func() bool {
		response, err := http.Get(s.url + "/readyz")
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
	return s
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port
}

// transcript collects what a process prints; safe for concurrent use.
type transcript struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.Write(p)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buf.String()
}

// patience is how long anything may take on a loaded machine.
const patience = 30 * time.Second

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline.C:
			t.Fatalf("not within %s: %s", patience, what)
		case <-tick.C:
		}
	}
}

// call sends a request as the operator, or with the token behind the status, and returns the body.
func (s *server) call(method, path, body string, status int, headers ...string) map[string]any {
	s.t.Helper()
	request, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+operator)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for n := 0; n < len(headers); n += 2 {
		request.Header.Set(headers[n], headers[n+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if response.StatusCode != status {
		s.t.Fatalf("%s %s: %d, want %d: %s", method, path, response.StatusCode, status, data)
	}
	var object map[string]any
	if len(data) > 0 {
		if err := json.Unmarshal(data, &object); err != nil {
			s.t.Fatalf("%s %s: %v: %s", method, path, err, data)
		}
	}
	return object
}

// group registers the group tea and saves its document, "" for none.
func (s *server) group(document string) {
	s.t.Helper()
	s.call(http.MethodPut, "/v1/groups/tea", `{"name":"Tea house","locale":"en"}`, http.StatusCreated)
	if document != "" {
		s.save(document)
	}
}

// save puts a document over what is there and waits until it is live.
func (s *server) save(document string) {
	s.t.Helper()
	s.call(http.MethodPut, "/v1/groups/tea/policy", document, http.StatusOK, "If-Match", "*", "Prefer", "wait=5")
}

// token makes a token of a role.
func (s *server) token(role, groups string) string {
	s.t.Helper()
	made := s.call(http.MethodPost, "/v1/tokens", `{"name":"`+role+`","role":"`+role+`"`+groups+`}`, http.StatusCreated)
	return made["token"].(string)
}

// check is what Redis decides of a message in tea: the code's name and the wait in ms.
func (s *server) check(user string) (reason string, waitMS float64) {
	s.t.Helper()
	got := s.call(http.MethodPost, "/v1/groups/tea/check", `{"user_id":"`+user+`","action":"message"}`, http.StatusOK)
	return got["reason"].(string), got["wait_ms"].(float64)
}
