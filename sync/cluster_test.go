package sync_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
	policysync "github.com/pacekeeper/pacekeeper/sync"
)

// clustered is a Postgres and a Redis Cluster of the test's own.
func clustered(t *testing.T) (site, *redistest.Cluster) {
	t.Helper()
	c := redistest.StartCluster(t)
	return site{url: pgtest.Postgres(t), rdb: c.Client(t), keys: enforce.NewKeys("")}, c
}

// many says that Redis is a cluster.
func many(c *policysync.Config) { c.SingleNode = false }

// homes names n groups on each of the three masters: those of the node come first.
func homes(t *testing.T, at site, c *redistest.Cluster, n int) (byNode [3][]string) {
	t.Helper()
	for i := 0; len(byNode[0]) < n || len(byNode[1]) < n || len(byNode[2]) < n; i++ {
		id := fmt.Sprintf("g%d", i)
		home := slices.Index(c.Nodes, c.Home(t, at.keys.Notice(id)))
		if len(byNode[home]) < n {
			byNode[home] = append(byNode[home], id)
		}
	}
	return byNode
}

// wholeAndEqual waits until nothing waits to be published, both are ready, and a whole comparison finds no difference.
func wholeAndEqual(t *testing.T, instances ...*instance) {
	t.Helper()
	for _, i := range instances {
		i.drained(t)
		i.ready(t)
		eventually(t, "a pass without a difference", func() bool {
			st := i.reconciled(t)
			return st.Repaired == 0 && st.Ahead == 0
		})
	}
}

// TestC54_DamageIsMendedOnACluster does one damage of each kind.
func TestC54_DamageIsMendedOnACluster(t *testing.T) {
	t.Parallel()
	at, _ := clustered(t)
	seen := map[string]bool{}
	list := slices.DeleteFunc(damages(), func(d damage) bool {
		again := seen[d.kind]
		seen[d.kind] = true
		return again
	})
	mendsAll(t, at, start(t, at, steadily, many), list)
}

// TestC54_OneMasterIsFlushed wipes one of three masters: its shards, and no others, are rebuilt to what they were, mutes
// and bans included.
func TestC54_OneMasterIsFlushed(t *testing.T) {
	t.Parallel()
	at, c := clustered(t)
	a := start(t, at, many)
	by := homes(t, at, c, 1)
	ids := slices.Concat(by[0], by[1], by[2])
	a.furnish(t, ids)
	for _, id := range ids {
		at.banFor(t, a, id, "liker")
		if _, err := a.store.PutMute(t.Context(), operator, id, "loud", store.Anything(), store.MuteInput{EndMS: hence()}); err != nil {
			t.Fatal(err)
		}
	}
	a.drained(t)
	before, kept := at.snapshot(t), at.rdb.Get(t.Context(), at.keys.Epoch(enforce.Shard(by[1][0]))).Val()
	wiped := c.Nodes[0].Client()
	defer func() { _ = wiped.Close() }()
	if err := wiped.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "whole again", func() bool { return at.whole(t) })
	if diff := cmp.Diff(before, at.snapshot(t)); diff != "" {
		t.Error(diff)
	}
	for _, id := range ids {
		if m, b := at.peek(t, id, "loud").Code, at.ask(t, "like", id, "liker", "0", 0).Code; m != 12 || b != 13 {
			t.Errorf("%s: mute answers %d, ban %d", id, m, b)
		}
	}
	if now := at.rdb.Get(t.Context(), at.keys.Epoch(enforce.Shard(by[1][0]))).Val(); now != kept {
		t.Error("another master's shards were rebuilt")
	}
}

// asking is a service that asks checks of the cluster, as cmd/server does.
func asking(t *testing.T, c *redistest.Cluster) *enforce.Client {
	t.Helper()
	return enforce.New(enforce.Config{Redis: c.Client(t), Timeout: 500 * time.Millisecond})
}

func (at site) mustCheck(t *testing.T, checks *enforce.Client, action, group string) policy.DecisionCode {
	t.Helper()
	d, err := checks.Check(t.Context(), enforce.Request{Action: action, Group: group, User: "u1", Peek: true})
	if err != nil {
		t.Fatal(err)
	}
	return d.Code
}

