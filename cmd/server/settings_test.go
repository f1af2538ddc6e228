package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	database = "postgres://user:hush@db:5432/pace"
	redisURL = "redis://:hush@cache:6379/0"
	key      = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
)

// started runs the program with an environment of its own and returns its exit code and what it printed.
func started(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, func(name string) string { return env[name] }, &out, &errs)
	return code, out.String(), errs.String()
}

func TestConfigHidesSecrets(t *testing.T) {
	t.Parallel()
	code, out, _ := started(t, map[string]string{
		"PACEKEEPER_DATABASE_URL": database, "PACEKEEPER_REDIS_URL": redisURL, "PACEKEEPER_AUDIT_KEY": key,
		"PACEKEEPER_TRUSTED_PROXIES": "10.0.0.0/8,192.0.2.1", "PACEKEEPER_ADDR": "127.0.0.1:1",
	}, "config", "--addr", "127.0.0.1:9")
	if code != exitOK {
		t.Fatalf("ended with %d: %s", code, out)
	}
	for _, line := range []string{
		"PACEKEEPER_DATABASE_URL=(hidden)", "PACEKEEPER_REDIS_URL=(hidden)", "PACEKEEPER_AUDIT_KEY=(hidden)",
		"PACEKEEPER_BOOTSTRAP_TOKEN=", "PACEKEEPER_TRUSTED_PROXIES=10.0.0.0/8,192.0.2.1", "PACEKEEPER_ADDR=127.0.0.1:9", // a flag beats
		"# Redis: one server at cache:6379, database 0",
	} {
		if !strings.Contains(out, line+"\n") {
			t.Errorf("lacks %q:\n%s", line, out)
		}
	}
	if strings.Contains(out, "hush") || strings.Contains(out, key) {
		t.Errorf("shows a secret:\n%s", out)
	}
}

func TestHelpNamesEverySetting(t *testing.T) {
	t.Parallel()
	code, out, _ := started(t, nil, "--help")
	if code != exitOK {
		t.Fatalf("ended with %d", code)
	}
	words := strings.Join(strings.Fields(out), " ") // help wraps lines
	for _, row := range describe(&Settings{}) {
		if !strings.Contains(words, "$"+row.name) {
			t.Errorf("lacks %s:\n%s", row.name, out)
		}
	}
}

// TestHelpOfCommandsBeginsWithTheirOwn reads the help of each command of policy as config: an example and its own flags,
// and of the server's settings nothing; that of others has them last.
func TestHelpOfCommandsBeginsWithTheirOwn(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"validate", "plan", "apply", "export"} {
		code, out, _ := started(t, nil, command, "--help")
		if code != exitOK || !strings.Contains(out, "  server "+command+" -") || !strings.Contains(out, "Exit codes:") || strings.Contains(out, "$PACEKEEPER_ADDR") {
			t.Errorf("%s --help ends with %d:\n%s", command, code, out)
		}
	}
	_, out, _ := started(t, nil, "erase", "--help")
	if own, others := strings.Index(out, "--user"), strings.Index(out, "--addr"); own < 0 || others < own || !strings.Contains(out, "The server's settings:") {
		t.Errorf("erase --help:\n%s", out)
	}
}

func TestSettingsAreRefusedByName(t *testing.T) {
	t.Parallel()
	both := func(more ...string) map[string]string {
		env := map[string]string{"PACEKEEPER_DATABASE_URL": database, "PACEKEEPER_REDIS_URL": redisURL, "PACEKEEPER_AUDIT_KEY": key}
		for i := 0; i < len(more); i += 2 {
			env[more[i]] = more[i+1]
		}
		return env
	}
	tests := []struct {
		name string
		env  map[string]string
	}{
		{"PACEKEEPER_REDIS_URL", map[string]string{"PACEKEEPER_DATABASE_URL": database, "PACEKEEPER_AUDIT_KEY": key}},
		{"PACEKEEPER_DATABASE_URL", map[string]string{"PACEKEEPER_REDIS_URL": redisURL}},
		{"PACEKEEPER_DATABASE_URL", both("PACEKEEPER_DATABASE_URL", "mysql://x")},
		{"PACEKEEPER_REDIS_URL", both("PACEKEEPER_REDIS_URL", "http://x")},
		{"PACEKEEPER_AUDIT_KEY", both("PACEKEEPER_AUDIT_KEY", "")},
		{"PACEKEEPER_AUDIT_KEY", both("PACEKEEPER_AUDIT_KEY", "c2hvcnQ=")},
		{"PACEKEEPER_ADDR", map[string]string{"PACEKEEPER_ADDR": "8080"}},
		{"PACEKEEPER_BOOTSTRAP_TOKEN", map[string]string{"PACEKEEPER_BOOTSTRAP_TOKEN": "too-short"}},
		{"PACEKEEPER_BOOTSTRAP_TOKEN", map[string]string{"PACEKEEPER_BOOTSTRAP_TOKEN": strings.Repeat("x y ", 10)}},
		{"PACEKEEPER_TRUSTED_PROXIES", map[string]string{"PACEKEEPER_TRUSTED_PROXIES": "10.0.0.0/99"}},
		{"PACEKEEPER_PUBLIC_URL", map[string]string{"PACEKEEPER_PUBLIC_URL": "pace.example.org"}},
		{"PACEKEEPER_FRAME_ANCESTORS", map[string]string{"PACEKEEPER_FRAME_ANCESTORS": "https://chat.example.org", "PACEKEEPER_PUBLIC_URL": "http://pace.example.org"}},
		{"PACEKEEPER_FRAME_ANCESTORS", map[string]string{"PACEKEEPER_FRAME_ANCESTORS": "https://a.example; script-src *", "PACEKEEPER_PUBLIC_URL": "https://pace.example.org"}},
		{"PACEKEEPER_REDIS_PREFIX", map[string]string{"PACEKEEPER_REDIS_PREFIX": "a:b"}},
		{"PACEKEEPER_DEMO", both("PACEKEEPER_DEMO", "true")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			code, _, errs := started(t, test.env, "config")
			if code != exitUsage || !strings.Contains(errs, test.name) || strings.Contains(errs, "hush") {
				t.Fatalf("ended with %d and said %q", code, errs)
			}
		})
	}
}

// The README's table is the struct: name, preset and words.
func TestREADMETableIsTheSettings(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for line := range strings.Lines(string(readme)) {
		if strings.HasPrefix(line, "| `PACEKEEPER_") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	for _, row := range describe(&Settings{}) {
		preset := ""
		if row.preset != "" {
			preset = "`" + row.preset + "`"
		}
		want = append(want, "| `"+row.name+"` | "+preset+" | "+strings.ReplaceAll(row.help, "|", `\|`)+" |")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("README.md against settings.go (-want +got):\n%s", diff)
	}
}
