// Package browser_test drives the pages of the built server in Chromium, on a real PostgreSQL and a real Redis: the
// journeys of people, each ended by what Redis decides; accessibility; and the content security policy.
package browser_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

const install = "apt-get install -y --no-install-recommends chromium fonts-noto-cjk"

// binary is the server, built once for all tests; chrome is the one browser, of which each test has a window of its own.
var (
	binary string
	chrome context.Context
)

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "pacekeeper-browser-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "server")
	build := exec.Command("go", "build", "-o", binary, "../../cmd/server")
	if out, err := build.CombinedOutput(); err != nil {
		return fail(fmt.Errorf("%w\n%s", err, out))
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		return fail(fmt.Errorf("no chromium: %s", install))
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(filepath.Join(dir, "profile")), chromedp.DisableGPU,
		chromedp.Flag("hide-scrollbars", true), chromedp.Flag("lang", "en"))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, end := chromedp.NewExecAllocator(context.Background(), options...)
	defer end()
	var quit context.CancelFunc
	chrome, quit = chromedp.NewContext(allocator) //nolint:fatcontext // the one browser of all tests
	defer quit()
	if err := chromedp.Do(chrome); err != nil {
		return fail(fmt.Errorf("chromium does not start: %w", err))
	}
	return m.Run()
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "e2e/browser:", err)
	return 1
}