// watchVersions reads the versions of groups from their masters until stop, and fails the test when a version goes down
// on one master. A promoted replica may begin with an older one: writes that it had not been sent are lost with the
// master, until they are published again.
func (at site) watchVersions(t *testing.T, ids []string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	reading.Go(func() {
		last := map[string]int64{}
		for ctx.Err() == nil {
			for _, id := range ids {
				key := at.keys.Policy("message", id)
				node, err := at.rdb.(*redis.ClusterClient).MasterForKey(ctx, key)
				if err != nil {
					continue
				}
				version, err := node.HGet(ctx, key, "version").Int64()
				if err != nil {
					continue
				}
				if lineage := node.Options().Addr + " " + id; version < last[lineage] {
					t.Errorf("%s: version %d after %d", lineage, version, last[lineage])
				} else {
					last[lineage] = version
				}
			}
		}
	})
	return func() { cancel(); reading.Wait() }
}

// TestC50_MasterKilledDuringEdits kills a master with kill −9 in the middle of 500 edits from two instances. Groups on
// the other masters are edited and checked as ever; those of the dead one are pending and decided by on_failure, and
// readiness says so; after the failover all ends equal to the database.
func TestC50_MasterKilledDuringEdits(t *testing.T) {
	t.Parallel()
	at, c := clustered(t)
	both := []*instance{start(t, at, steadily, many), start(t, at, steadily, many)}
	by := homes(t, at, c, 2)
	ids := slices.Concat(by[0], by[1], by[2])
	for _, id := range ids {
		both[0].group(t, id)
		both[0].save(t, id, `{"actions": {"message": {"min_interval_ms": 1000}}}`)
	}
	both[0].drained(t)
	checks := asking(t, c)
	for _, id := range ids { // learns their on_failure
		at.mustCheck(t, checks, "message", id)
		at.mustCheck(t, checks, "login", id)
	}
	stop := at.watchVersions(t, ids)
	var editing sync.WaitGroup
	halfway := make(chan struct{})
	for n, inst := range both {
		editing.Go(func() {
			for i := range 250 {
				if n == 0 && i == 100 {
					close(halfway)
				}
				inst.save(t, ids[i%len(ids)], fmt.Sprintf(`{"actions": {"message": {"min_interval_ms": %d}}}`, 1001+2*i+n))
			}
		})
	}
	<-halfway
	c.Nodes[0].Stop()
	eventually(t, "degraded by on_failure", func() bool {
		return at.mustCheck(t, checks, "message", by[0][0]) == policy.AllowedDegraded &&
			at.mustCheck(t, checks, "login", by[0][1]) == policy.RefusedDegraded
	})
	if code := at.mustCheck(t, checks, "message", by[1][0]); code != policy.Allowed {
		t.Errorf("a check on another master answers %v", code)
	}
	eventually(t, "not ready, and why", func() bool {
		err := both[1].Ready()
		return err != nil && strings.Contains(err.Error(), "of 256 shards")
	})
	editing.Wait()
	for _, id := range by[1] { // while the failover is under way, or just over
		version := both[0].save(t, id, `{"actions": {"message": {"min_interval_ms": 9000}}}`)
		eventually(t, id+" is live", func() bool {
			return at.field(t, at.keys.Policy("message", id), "version") == strconv.FormatInt(version, 10)
		})
	}
	wholeAndEqual(t, both...)
	stop()
	at.holdsLast(t, both[0], ids)
	if code := at.mustCheck(t, checks, "message", by[0][0]); code != policy.Allowed {
		t.Errorf("after the failover a check answers %v", code)
	}
}

