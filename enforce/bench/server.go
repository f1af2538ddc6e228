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

// bytes is what the keys cost that are not in before: key, value, entry, expiry and their places in the tables. All of it is
// asked of the server by key and table, for the whole's figure moves with the clients' buffers.
func (s *server) bytes(ctx context.Context, before map[string]bool) (total int64, err error) {
	keys, err := s.keys(ctx)
	if err != nil {
		return 0, err
	}
	pipe := s.rdb.Pipeline()
	for key := range keys {
		if !before[key] {
			pipe.MemoryUsage(ctx, key, 0)
		}
	}
	replies, err := pipe.Exec(ctx)
	if err != nil {
		return 0, err
	}
	for _, reply := range replies {
		total += reply.(*redis.IntCmd).Val()
	}
	places := int64(4)
	for places < int64(len(keys)) {
		places *= 2
	}
	const place, entry = 8, 24 // of a table; of the table of expiries, whose keys are shared
	return total + 2*places*place + int64(len(replies))*entry, nil
}

func (s *server) keys(ctx context.Context) (map[string]bool, error) {
	keys := map[string]bool{}
	for cursor := uint64(0); ; {
		page, next, err := s.rdb.Scan(ctx, cursor, "*", 1000).Result()
		if err != nil {
			return nil, err
		}
		for _, key := range page {
			keys[key] = true
		}
		if cursor = next; cursor == 0 {
			return keys, nil
		}
	}
}
