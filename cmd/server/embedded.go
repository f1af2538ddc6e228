package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// The files of an embedded server in its data folder.
const (
	databaseFile = "pacekeeper.db"
	auditKeyFile = "audit.key"
)

// fastForwardEvery is how often the in-process Redis is told that time passed: its TTLs do not run down by themselves.
const fastForwardEvery = 100 * time.Millisecond

// dataDir makes the folder of the embedded database and returns it: the one that was set, else one of the user's own,
// else (no home, or not writable) one in the folder for temporary files.
func dataDir(set string, getenv func(string) string) (string, error) {
	if set != "" {
		return set, makeDir(set)
	}
	var candidates []string
	if base := getenv("XDG_DATA_HOME"); filepath.IsAbs(base) {
		candidates = append(candidates, filepath.Join(base, "pacekeeper"))
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		candidates = append(candidates, filepath.Join(home, ".local", "share", "pacekeeper"))
	}
	var faults []error
	for _, dir := range candidates {
		err := makeDir(dir)
		if err == nil {
			return dir, nil
		}
		faults = append(faults, err)
	}
	shared := filepath.Join(os.TempDir(), fmt.Sprintf("pacekeeper-%d", os.Getuid()))
	err := makePrivateDir(shared)
	if err == nil {
		return shared, nil
	}
	faults = append(faults, err)
	return "", fmt.Errorf("no folder for the data (set PACEKEEPER_DATA_DIR): %w", errors.Join(faults...))
}

// makeDir makes dir, for this user alone, and tries to write to it.
func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// makePrivateDir makes dir where others write too, and takes one that is there only if it is this user's own and closed
// to others: whoever put another one there would read the tokens and the key.
func makePrivateDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := ownAndClosed(dir); err != nil {
		return err
	}
	return makeDir(dir)
}

// auditKey reads the key of the audit log's head from dir, and makes it on the first start.
func auditKey(dir string) ([]byte, error) {
	path := filepath.Join(dir, auditKeyFile)
	text, err := os.ReadFile(path) //nolint:gosec // the path is the operator's own setting
	if errors.Is(err, fs.ErrNotExist) {
		key := random(32)
		return key, os.WriteFile(path, []byte(base64.StdEncoding.EncodeToString(key)+"\n"), 0o600)
	}
	if err != nil {
		return nil, err
	}
	key, err := base64.StdEncoding.DecodeString(string(trimNewline(text)))
	if err != nil || len(key) < 32 {
		return nil, fmt.Errorf("%s: want base64 of at least 32 bytes", path)
	}
	return key, nil
}

func trimNewline(b []byte) []byte {
	for len(b) > 0 && (b[len(b)-1] == '\n' || b[len(b)-1] == '\r') {
		b = b[:len(b)-1]
	}
	return b
}

// preferredRedis is where the in-process Redis listens if it can, so that a line for redis-cli can be kept.
const preferredRedis = "127.0.0.1:16379"

// startRedis starts the in-process Redis on a loopback port, where redis-cli reaches it too. It holds nothing that must
// last: all of it is rebuilt from the database. It stops with ctx.
func startRedis(ctx context.Context) (addr string, err error) {
	server := miniredis.NewMiniRedis()
	if server.StartAddr(preferredRedis) != nil {
		if err := server.StartAddr("127.0.0.1:0"); err != nil {
			return "", err
		}
	}
	go func() {
		defer server.Close()
		ticker := time.NewTicker(fastForwardEvery)
		defer ticker.Stop()
		last := time.Now()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-ticker.C:
				server.FastForward(now.Sub(last))
				last = now
			}
		}
	}()
	return server.Addr(), nil
}
