// Package e2e_test tests the built binary from outside: HTTP, Redis, signals, and what happens when a store goes away.
package e2e_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// binary is the server, built once for all tests; nest is the folder that ends with this process.
var binary, nest string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "pacekeeper-e2e-")
	if err != nil {
		return fail(err)
	}
	alive, err := reaper(dir)
	if err != nil {
		return fail(err)
	}
	defer func() { _ = alive.Close() }()
	nest, binary = dir, filepath.Join(dir, "server")
	build := exec.Command("go", "build", "-o", binary, "../cmd/server")
	if out, err := build.CombinedOutput(); err != nil {
		return fail(fmt.Errorf("%w\n%s", err, out))
	}
	return m.Run()
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "e2e:", err)
	return 1
}

// reaper ends whatever the tests started, and removes dir, once this process is gone, however it went: it waits for the
// end of its own input.
func reaper(dir string) (io.Closer, error) {
	cmd := exec.Command("/bin/sh", "-c", `cat >/dev/null
for pid in $(cat "$1"/*.pid 2>/dev/null); do kill -9 "$pid" 2>/dev/null; done
rm -rf "$1"`, "sh", dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	return in, cmd.Start()
}

// start starts a process that ends with the test or with this process. The channel is closed when it has ended.
func start(tb testing.TB, cmd *exec.Cmd) <-chan struct{} {
	tb.Helper()
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	file := filepath.Join(nest, strconv.Itoa(cmd.Process.Pid)+".pid")
	if err := os.WriteFile(file, []byte(strconv.Itoa(cmd.Process.Pid)), 0o600); err != nil {
		tb.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		_ = os.Remove(file)
		close(ended)
	}()
	tb.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	return ended
}