// holdsLast compares the versions in Redis with those of the database.
func (at site) holdsLast(t *testing.T, i *instance, ids []string) {
	t.Helper()
	for _, id := range ids {
		record, err := i.store.Policy(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if got := at.field(t, at.keys.Policy("message", id), "version"); got != strconv.FormatInt(record.Version, 10) {
			t.Errorf("%s: version %s in Redis, %d in the database", id, got, record.Version)
		}
	}
}

// TestMasterKilledDuringFleetJob kills a master while bounds are published to 900 groups.
func TestMasterKilledDuringFleetJob(t *testing.T) {
	t.Parallel()
	at, c := clustered(t)
	a := prepare(t, at, nil, steadily, many)
	var ids []string
	for n := range 900 {
		ids = append(ids, fmt.Sprintf("fleet-%d", n))
	}
	at.seed(t, ids, `{"actions":{"message":{"min_interval_ms":1000}}}`)
	a.run(t).ready(t)
	b := start(t, at, steadily, many)
	a.raiseBound(t, 3000)
	c.Nodes[1].Stop()
	wholeAndEqual(t, a, b)
	for _, id := range ids {
		if got := at.field(t, at.keys.Policy("message", id), "min_interval_ms"); got != "3000" {
			t.Fatalf("%s: interval %s after the bound was raised", id, got)
		}
	}
}

// raiseBound raises the least interval of messages.
func (i *instance) raiseBound(t *testing.T, ms int64) {
	t.Helper()
	record, err := i.store.Bounds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(record.Bounds.JSON([]string{"message"})), `"message":{"min_interval_ms":{"min":1000`,
		fmt.Sprintf(`"message":{"min_interval_ms":{"min":%d`, ms), 1)
	bounds, err := policy.ParseBounds([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, changed, err := i.store.UpdateBounds(t.Context(), operator, store.Anything(), bounds); err != nil || !changed {
		t.Fatalf("bounds changed: %v, %v", changed, err)
	}
}

// seed registers many groups with one document, in one statement.
func (at site) seed(t *testing.T, ids []string, document string) {
	t.Helper()
	db := pgtest.SQL(t, at.url)
	var rows []string
	for _, id := range ids {
		rows = append(rows, fmt.Sprintf("('%s', %d, 'n', 'en', 1, 1, '%s', 0, 0, 1, 1)", id, enforce.Shard(id), document))
	}
	_, err := db.ExecContext(t.Context(), "INSERT INTO groups (id, shard, name, locale, revision, version, document, exemptions_version, exemptions_count, created_at, updated_at) VALUES "+strings.Join(rows, ", "))
	if err != nil {
		t.Fatal(err)
	}
}

// TestPromotedReplicaHasLostWrites kills a master whose replica stood still since before some edits. The reconciler is
// off: that the master is another one is enough to publish again what it lost, and what was withdrawn and lifted since.
func TestPromotedReplicaHasLostWrites(t *testing.T) {
	t.Parallel()
	at, c := clustered(t)
	a := start(t, at, rarely, many)
	id := homes(t, at, c, 1)[2][0]
	a.group(t, id)
	a.save(t, id, `{"actions": {"message": {"min_interval_ms": 3000}, "like": {"ban": {"for_ms": 3600000}}}}`)
	at.banFor(t, a, id, "liker")
	a.drained(t)
	eventually(t, "first pass", func() bool { return !a.Status().Reconcile.At.IsZero() })
	last, owned := at.lastAsking(t), at.shardsOf(t, c, c.Nodes[2])
	master, replica := c.Nodes[2], c.Replica(c.Nodes[2])
	master.Replicated(t)
	replica.Freeze(t)
	a.save(t, id, `{"actions": {"message": {"min_interval_ms": 4000}}}`)
	if _, err := a.store.LiftBan(t.Context(), operator, id, "like", "liker"); err != nil {
		t.Fatal(err)
	}
	a.drained(t)
	if got := at.field(t, at.keys.Policy("message", id), "min_interval_ms"); got != "4000" {
		t.Fatalf("before: %s", got)
	}
	master.Stop()
	replica.Thaw(t)
	eventually(t, "the edit is back", func() bool {
		return at.rdb.HGet(t.Context(), at.keys.Policy("message", id), "min_interval_ms").Val() == "4000"
	})
	if c.Master(t, at.keys.Notice(id)) != replica {
		t.Fatal("not the stale replica was promoted")
	}
	eventually(t, "what was withdrawn is", func() bool { return at.field(t, at.keys.Policy("like", id), "deleted") == "1" })
	eventually(t, "the ban is lifted", func() bool { return at.ask(t, "like", id, "liker", "0", 0).Code != 13 })
	a.ready(t)
	eventually(t, "its shards are asked for", func() bool { return len(at.askedAfter(t, last)) > 0 })
	if diff := cmp.Diff(owned, at.askedAfter(t, last)); diff != "" {
		t.Errorf("not the shards of that master alone are published again (-want +got):\n%s", diff)
	}
}

// TestWrongKindOfRedis gives a client for one server a node of a cluster, and a cluster client one server: neither is ready,
// and the status says what is wrong.
func TestWrongKindOfRedis(t *testing.T) {
	t.Parallel()
	c, single := redistest.StartCluster(t), redistest.Start(t)
	node := c.Nodes[0].Client()
	t.Cleanup(func() { _ = node.Close() })
	cluster := c.Client(t, func(o *redis.ClusterOptions) {
		o.Addrs = []string{"single:1"}
		o.Dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", single.Socket)
		}
	})
	for want, rdb := range map[string]redis.UniversalClient{"node of a cluster": node, "cluster support disabled": cluster} {
		at := site{url: pgtest.Postgres(t), rdb: rdb, keys: enforce.NewKeys("")}
		_, one := rdb.(*redis.Client)
		a := prepare(t, at, nil, func(c *policysync.Config) { c.SingleNode = one }).run(t)
		eventually(t, want, func() bool {
			told := slices.ContainsFunc(a.Status().Lanes, func(l policysync.LaneStatus) bool { return strings.Contains(l.Error, want) })
			return told && a.Ready() != nil && !a.Status().RedisOK
		})
	}
}

// TestSlotMoves moves a shard's slot to another master, as resharding does. While one of a group's keys has moved and the
// other has not, Redis takes no call about both: the edit waits, and is live once the slot has arrived.
func TestSlotMoves(t *testing.T) {
	t.Parallel()
	at, c := clustered(t)
	a := start(t, at, steadily, many)
	id := homes(t, at, c, 1)[0][0]
	a.group(t, id)
	a.save(t, id, `{"actions": {"message": {"min_interval_ms": 3000}, "comment": {"min_interval_ms": 3000}}}`)
	a.drained(t)
	message, comment := at.keys.Policy("message", id), at.keys.Policy("comment", id)
	arrive := c.Move(t, message, c.Nodes[0], c.Nodes[1])
	version := a.save(t, id, `{"actions": {"message": {"min_interval_ms": 4000}, "comment": {"min_interval_ms": 4000}}}`)
	eventually(t, "the edit waits", func() bool {
		refused := slices.ContainsFunc(a.Status().Lanes, func(l policysync.LaneStatus) bool { return strings.Contains(l.Error, "TRYAGAIN") })
		return refused && at.field(t, comment, "min_interval_ms") == "3000"
	})
	if err := a.Ready(); err != nil {
		t.Errorf("a slot that moves counts as trouble: %v", err)
	}
	arrive()
	for _, key := range []string{message, comment} {
		eventually(t, key+" is live", func() bool { return at.field(t, key, "version") == strconv.FormatInt(version, 10) })
	}
	if c.Master(t, message) != c.Nodes[1] {
		t.Error("the slot did not move")
	}
	wholeAndEqual(t, a)
}

// TestSentinelMasterKilled kills the master of a sentinel set: edits go on after the failover, and all ends equal.
func TestSentinelMasterKilled(t *testing.T) {
	t.Parallel()
	set := redistest.StartSentinels(t)
	at := site{url: pgtest.Postgres(t), rdb: set.Client(t), keys: enforce.NewKeys("")}
	a, b := start(t, at, steadily), start(t, at, steadily)
	a.furnish(t, []string{"g1", "g2"})
	master := set.Master(t)
	master.Replicated(t)
	master.Stop()
	eventually(t, "not ready", func() bool { return b.Ready() != nil })
	version := a.save(t, "g1", `{"actions": {"message": {"min_interval_ms": 4000}}}`)
	eventually(t, "live on the promoted replica", func() bool {
		return at.rdb.HGet(t.Context(), at.keys.Policy("message", "g1"), "version").Val() == strconv.FormatInt(version, 10)
	})
	if set.Master(t) == master {
		t.Fatal("nothing was promoted")
	}
	wholeAndEqual(t, a, b)
}
