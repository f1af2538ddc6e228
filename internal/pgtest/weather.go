package pgtest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Freeze stops the server and all its backends as SIGSTOP does: connections stay open and nothing answers. Thaw ends
// it.
func (s *Server) Freeze(tb testing.TB) {
	tb.Helper()
	s.signal(tb, syscall.SIGSTOP)
	tb.Cleanup(func() { s.signal(tb, syscall.SIGCONT) }) // a frozen server would keep the test's database from being dropped
}

// Thaw lets a frozen server go on.
func (s *Server) Thaw(tb testing.TB) {
	tb.Helper()
	s.signal(tb, syscall.SIGCONT)
}

// Kill ends the server at once, with all its backends, as a crash does.
func (s *Server) Kill(tb testing.TB) {
	tb.Helper()
	s.signal(tb, syscall.SIGKILL)
}

// Restart starts a killed server on the same data.
func (s *Server) Restart(tb testing.TB) {
	tb.Helper()
	_ = os.Remove(filepath.Join(s.dir, "data", "postmaster.pid"))
	old, oldGuard := s.alive, s.guard
	if err := s.relaunch(old.Close, oldGuard.Wait); err != nil {
		tb.Fatal(err)
	}
}

// relaunch keeps the data out of the reach of the old guard, which removes its directory when it ends.
func (s *Server) relaunch(closeOld, waitOld func() error) error {
	data, aside := filepath.Join(s.dir, "data"), s.dir+"-aside"
	if err := os.Rename(data, aside); err != nil {
		return err
	}
	_ = closeOld()
	_ = waitOld()
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		return err
	}
	if cred := serverUser(); cred != nil {
		if err := os.Chown(s.dir, int(cred.Uid), int(cred.Gid)); err != nil {
			return err
		}
	}
	if err := os.Rename(aside, data); err != nil {
		return err
	}
	return s.launch()
}

// PID is the process id of the server itself, whose children its backends are.
func (s *Server) PID(tb testing.TB) int {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "data", "postmaster.pid"))
	if err != nil {
		tb.Fatal(err)
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	pid, err := strconv.Atoi(strings.TrimSpace(string(first)))
	if err != nil {
		tb.Fatal(err)
	}
	return pid
}

func (s *Server) signal(tb testing.TB, sig syscall.Signal) {
	tb.Helper()
	pid := s.PID(tb)
	family := append([]int{pid}, childrenOf(pid)...)
	for _, p := range family {
		if err := syscall.Kill(p, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			tb.Fatal(err)
		}
	}
}

// childrenOf reads /proc: backends lead process groups of their own.
func childrenOf(pid int) []int {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "task", strconv.Itoa(pid), "children"))
	if err != nil {
		return nil
	}
	var out []int
	for f := range strings.FieldsSeq(string(text)) {
		if p, err := strconv.Atoi(f); err == nil {
			out = append(out, p)
		}
	}
	return out
}
