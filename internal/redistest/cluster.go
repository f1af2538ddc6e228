package redistest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

const (
	masters  = 3
	slots    = 16384
	upLimit  = 30 * time.Second
	lookEach = 20 * time.Millisecond
	// nodeTimeout is after how long the others take a node for dead; a failover takes about twice as long.
	nodeTimeout = time.Second
)

// Cluster is a private Redis Cluster on loopback: three masters, each with one replica. It answers for slots that it has
// while others are uncovered.
type Cluster struct {
	Nodes []*Server // the first three began as masters, node i + 3 as the replica of node i
	ids   []string
	ports []int
}

// StartCluster starts a cluster for one test alone, and ends it with the test.
func StartCluster(tb testing.TB, args ...string) *Cluster {
	tb.Helper()
	quiet()
	c := &Cluster{}
	for i := range 2 * masters {
		s, err := prepare()
		if err != nil {
			tb.Fatal(err)
		}
		c.Nodes, c.ids = append(c.Nodes, s), append(c.ids, fmt.Sprintf("%040x", i+1))
	}
	c.ports = freePorts(tb, 2*len(c.Nodes))
	var starting sync.WaitGroup
	failed := make([]error, len(c.Nodes))
	for i := range c.Nodes {
		starting.Go(func() { failed[i] = c.launch(i, args) })
	}
	starting.Wait()
	tb.Cleanup(c.stop)
	if err := errors.Join(failed...); err != nil {
		tb.Fatal(err)
	}
	c.await(tb)
	return c
}

// quiet keeps the client of Redis from printing a line for each dial that fails.
func quiet() { silenced.Do(logging.Disable) }

//nolint:gochecknoglobals // the client's logger is the process's too
var silenced sync.Once

// launch starts one node. All know each other from their files, so that nobody has to be introduced.
func (c *Cluster) launch(i int, args []string) error {
	s := c.Nodes[i]
	s.Addr = "127.0.0.1:" + strconv.Itoa(c.ports[2*i])
	if err := errors.Join(os.MkdirAll(s.dir, 0o700), os.WriteFile(filepath.Join(s.dir, "nodes.conf"), []byte(c.file(i)), 0o600)); err != nil {
		return fmt.Errorf("write the file of a cluster node: %w", err)
	}
	return s.launch(append([]string{
		"--port", strconv.Itoa(c.ports[2*i]), "--bind", "127.0.0.1", "--databases", "1",
		"--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(c.ports[2*i+1]), "--cluster-config-file", "nodes.conf",
		"--cluster-node-timeout", strconv.FormatInt(nodeTimeout.Milliseconds(), 10), "--cluster-replica-validity-factor", "0",
		"--cluster-require-full-coverage", "no", "--cluster-allow-replica-migration", "no",
		"--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0", "--repl-backlog-size", "1mb",
	}, args...)...)
}

// Restart starts a stopped node, empty, in the part that it began with.
func (c *Cluster) Restart(tb testing.TB, s *Server) {
	tb.Helper()
	if err := c.launch(slices.Index(c.Nodes, s), nil); err != nil {
		tb.Fatal(err)
	}
}

// file is what a node remembers of its cluster, as Redis writes it.
func (c *Cluster) file(self int) string {
	var b strings.Builder
	for i, id := range c.ids {
		flags, of, range_ := "master", "-", fmt.Sprintf(" %d-%d", i%masters*slots/masters, (i%masters+1)*slots/masters-1)
		if i >= masters {
			flags, of, range_ = "slave", c.ids[i-masters], ""
		}
		if i == self {
			flags = "myself," + flags
		}
		fmt.Fprintf(&b, "%s 127.0.0.1:%d@%d %s %s 0 0 %d connected%s\n", id, c.ports[2*i], c.ports[2*i+1], flags, of, i%masters+1, range_)
	}
	fmt.Fprintf(&b, "vars currentEpoch %d lastVoteEpoch 0\n", masters)
	return b.String()
}

// await waits until every node says that the cluster is up, and every replica follows its master.
func (c *Cluster) await(tb testing.TB) {
	tb.Helper()
	for i, s := range c.Nodes {
		rdb := s.Client()
		await(tb, "cluster node "+strconv.Itoa(i)+" is up", func(ctx context.Context) bool {
			info, err := rdb.ClusterInfo(ctx).Result()
			return err == nil && strings.Contains(info, "cluster_state:ok") &&
				(i < masters || linked(ctx, rdb))
		})
		_ = rdb.Close()
	}
}

func linked(ctx context.Context, rdb *redis.Client) bool {
	info, err := rdb.InfoMap(ctx, "replication").Result()
	return err == nil && info["Replication"]["master_link_status"] == "up"
}

// await polls for ok, and fails the test after half a minute.
func await(tb testing.TB, what string, ok func(context.Context) bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), upLimit)
	defer cancel()
	tick := time.NewTicker(lookEach)
	defer tick.Stop()
	for !ok(ctx) {
		select {
		case <-ctx.Done():
			tb.Fatalf("not within %v: %s", upLimit, what)
		case <-tick.C:
		}
	}
}

