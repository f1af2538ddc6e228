// Command server is Pacekeeper: the REST API, the pages and the sync to Redis in one binary. Without any setting it
// serves all of it from SQLite and an in-process Redis; `server --help` lists the settings.
//
// This package alone reads the environment, the clock and randomness; everything below is handed them.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // hosts without zone files know the same zones
)

// The garbage collector's bargain: the heap is small, so it may grow to five times of what lives before it is swept, until
// the whole has this many bytes. GOGC and GOMEMLIMIT, if set, say otherwise.
const (
	heapGrowth  = 400       // percent
	memoryLimit = 112 << 20 // bytes
)

func main() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(heapGrowth)
		debug.SetMemoryLimit(memoryLimit)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
