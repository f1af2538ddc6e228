// Command server is Pacekeeper: the REST API, the pages and the sync to Redis in one binary. Without any setting it
// serves all of it from SQLite and an in-process Redis; `server --help` lists the settings.
//
// This package alone reads the environment, the clock and randomness; everything below is handed them.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // hosts without zone files know the same zones
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
