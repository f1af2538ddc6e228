package e2e_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var printedToken = regexp.MustCompile(`token +(pk_\S+)`)

// A newcomer's first minute: no setting, an empty home; the printed lines work when pasted.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	first := serve(t, map[string]string{"HOME": home})
	token := printedToken.FindStringSubmatch(first.output.String())
	if token == nil {
		t.Fatalf("no token was printed:\n%s", first.output)
	}
	answers := paste(t, first)
	if answers[0]["group_id"] != "tea" || answers[1]["version"] != 1.0 || answers[2]["allowed"] != true || answers[2]["version"] != 1.0 {
		t.Fatalf("the printed lines answered %v", answers)
	}
	if _, err := os.Stat(filepath.Join(home, ".local/share/pacekeeper/pacekeeper.db")); err != nil {
		t.Fatal(err)
	}
	first.stop(t)

	second := serve(t, map[string]string{"HOME": home})
	if printedToken.MatchString(second.output.String()) {
		t.Fatalf("a second start made another token:\n%s", second.output)
	}
	got := second.call(t, http.MethodGet, "/v1/groups/tea/policy", "", "Authorization", "Bearer "+token[1]).want(t, http.StatusOK)
	if got.at("version") != 1.0 {
		t.Fatalf("after a restart: %v", got.body)
	}
	console := exec.Command(binary, "token", "--name", "second")
	console.Env = []string{"HOME=" + home}
	made, err := console.Output()
	if err != nil {
		t.Fatal(err)
	}
	second.call(t, http.MethodGet, "/v1/tokens", "", "Authorization", "Bearer "+strings.TrimSpace(string(made))).want(t, http.StatusOK)
}

// paste runs the three curl lines that the server printed and returns their answers.
func paste(t *testing.T, i *instance) []map[string]any {
	t.Helper()
	var answers []map[string]any
	for line := range strings.Lines(i.output.String()) {
		if !strings.HasPrefix(line, "curl ") {
			continue
		}
		out, err := exec.Command("/bin/sh", "-c", line).Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var answer map[string]any
		if err := json.Unmarshal(out, &answer); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
		answers = append(answers, answer)
	}
	if len(answers) != 3 {
		t.Fatalf("%d curl lines were printed:\n%s", len(answers), i.output)
	}
	return answers
}

func TestWithoutHomeTheDataGoesToATemporaryFolder(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	serve(t, map[string]string{"TMPDIR": temp})
	if found, err := filepath.Glob(filepath.Join(temp, "pacekeeper-*", "pacekeeper.db")); err != nil || len(found) != 1 {
		t.Fatalf("found %v, %v", found, err)
	}
}

func TestRefusesToStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	running := serve(t, map[string]string{"PACEKEEPER_DATA_DIR": dir})
	const database, redis = "postgres://nobody@127.0.0.1:1/none", "redis://127.0.0.1:1"
	tests := []struct {
		name string
		env  map[string]string
		says string
	}{
		{"database alone", map[string]string{"PACEKEEPER_DATABASE_URL": database}, "both PACEKEEPER_DATABASE_URL and PACEKEEPER_REDIS_URL"},
		{"Redis alone", map[string]string{"PACEKEEPER_REDIS_URL": redis}, "both PACEKEEPER_DATABASE_URL and PACEKEEPER_REDIS_URL"},
		{"no audit key", map[string]string{"PACEKEEPER_DATABASE_URL": database, "PACEKEEPER_REDIS_URL": redis}, "PACEKEEPER_AUDIT_KEY"},
		{"short token", map[string]string{"PACEKEEPER_BOOTSTRAP_TOKEN": "short"}, "PACEKEEPER_BOOTSTRAP_TOKEN"},
		{"port in use", map[string]string{"PACEKEEPER_ADDR": strings.TrimPrefix(running.url, "http://"), "PACEKEEPER_DATA_DIR": t.TempDir()}, "is in use"},
		{"data folder in use", map[string]string{"PACEKEEPER_DATA_DIR": dir}, "another server runs on the data folder"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			i := launch(t, test.env)
			if code := i.exitCode(t); code == 0 {
				t.Fatal("ended with 0")
			}
			if !strings.Contains(i.output.String(), test.says) {
				t.Fatalf("said %q, want %q", i.output, test.says)
			}
		})
	}
}

func TestEmbeddedKillLosesNothingAnswered(t *testing.T) {
	t.Parallel()
	env := map[string]string{"PACEKEEPER_DATA_DIR": t.TempDir(), "PACEKEEPER_BOOTSTRAP_TOKEN": operator}
	first := serve(t, env)
	answered := saveUntilKilled(t, first)
	second := serve(t, env)
	checkNothingLost(t, second, answered)
}

func TestDemo(t *testing.T) {
	t.Parallel()
	i := serve(t, map[string]string{"PACEKEEPER_DATA_DIR": t.TempDir(), "PACEKEEPER_BOOTSTRAP_TOKEN": operator}, "--demo")
	eventually(t, 10*time.Second, "sample groups", func() bool {
		groups, _ := i.call(t, http.MethodGet, "/v1/groups", "").at("items").([]any)
		return len(groups) == 3
	})
}

func TestStopsOnTheSignal(t *testing.T) {
	t.Parallel()
	i := embedded(t)
	i.stop(t)
	if code := i.exitCode(t); code != 0 {
		t.Fatalf("ended with %d:\n%s", code, i.output)
	}
}
