package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
)

// TestRestoredBackup puts PostgreSQL back to a backup while Redis holds later edits: not ready, and nothing is replaced,
// until an operator bumps the generation; then the database prevails and all is well.
func TestRestoredBackup(t *testing.T) {
	t.Parallel()
	s := newStage(t, pgtest.Options{})
	i := serve(t, s.env)
	const groups = 30
	save := func(ms int) {
		for n := range groups {
			i.group(t, fmt.Sprintf("g%d", n), fmt.Sprintf(`{"actions":{"message":{"min_interval_ms":%d}}}`, ms))
		}
	}
	save(2000)
	dump := s.postgres.Dump(t, s.env["PACEKEEPER_DATABASE_URL"])
	save(3000)
	save(4000)
	i.call(t, http.MethodPut, "/v1/groups/g0/exemptions/late", `{}`, "Prefer", "wait=5")
	i.stop(t)

	s.env["PACEKEEPER_DATABASE_URL"] = s.postgres.Restore(t, dump)
	i = launch(t, s.env)
	eventually(t, 20*time.Second, "not ready because of the backup", func() bool {
		got, err := i.try(http.MethodGet, "/readyz", "")
		return err == nil && got.status == http.StatusServiceUnavailable && strings.Contains(fmt.Sprint(got.body), "restored backup")
	})
	if got := interval(t, s, "g1"); got != "4000" {
		t.Errorf("before anybody decided the interval in Redis is %s", got)
	}

	looked := launch(t, s.env, "sync", "bump-generation", "--reason", "restored")
	if code := looked.exitCode(t); code != 1 || !strings.Contains(looked.output.String(), "add --yes") {
		t.Errorf("without --yes: %d %s", code, looked.output)
	}
	if got := launch(t, s.env, "sync", "bump-generation", "--yes"); got.exitCode(t) != 2 {
		t.Errorf("without a reason: %s", got.output)
	}
	done := launch(t, s.env, "sync", "bump-generation", "--reason", "restored last night's backup", "--yes")
	if code := done.exitCode(t); code != 0 || !strings.Contains(done.output.String(), "Generation 1 became 2") {
		t.Fatalf("with --yes: %d %s", code, done.output)
	}
	eventually(t, 40*time.Second, "ready again", func() bool { return i.status("/readyz") == http.StatusOK })
	for n := range groups {
		id := fmt.Sprintf("g%d", n)
		eventually(t, 20*time.Second, id+" is as in the backup", func() bool { return interval(t, s, id) == "2000" })
	}
	entries, _ := i.call(t, http.MethodGet, "/v1/audit-events?action=generation.bump", "").want(t, http.StatusOK).at("items").([]any)
	if len(entries) != 1 || !strings.Contains(fmt.Sprint(entries[0]), "restored last night's backup") {
		t.Errorf("audit: %v", entries)
	}
	again := launch(t, s.env, "sync", "bump-generation", "--reason", "once more", "--yes")
	if code := again.exitCode(t); code != 1 || !strings.Contains(again.output.String(), "nothing in Redis is ahead") {
		t.Errorf("where nothing is ahead: %d %s", code, again.output)
	}
	i.save(t, "g1", `{"actions":{"message":{"min_interval_ms":5000}}}`)
	if got := interval(t, s, "g1"); got != "5000" {
		t.Errorf("an edit afterwards: %s", got)
	}
}

// interval is the interval of messages that Redis has for a group.
func interval(t *testing.T, s *stage, group string) string {
	t.Helper()
	keys, err := s.redis.Keys(t.Context(), "pk:{s??}:policy:message|"+group).Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("keys of %s: %v, %v", group, keys, err)
	}
	return s.redis.HGet(t.Context(), keys[0], "min_interval_ms").Val()
}
