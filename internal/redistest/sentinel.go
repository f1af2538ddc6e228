package redistest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// masterName is what the sentinels call the set.
const masterName = "pace"

// Sentinels is a private set of one master and two replicas on loopback, watched over by three sentinels.
type Sentinels struct {
	Nodes    []*Server // the first began as the master
	watchers []*Server
}

// StartSentinels starts a set for one test alone, and ends it with the test.
func StartSentinels(tb testing.TB, args ...string) *Sentinels {
	tb.Helper()
	quiet()
	set, ports := &Sentinels{}, freePorts(tb, 6)
	for i := range 3 {
		line := append([]string{
			"--port", strconv.Itoa(ports[i]), "--bind", "127.0.0.1", "--databases", "1",
			"--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0", "--repl-backlog-size", "1mb",
		}, args...)
		if i > 0 {
			line = append(line, "--replicaof", "127.0.0.1 "+strconv.Itoa(ports[0]))
		}
		s := Start(tb, line...)
		s.Addr = "127.0.0.1:" + strconv.Itoa(ports[i])
		set.Nodes = append(set.Nodes, s)
	}
	for _, port := range ports[3:] {
		set.watchers = append(set.watchers, startSentinel(tb, port, ports[0]))
	}
	for _, w := range set.watchers {
		set.await(tb, w)
	}
	return set
}

// startSentinel starts a sentinel that finds a dead master within half a second.
func startSentinel(tb testing.TB, port, master int) *Server {
	tb.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		tb.Fatalf("redis-server is missing; install it with: %s (%v)", install, err)
	}
	s, err := prepare()
	if err != nil {
		tb.Fatal(err)
	}
	s.Addr = "127.0.0.1:" + strconv.Itoa(port)
	conf := fmt.Sprintf(`port %d
bind 127.0.0.1
unixsocket %s
dir %s
loglevel warning
sentinel monitor %[4]s 127.0.0.1 %[5]d 2
sentinel down-after-milliseconds %[4]s 500
sentinel failover-timeout %[4]s 3000
sentinel parallel-syncs %[4]s 2
`, port, s.Socket, s.dir, masterName, master)
	file := filepath.Join(s.dir, "sentinel.conf")
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := s.run([]string{path, file, "--sentinel"}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Stop)
	return s
}

// await waits until the sentinel knows both replicas and both other sentinels.
func (set *Sentinels) await(tb testing.TB, watcher *Server) {
	tb.Helper()
	rdb := redis.NewSentinelClient(options("unix", watcher.Socket, 0))
	defer func() { _ = rdb.Close() }()
	await(tb, "the sentinel knows the set", func(ctx context.Context) bool {
		known, err := rdb.Master(ctx, masterName).Result()
		return err == nil && known["num-slaves"] == "2" && known["num-other-sentinels"] == "2"
	})
}

// Client answers a client of whichever node is the master, closed with the test.
func (set *Sentinels) Client(tb testing.TB) *redis.Client {
	tb.Helper()
	rdb := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: masterName, SentinelAddrs: set.addrs(), Protocol: 2, DisableIdentity: true,
		ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, DialerRetries: 1, ContextTimeoutEnabled: true,
	})
	tb.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// URL answers the URLs of the sentinels with the name of the set.
func (set *Sentinels) URL() string {
	return "redis://" + strings.Join(set.addrs(), ",redis://") + "?master_name=" + masterName
}

func (set *Sentinels) addrs() []string {
	list := make([]string, len(set.watchers))
	for i, s := range set.watchers {
		list[i] = s.Addr
	}
	return list
}

// Master answers the node that the sentinels take for the master.
func (set *Sentinels) Master(tb testing.TB) *Server {
	tb.Helper()
	var found *Server
	await(tb, "a master", func(ctx context.Context) bool {
		for _, s := range set.Nodes {
			rdb := redis.NewClient(probing(s.Socket))
			role, err := rdb.InfoMap(ctx, "replication").Result()
			_ = rdb.Close()
			if err == nil && role["Replication"]["role"] == "master" {
				found = s
			}
		}
		return found != nil
	})
	return found
}
