package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
)

// TestClusterMasterKilled runs two servers on a cluster and kills a master: groups elsewhere are saved and checked as ever
// (C56), the dead master's are pending and decided by on_failure, readiness says so; then the promoted replica is used.
func TestClusterMasterKilled(t *testing.T) {
	t.Parallel()
	c, postgres := redistest.StartCluster(t), pgtest.Start(t, pgtest.Options{TCP: true})
	env := map[string]string{
		"PACEKEEPER_DATABASE_URL": postgres.Database(t), "PACEKEEPER_REDIS_URL": c.URL(),
		"PACEKEEPER_AUDIT_KEY": auditKey, "PACEKEEPER_BOOTSTRAP_TOKEN": operator,
	}
	a, b := serve(t, env), serve(t, env)
	dead, alive := homeOf(t, c, 0), homeOf(t, c, 1)
	for _, id := range []string{dead, alive} {
		a.group(t, id, `{"actions":{"message":{"min_interval_ms":1000}}}`)
		if got := b.check(t, id, "u1"); got.at("version") != 1.0 {
			t.Fatalf("%s: %v", id, got.body)
		}
	}
	c.Nodes[0].Stop()
	for _, test := range []struct{ action, reason string }{{"message", "allowed_degraded"}, {"login", "refused_degraded"}} {
		got := b.call(t, http.MethodPost, "/v1/groups/"+dead+"/check", `{"user_id":"u2","action":"`+test.action+`"}`).want(t, http.StatusOK)
		if got.at("reason") != test.reason || got.took > patient {
			t.Errorf("%s: %v in %v", test.action, got.body, got.took)
		}
	}
	saved := a.call(t, http.MethodPut, "/v1/groups/"+dead+"/policy", halfSecond, "If-Match", "*", "Prefer", "wait=1").want(t, http.StatusOK)
	if saved.at("version") != 2.0 || saved.took > patient {
		t.Errorf("a save of a group on the dead master: %v in %v", saved.body, saved.took)
	}
	a.save(t, alive, halfSecond)
	if got := b.check(t, alive, "u2"); got.at("version") != 2.0 || got.at("degraded") != false {
		t.Errorf("a group on another master: %v", got.body)
	}
	eventually(t, 20*time.Second, "the promoted replica has the edit, and decides", func() bool {
		got := b.check(t, dead, "u3")
		return got.at("version") == 2.0 && got.at("degraded") == false
	})
	a.awaitReady(t)
	b.awaitReady(t)
	if out := a.output.String(); !strings.Contains(out, "of 256 shards") {
		t.Errorf("the log does not say that shards were away:\n%s", out)
	}
}

// homeOf names a group whose shard lies on a master of the cluster.
func homeOf(t *testing.T, c *redistest.Cluster, master int) string {
	t.Helper()
	for n := 0; ; n++ {
		id := fmt.Sprintf("g%d", n)
		if c.Home(t, enforce.NewKeys("").Notice(id)) == c.Nodes[master] {
			return id
		}
	}
}
