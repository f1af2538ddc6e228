package e2e_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// operator is the bootstrap token of every server here.
const operator = "operator-token-of-the-end-to-end-tests-0123456789"

// instance is one running server.
type instance struct {
	url    string
	cmd    *exec.Cmd
	output *transcript
	client *http.Client
	ended  <-chan struct{}
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

// launch starts a server with exactly this environment beside PATH, and does not wait for it.
func launch(tb testing.TB, env map[string]string, args ...string) *instance {
	tb.Helper()
	addr := env["PACEKEEPER_ADDR"]
	if addr == "" {
		addr = "127.0.0.1:" + strconv.Itoa(freePort(tb))
	}
	i := &instance{url: "http://" + addr, output: &transcript{}, client: &http.Client{Timeout: 10 * time.Second}}
	i.cmd = exec.Command(binary, args...)
	i.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PACEKEEPER_ADDR=" + addr}
	for name, value := range env {
		if name != "PACEKEEPER_ADDR" {
			i.cmd.Env = append(i.cmd.Env, name+"="+value)
		}
	}
	i.cmd.Stdout, i.cmd.Stderr = i.output, i.output
	i.ended = start(tb, i.cmd)
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("output of %s:\n%s", i.url, i.output)
		}
	})
	return i
}

// serve starts a server and waits until it is ready.
func serve(tb testing.TB, env map[string]string, args ...string) *instance {
	tb.Helper()
	i := launch(tb, env, args...)
	i.awaitReady(tb)
	return i
}

// embedded starts an embedded server on a data folder of the test's own.
func embedded(tb testing.TB) *instance {
	tb.Helper()
	return serve(tb, map[string]string{"PACEKEEPER_DATA_DIR": tb.TempDir(), "PACEKEEPER_BOOTSTRAP_TOKEN": operator})
}

func (i *instance) awaitReady(tb testing.TB) {
	tb.Helper()
	eventually(tb, 20*time.Second, i.url+" is ready", func() bool { return i.status("/readyz") == http.StatusOK })
}

// status asks a path and returns the status, 0 where nobody answers.
func (i *instance) status(path string) int {
	response, err := i.client.Get(i.url + path)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// stop sends SIGTERM and waits for the end.
func (i *instance) stop(tb testing.TB) {
	tb.Helper()
	i.signal(tb, syscall.SIGTERM)
}

// kill ends the process as kill -9 does.
func (i *instance) kill(tb testing.TB) {
	tb.Helper()
	i.signal(tb, syscall.SIGKILL)
}

func (i *instance) signal(tb testing.TB, signal syscall.Signal) {
	tb.Helper()
	if err := i.cmd.Process.Signal(signal); err != nil {
		tb.Fatal(err)
	}
	i.exitCode(tb)
}

// exitCode waits for the end of the process.
func (i *instance) exitCode(tb testing.TB) int {
	tb.Helper()
	select {
	case <-i.ended:
		return i.cmd.ProcessState.ExitCode()
	case <-time.After(15 * time.Second):
		tb.Fatal("the process does not end")
		return 0
	}
}

// answer is an HTTP answer with its JSON body.
type answer struct {
	status int
	header http.Header
	body   map[string]any
	took   time.Duration
}

// call sends a request as the operator. Headers come as name, value, ….
func (i *instance) call(tb testing.TB, method, path, body string, headers ...string) answer {
	tb.Helper()
	got, err := i.try(method, path, body, headers...)
	if err != nil {
		tb.Fatal(err)
	}
	return got
}

func (i *instance) try(method, path, body string, headers ...string) (answer, error) {
	request, err := http.NewRequest(method, i.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Authorization", "Bearer "+operator)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for n := 0; n < len(headers); n += 2 {
		request.Header.Set(headers[n], headers[n+1])
	}
	begun := time.Now()
	response, err := i.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	got := answer{status: response.StatusCode, header: response.Header, took: time.Since(begun)}
	if len(data) > 0 && strings.Contains(response.Header.Get("Content-Type"), "json") {
		err = json.Unmarshal(data, &got.body)
	}
	return got, err
}

// want fails the test unless the answer has the status.
func (a answer) want(tb testing.TB, status int) answer {
	tb.Helper()
	if a.status != status {
		tb.Fatalf("status %d, want %d: %v", a.status, status, a.body)
	}
	return a
}

// at reads a value by path: object keys and nothing else.
func (a answer) at(path ...string) any {
	var value any = a.body
	for _, key := range path {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}

// group registers a group and saves its policy.
func (i *instance) group(tb testing.TB, id, document string) {
	tb.Helper()
	got := i.call(tb, http.MethodPut, "/v1/groups/"+id, `{"name":"`+id+`","locale":"en"}`)
	if got.status != http.StatusOK && got.status != http.StatusCreated {
		tb.Fatalf("group not registered: %d %v", got.status, got.body)
	}
	i.save(tb, id, document)
}

// save puts a policy over whatever is there and waits until it is live.
func (i *instance) save(tb testing.TB, id, document string) answer {
	tb.Helper()
	return i.call(tb, http.MethodPut, "/v1/groups/"+id+"/policy", document, "If-Match", "*", "Prefer", "wait=5").want(tb, http.StatusOK)
}

// check asks one decision for a message.
func (i *instance) check(tb testing.TB, group, user string) answer {
	tb.Helper()
	return i.call(tb, http.MethodPost, "/v1/groups/"+group+"/check", `{"user_id":"`+user+`","action":"message"}`).want(tb, http.StatusOK)
}
