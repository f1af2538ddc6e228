//nolint:thelper // the functions given to Each are the tests themselves; as helpers they would hide the failing line
package redistest_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/internal/redistest"
)

// soon is how long a failover may take on a busy machine.
const soon = 30 * time.Second

func TestEachIsEmpty(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		if n, err := rdb.DBSize(t.Context()).Result(); err != nil || n != 0 {
			t.Fatalf("size = %d, %v", n, err)
		}
	})
}

func TestRestartIsEmpty(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	if err := rdb.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	s.Restart(t)
	if n, err := rdb.Exists(t.Context(), "k").Result(); err != nil || n != 0 {
		t.Fatalf("after a restart k exists = %d, %v", n, err)
	}
}

// TestClusterFailsOver kills a master of a cluster: its replica takes over with what was written, and the other masters
// answer meanwhile.
func TestClusterFailsOver(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t)
	rdb := c.Client(t)
	for _, key := range []string{"{a}", "{b}", "{c}"} { // one on each master
		if err := rdb.Set(t.Context(), key, "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	before := c.Master(t, "{a}")
	others := []*redistest.Server{c.Master(t, "{b}"), c.Master(t, "{c}")}
	if others[0] == others[1] || others[0] == before || others[1] == before {
		t.Fatal("the keys do not lie on three masters")
	}
	before.Replicated(t)
	before.Stop()
	if err := rdb.Get(t.Context(), "{b}").Err(); err != nil {
		t.Errorf("another master: %v", err)
	}
	after := c.Master(t, "{a}")
	if after == before {
		t.Fatal("the dead node is still the master")
	}
	deadline := time.Now().Add(soon)
	for rdb.Get(t.Context(), "{a}").Val() != "v" {
		if time.Now().After(deadline) {
			t.Fatal("the client does not find what was written on the promoted replica")
		}
	}
}

// TestSentinelsFailOver kills the master: the client finds the promoted replica by itself.
func TestSentinelsFailOver(t *testing.T) {
	t.Parallel()
	set := redistest.StartSentinels(t)
	rdb := set.Client(t)
	if err := rdb.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	master := set.Master(t)
	master.Replicated(t)
	master.Stop()
	deadline := time.Now().Add(soon)
	for rdb.Set(t.Context(), "k2", "v", 0).Err() != nil {
		if time.Now().After(deadline) {
			t.Fatal("no master takes writes")
		}
	}
	if got := rdb.Get(t.Context(), "k").Val(); got != "v" {
		t.Errorf("after the failover k = %q", got)
	}
}
