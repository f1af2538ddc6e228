package main

import (
	"context"
	"encoding/base64"
	"errors"
	"path/filepath"
)

// foundation is what the server stands on: the two stores and the key, from the settings or made for the embedded mode.
type foundation struct {
	databaseURL string
	redisURL    string
	dataDir     string // "" = not embedded
	redisAddr   string // of the in-process Redis, "" = not embedded
	auditKey    []byte
	release     func() error
}

// lay makes what the embedded mode needs, or takes both stores from the settings. What it starts ends with ctx.
func lay(ctx context.Context, s Settings, w World) (foundation, error) {
	if !s.Embedded() {
		key, err := base64.StdEncoding.DecodeString(s.AuditKey)
		return foundation{
			databaseURL: s.DatabaseURL, redisURL: s.RedisURL, auditKey: key, release: func() error { return nil },
		}, err
	}
	dir, err := dataDir(s.DataDir, w.Getenv)
	if err != nil {
		return foundation{}, err
	}
	release, err := lockDir(dir)
	if err != nil {
		return foundation{}, err
	}
	key, err := auditKey(dir)
	if err != nil {
		return foundation{}, errors.Join(err, release())
	}
	addr, err := startRedis(ctx)
	if err != nil {
		return foundation{}, errors.Join(err, release())
	}
	return foundation{
		databaseURL: embeddedURL(dir), redisURL: "redis://" + addr, dataDir: dir, redisAddr: addr, auditKey: key, release: release,
	}, nil
}

// databaseOf is the database in use and the audit key that belongs to it, for commands that run beside a server.
func databaseOf(s Settings, w World) (url string, key []byte, err error) {
	if !s.Embedded() {
		key, err = base64.StdEncoding.DecodeString(s.AuditKey)
		return s.DatabaseURL, key, err
	}
	dir, err := dataDir(s.DataDir, w.Getenv)
	if err != nil {
		return "", nil, err
	}
	key, err = auditKey(dir)
	return embeddedURL(dir), key, err
}

func embeddedURL(dir string) string { return "sqlite:" + filepath.Join(dir, databaseFile) }
