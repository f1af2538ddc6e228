package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"
)

// startProgram runs an embedded program on a free port until the test ends.
func startProgram(tb testing.TB, dir string) *Program {
	tb.Helper()
	p, _ := runProgram(tb, Settings{Addr: "127.0.0.1:0", RedisPrefix: "pk", DataDir: dir})
	return p
}

// runProgram runs a program until it is ready, and on until it is stopped or the test ends.
func runProgram(tb testing.TB, s Settings) (p *Program, stop func()) {
	tb.Helper()
	w := world(func(string) string { return "" }, io.Discard, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	p, err := newProgram(ctx, s, w)
	if err != nil {
		cancel()
		tb.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
	tb.Cleanup(stop)
	deadline := time.Now().Add(time.Minute)
	for p.Ready(ctx) != nil {
		if time.Now().After(deadline) {
			tb.Fatalf("not ready: %v", p.Ready(ctx))
		}
		time.Sleep(time.Millisecond)
	}
	return p, stop
}

func TestProgramIsAValueThatCanBeStarted(t *testing.T) {
	t.Parallel()
	p := startProgram(t, t.TempDir())
	for path, want := range map[string]int{
		"/livez": http.StatusOK, "/readyz": http.StatusOK, "/v1/groups": http.StatusUnauthorized, "/metrics": http.StatusOK,
		"/openapi.yaml": http.StatusOK, "/docs": http.StatusOK, "/sign-in": http.StatusOK, "/nowhere": http.StatusNotFound,
		"/v1%2Fgroups": http.StatusNotFound,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.Addr()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("GET %s: %d, want %d", path, response.StatusCode, want)
		}
	}
}

// BenchmarkStart is a start within a running process: what the binary adds is the loading of itself.
func BenchmarkStart(b *testing.B) {
	for range b.N {
		b.Run("start", func(b *testing.B) { startProgram(b, b.TempDir()) })
	}
}
