package e2e_test

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
)

// command runs another command of the binary on the settings of a stage, and returns what it says.
func command(tb testing.TB, env map[string]string, args ...string) (said string, failed error) {
	tb.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestErase mutes, exempts and strikes a person, and erases him beside two running servers.
func TestErase(t *testing.T) {
	t.Parallel()
	s := newStage(t, pgtest.Options{})
	a, b := serve(t, s.env), serve(t, s.env)
	a.group(t, "g1", `{"actions":{"message":{"min_interval_ms":10000}},"penalties":{"ladder":[{"after":2,"do":"mute","for_ms":60000}]}}`)
	a.call(t, http.MethodPut, "/v1/groups/g1/exemptions/u%2A", `{"note":"host"}`).want(t, http.StatusCreated)
	a.call(t, http.MethodDelete, "/v1/groups/g1/exemptions/u%2A", "").want(t, http.StatusNoContent)
	a.call(t, http.MethodPut, "/v1/groups/g1/exemptions/u12", `{"note":"a friend of u*"}`).want(t, http.StatusCreated)
	for _, user := range []string{"u*", "u1"} {
		eventually(t, 20*time.Second, "a mute", func() bool { return a.check(t, "g1", user).at("reason") == "refused_muted" })
	}
	plan, err := command(t, s.env, "erase", "--user", "u*")
	if err != nil || !strings.Contains(plan, "found      1 mutes") || !strings.Contains(plan, "--yes") || strings.Contains(plan, "u*") {
		t.Fatalf("%v: %s", err, plan)
	}
	if said, err := command(t, s.env, "erase", "--user", "u*", "--yes", "--reason", "u* asked"); err == nil {
		t.Errorf("a reason that names the person: %s", said)
	}
	did, err := command(t, s.env, "erase", "--user", "u*", "--yes", "--reason", "request 7")
	if err != nil || !strings.Contains(did, "erased      1 mutes") || !strings.Contains(did, "erased      3 audit entries") {
		t.Fatalf("%v: %s", err, did)
	}
	for _, key := range s.redis.Keys(t.Context(), "*").Val() {
		if strings.Contains(key, "u*") {
			t.Errorf("left in Redis: %s", key)
		}
	}
	for _, i := range []*instance{a, b} {
		verdict := i.call(t, http.MethodGet, "/v1/audit-events/verify", "").want(t, http.StatusOK)
		if verdict.at("ok") != true || verdict.at("erased") != 3.0 {
			t.Errorf("verdict %v", verdict.body)
		}
		i.call(t, http.MethodGet, "/v1/groups/g1/mutes/u%2A", "").want(t, http.StatusNotFound)
		i.call(t, http.MethodGet, "/v1/groups/g1/mutes/u1", "").want(t, http.StatusOK)
	}
	if got := b.check(t, "g1", "u*"); got.at("allowed") != true || got.at("strikes") != 0.0 {
		t.Errorf("the person is %v", got.body)
	}
}
