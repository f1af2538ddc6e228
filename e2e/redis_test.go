package e2e_test

import (
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisServer is a private Redis on a loopback port that can be killed and started again.
type redisServer struct {
	port int
	dir  string
	cmd  *exec.Cmd
	*redis.Client
}

func startRedis(tb testing.TB) *redisServer {
	tb.Helper()
	r := &redisServer{port: freePort(tb), dir: tb.TempDir()}
	r.Client = redis.NewClient(&redis.Options{Addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(r.port)), MaxRetries: -1})
	tb.Cleanup(func() { _ = r.Close() })
	r.launch(tb)
	return r
}

func (r *redisServer) launch(tb testing.TB) {
	tb.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		tb.Fatal("Redis is missing: apt-get install -y --no-install-recommends redis-server")
	}
	r.cmd = exec.Command(path, "--port", strconv.Itoa(r.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--dir", r.dir, "--logfile", filepath.Join(r.dir, "log"))
	start(tb, r.cmd)
	eventually(tb, 10*time.Second, "Redis answers", func() bool { return r.Ping(context.Background()).Err() == nil })
}

// signal stops the server and lets it go on, as SIGSTOP and SIGCONT do: connections stay open.
func (r *redisServer) signal(tb testing.TB, signal syscall.Signal) {
	tb.Helper()
	if err := r.cmd.Process.Signal(signal); err != nil {
		tb.Fatal(err)
	}
}

func (r *redisServer) kill(tb testing.TB) {
	tb.Helper()
	r.signal(tb, syscall.SIGKILL)
	eventually(tb, 10*time.Second, "Redis is gone", func() bool { return r.Ping(context.Background()).Err() != nil })
}

func (r *redisServer) url() string { return "redis://127.0.0.1:" + strconv.Itoa(r.port) + "/0" }

func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// eventually polls until the condition holds, and fails the test at the deadline.
func eventually(tb testing.TB, within time.Duration, what string, holds func() bool) {
	tb.Helper()
	deadline := time.After(within)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			tb.Fatalf("not within %v: %s", within, what)
		case <-tick.C:
		}
	}
}