// Client answers a client of the whole cluster, closed with the test.
func (c *Cluster) Client(tb testing.TB, edits ...func(*redis.ClusterOptions)) *redis.ClusterClient {
	tb.Helper()
	options := &redis.ClusterOptions{
		Addrs: c.addrs(), Protocol: 2, DisableIdentity: true, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		ClusterStateReloadInterval: time.Second, DialerRetries: 1, ContextTimeoutEnabled: true,
	}
	for _, edit := range edits {
		edit(options)
	}
	rdb := redis.NewClusterClient(options)
	tb.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// URL answers the URLs of all nodes, separated by commas.
func (c *Cluster) URL() string {
	return "redis://" + strings.Join(c.addrs(), ",redis://")
}

func (c *Cluster) addrs() []string {
	list := make([]string, len(c.Nodes))
	for i, s := range c.Nodes {
		list[i] = s.Addr
	}
	return list
}

// Master answers the node that serves the key now, as a node that is alive sees it.
func (c *Cluster) Master(tb testing.TB, key string) *Server {
	tb.Helper()
	var found *Server
	await(tb, "a master of "+key, func(ctx context.Context) bool {
		found = c.master(ctx, key)
		return found != nil
	})
	return found
}

// Home answers the node that began as the master of the key.
func (c *Cluster) Home(tb testing.TB, key string) *Server {
	tb.Helper()
	rdb := c.Client(tb)
	slot, err := rdb.ClusterKeySlot(tb.Context(), key).Result()
	if err != nil {
		tb.Fatal(err)
	}
	home := 0
	for i := range masters {
		if int(slot) >= i*slots/masters {
			home = i
		}
	}
	return c.Nodes[home]
}

// Replica answers the node that began as the replica of a master.
func (c *Cluster) Replica(master *Server) *Server {
	return c.Nodes[slices.Index(c.Nodes, master)+masters]
}

// master asks each node whether it takes the key for its own, as a master.
func (c *Cluster) master(ctx context.Context, key string) *Server {
	for _, s := range c.Nodes {
		rdb := redis.NewClient(probing(s.Socket))
		err := rdb.SetXX(ctx, key+":never", "", 0).Err()
		_ = rdb.Close()
		if err == nil || errors.Is(err, redis.Nil) {
			return s
		}
	}
	return nil
}

// probing waits for nobody.
func probing(socket string) *redis.Options {
	o := options("unix", socket, 0)
	o.ReadTimeout, o.MaxRetries, o.DialerRetries = 200*time.Millisecond, -1, 1
	return o
}

func (c *Cluster) stop() {
	for _, s := range c.Nodes {
		if s.cmd != nil {
			s.Stop()
		}
	}
}

// Move begins to move a key's slot from one master to another, with that key alone; the function that it returns moves the
// rest and gives the slot away.
func (c *Cluster) Move(tb testing.TB, key string, from, to *Server) (arrive func()) {
	tb.Helper()
	source, target := from.Client(), to.Client()
	tb.Cleanup(func() { _, _ = source.Close(), target.Close() })
	must := func(rdb *redis.Client, command ...any) {
		tb.Helper()
		if err := rdb.Do(tb.Context(), command...).Err(); err != nil {
			tb.Fatalf("%v: %v", command, err)
		}
	}
	slot, err := source.ClusterKeySlot(tb.Context(), key).Result()
	if err != nil {
		tb.Fatal(err)
	}
	host, port, _ := strings.Cut(to.Addr, ":")
	sourceID, targetID := c.id(from), c.id(to)
	must(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", sourceID)
	must(source, "CLUSTER", "SETSLOT", slot, "MIGRATING", targetID)
	must(source, "MIGRATE", host, port, key, 0, upLimit.Milliseconds())
	return func() {
		tb.Helper()
		for left := c.inSlot(tb, source, slot); len(left) > 0; left = c.inSlot(tb, source, slot) {
			for _, k := range left {
				must(source, "MIGRATE", host, port, k, 0, upLimit.Milliseconds())
			}
		}
		must(target, "CLUSTER", "SETSLOT", slot, "NODE", targetID)
		must(source, "CLUSTER", "SETSLOT", slot, "NODE", targetID)
	}
}

func (c *Cluster) inSlot(tb testing.TB, rdb *redis.Client, slot int64) []string {
	tb.Helper()
	keys, err := rdb.ClusterGetKeysInSlot(tb.Context(), int(slot), 1000).Result()
	if err != nil {
		tb.Fatal(err)
	}
	return keys
}

func (c *Cluster) id(s *Server) string { return c.ids[slices.Index(c.Nodes, s)] }

// Freeze stops the server without ending it, as a hung machine does, until Thaw.
func (s *Server) Freeze(tb testing.TB) {
	tb.Helper()
	s.signal(tb, syscall.SIGSTOP)
}

// Thaw lets a frozen server go on.
func (s *Server) Thaw(tb testing.TB) {
	tb.Helper()
	s.signal(tb, syscall.SIGCONT)
}

// Replicated waits until a replica of the server has all that was written so far.
func (s *Server) Replicated(tb testing.TB) {
	tb.Helper()
	rdb := s.Client()
	defer func() { _ = rdb.Close() }()
	await(tb, "a replica is up to date", func(ctx context.Context) bool {
		info, err := rdb.InfoMap(ctx, "replication").Result()
		if err != nil {
			return false
		}
		return strings.Contains(info["Replication"]["slave0"], "offset="+info["Replication"]["master_repl_offset"]+",")
	})
}

func (s *Server) signal(tb testing.TB, signal syscall.Signal) {
	tb.Helper()
	if err := syscall.Kill(s.PID, signal); err != nil {
		tb.Fatal(err)
	}
}

// freePorts finds n ports on loopback that nobody listens on, all different.
func freePorts(tb testing.TB, n int) []int {
	tb.Helper()
	var ports []int
	for range n {
		l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		defer func() { _ = l.Close() }() // held until all are found
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	slices.Sort(ports)
	return ports
}
