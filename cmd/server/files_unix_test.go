//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestConfig_InterruptedWhileItReads: a pipe or a terminal that says nothing must not hold a command against Ctrl-C.
func TestConfig_InterruptedWhileItReads(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	hold, err := os.OpenFile(pipe, os.O_RDWR, 0) // so that it opens, and never ends
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hold.Close() })
	for _, command := range []string{"validate", "plan", "apply"} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		var out, errs bytes.Buffer
		code := run(ctx, []string{command, "-f", pipe}, func(string) string { return "" }, &out, &errs)
		cancel()
		if code != exitError || !strings.Contains(errs.String(), "interrupted") || out.Len() > 0 {
			t.Errorf("%s ends with %d: %s%s", command, code, out.String(), errs.String())
		}
	}
}

func TestConfig_EmptyPlanTokenIsNone(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	path, before := d.write("tea.yaml", "groups: {tea: {name: Other}}\n"), d.state()
	if code, _, errs := d.server("apply", "-f", path, "--plan-token="); code != exitError || !strings.Contains(errs, "--plan-token is empty") {
		t.Errorf("%d %s", code, errs)
	}
	for _, address := range []string{"127.0.0.1:8080", "ftp://x", "http://", "x"} {
		if code, _, errs := d.server("plan", "-f", path, "--server", address); code != exitError || !strings.Contains(errs, "--server must be a URL") {
			t.Errorf("%s: %d %s", address, code, errs)
		}
	}
	if after := d.state(); after != before {
		t.Errorf("changed to %s", after)
	}
}
