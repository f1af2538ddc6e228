package main

import (
	"crypto/rand"
	"encoding/hex"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
)

// World is what the program takes from outside: everything below is handed these and reads nothing by itself.
type World struct {
	Getenv func(string) string
	Now    func() time.Time // µs are kept, UTC
	NewID  func() string    // UUIDv7: ids of rows and requests
	Nonce  func() string    // 16 random bytes in hex
	Out    io.Writer        // what people read at the start
	Log    *slog.Logger
}

func world(getenv func(string) string, out io.Writer, log *slog.Logger) World {
	return World{
		Getenv: getenv,
		Now:    func() time.Time { return time.Now().UTC().Truncate(time.Microsecond) },
		NewID:  func() string { return uuid.Must(uuid.NewV7()).String() },
		Nonce:  func() string { return hex.EncodeToString(random(16)) },
		Out:    &lockedWriter{w: out},
		Log:    log,
	}
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails: the program ends where the system has no randomness
	return b
}

type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
