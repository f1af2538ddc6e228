// Package redistest gives tests a private Redis: a real redis-server on a unix socket, started once per test binary and
// ended with it whatever happens, the embedded one, and clusters and sentinel sets that a test may damage.
package redistest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

const (
	install    = "apt-get install -y --no-install-recommends redis-server"
	startLimit = 10 * time.Second
	databases  = 4096
)

// guard is the shell that owns a server: it ends the server when our end of its standard input closes, which the kernel
// does on panic and kill -9 too, and then removes the directory.
const guard = `"$@" </dev/null & pid=$!; cat >/dev/null; kill -9 $pid 2>/dev/null; wait $pid 2>/dev/null; rm -rf "$0"`

// Server is a private redis-server.
type Server struct {
	Socket string // path of the unix socket
	Addr   string // host:port on loopback; "" = it listens on the socket alone
	PID    int    // of the redis-server itself
	dir    string
	stdin  io.Closer
	cmd    *exec.Cmd
}

// Each runs a test on a real Redis and on the embedded one, as parallel subtests, each with an empty database.
func Each(t *testing.T, test func(t *testing.T, rdb redis.UniversalClient)) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, Real(t))
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		test(t, Embedded(t))
	})
}

// Real answers a client on an empty database of the test binary's shared redis-server. Tests that stop, flush or
// configure the whole server take their own by Start.
func Real(tb testing.TB) *redis.Client {
	tb.Helper()
	s, db, err := sharedServer()
	if err != nil {
		tb.Fatal(err)
	}
	rdb := redis.NewClient(options("unix", s.Socket, db))
	tb.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// Embedded answers a client on a fresh embedded server.
func Embedded(tb testing.TB) *redis.Client {
	tb.Helper()
	mini := miniredis.NewMiniRedis()
	if err := mini.StartAddr("127.0.0.1:0"); err != nil {
		tb.Fatalf("start miniredis: %v", err)
	}
	tb.Cleanup(mini.Close)
	rdb := redis.NewClient(options("tcp", mini.Addr(), 0))
	tb.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// URL answers the URL of an empty database of the shared redis-server, for programs that make their own client.
func URL(tb testing.TB) string {
	tb.Helper()
	s, db, err := sharedServer()
	if err != nil {
		tb.Fatal(err)
	}
	return fmt.Sprintf("unix://%s?db=%d", s.Socket, db)
}

// Start starts a redis-server for one test alone, and ends it with the test.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	s, err := start(args...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(s.Stop)
	return s
}

// Client answers a new client of the server; the caller closes it.
func (s *Server) Client() *redis.Client {
	return redis.NewClient(options("unix", s.Socket, 0))
}

// options waits long for replies: a loaded machine is no failure.
func options(network, addr string, db int) *redis.Options {
	return &redis.Options{
		Network: network, Addr: addr, DB: db, Protocol: 2, DisableIdentity: true,
		ReadTimeout: time.Minute, WriteTimeout: time.Minute,
	}
}

// URL answers the server's own URL.
func (s *Server) URL() string { return "unix://" + s.Socket }

// Stop kills the server, as a crash would, and removes what it left. It may be called twice.
func (s *Server) Stop() {
	_ = s.stdin.Close()
	_ = s.cmd.Wait()
}

// Restart kills the server and starts an empty one on the same socket.
func (s *Server) Restart(tb testing.TB, args ...string) {
	tb.Helper()
	s.Stop()
	if err := s.launch(args...); err != nil {
		tb.Fatal(err)
	}
}

//nolint:gochecknoglobals // one server per test binary is the point
var shared struct {
	sync.Mutex
	server *Server
	err    error
	nextDB int
}

func sharedServer() (*Server, int, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = start()
	}
	if shared.nextDB == databases {
		return nil, 0, errors.New("the shared redis-server has no database left")
	}
	shared.nextDB++
	return shared.server, shared.nextDB - 1, shared.err
}

func start(args ...string) (*Server, error) {
	s, err := prepare()
	if err != nil {
		return nil, err
	}
	if err := s.launch(args...); err != nil {
		_ = os.RemoveAll(s.dir)
		return nil, err
	}
	return s, nil
}

// prepare makes a server with its directory, and does not start it.
func prepare() (*Server, error) {
	dir, err := os.MkdirTemp("", "redistest")
	if err != nil {
		return nil, fmt.Errorf("make a directory for redis-server: %w", err)
	}
	return &Server{dir: dir, Socket: filepath.Join(dir, "redis.sock")}, nil
}

func (s *Server) launch(args ...string) error {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return fmt.Errorf("redis-server is missing; install it with: %s (%w)", install, err)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("make the directory of redis-server: %w", err)
	}
	return s.run(append([]string{
		path, "--port", "0", "--unixsocket", s.Socket, "--save", "", "--appendonly", "no",
		"--databases", strconv.Itoa(databases), "--dir", s.dir, "--loglevel", "warning",
	}, args...))
}

// run starts a command line under the guard, and waits until the server answers.
func (s *Server) run(line []string) (err error) {
	var out bytes.Buffer
	s.cmd = exec.Command("/bin/sh", append([]string{"-c", guard, s.dir}, line...)...) //nolint:gosec,noctx // a fixed script; it lives as long as the binary
	s.cmd.Stdout, s.cmd.Stderr = &out, &out
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return fmt.Errorf("start redis-server: %w", err)
	}
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start redis-server: %w", err)
	}
	if err := s.wait(); err != nil {
		s.Stop()
		return fmt.Errorf("%w: %s", err, out.String())
	}
	return nil
}

// wait polls until the server answers, and learns its process id.
func (s *Server) wait() error {
	rdb := s.Client()
	defer func() { _ = rdb.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if err := rdb.Ping(ctx).Err(); err == nil {
			break
		}
		select {
		case <-ctx.Done():
			return errors.New("redis-server did not answer in time")
		case <-tick.C:
		}
	}
	info, err := rdb.InfoMap(ctx, "server").Result()
	if err != nil {
		return fmt.Errorf("ask redis-server for its process id: %w", err)
	}
	_, err = fmt.Sscan(info["Server"]["process_id"], &s.PID)
	return err
}
