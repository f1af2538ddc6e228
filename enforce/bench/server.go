package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// server is a private redis-server on a unix socket.
type server struct {
	dir, socket, version string
	cmd                  *exec.Cmd
	rdb                  *redis.Client // of the bench itself
}

func startServer() (*server, error) {
	dir, err := os.MkdirTemp("", "bench-enforce")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir, socket: filepath.Join(dir, "redis.sock")}
	s.cmd = exec.Command("redis-server", "--port", "0", "--unixsocket", s.socket, "--save", "", "--appendonly", "no",
		"--dir", dir, "--loglevel", "warning")
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start redis-server: %w", err)
	}
	s.rdb = s.client(1)
	for range 100 {
		if err = s.rdb.Ping(context.Background()).Err(); err == nil {
			info, infoErr := s.rdb.InfoMap(context.Background(), "server").Result()
			s.version = info["Server"]["redis_version"]
			return s, infoErr
		}
		time.Sleep(50 * time.Millisecond)
	}
	s.stop()
	return nil, errors.Join(errors.New("redis-server does not answer"), err)
}

// client answers a client with so many connections.
func (s *server) client(connections int) *redis.Client {
	return redis.NewClient(&redis.Options{
		Network: "unix", Addr: s.socket, PoolSize: connections, MaxActiveConns: connections, DisableIdentity: true, Protocol: 2,
		ContextTimeoutEnabled: true, ReadTimeout: time.Minute, PoolTimeout: time.Minute,
	})
}

func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	_ = os.RemoveAll(s.dir)
}

// cpu is the time that the server's main thread has run, in ns, by the scheduler's accounting.
func (s *server) cpu() (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/schedstat", s.cmd.Process.Pid, s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.Fields(string(raw))[0], 10, 64)
}

// usedMemory is what the server holds but for the buffers of its clients.
func (s *server) usedMemory(ctx context.Context) (int64, error) {
	info, err := s.rdb.InfoMap(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	used, err := strconv.ParseInt(info["Memory"]["used_memory"], 10, 64)
	if err != nil {
		return 0, err
	}
	clients, err := strconv.ParseInt(info["Memory"]["mem_clients_normal"], 10, 64)
	return used - clients, err
}
