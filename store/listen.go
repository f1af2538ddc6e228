package store

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"
)

// channel is the Postgres channel by which instances wake each other.
const channel = "pacekeeper"

// closeTimeout bounds the goodbye of the listening connection.
const closeTimeout = time.Second

// Listen calls fn("") once listening is in force, so that the caller can look for what it missed, then fn with each
// payload. It uses a connection of its own and returns when that is lost, or ctx ends. On SQLite no other process
// writes: it calls fn("") and waits for ctx.
func (s *Store) Listen(ctx context.Context, fn func(payload string)) error {
	if !s.dialect.postgres {
		fn("")
		<-ctx.Done()
		return ctx.Err()
	}
	conn, err := s.connectListener(ctx)
	if err != nil {
		return translate(err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	fn("")
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return translate(err)
		}
		fn(n.Payload)
	}
}

func (s *Store) connectListener(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, s.dialect.pgx.Copy())
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

// Notify wakes the listeners of all instances, this one's too. The payload is at most 7,999 bytes. It is sent outside of
// the changes' transactions, whose commits it would make wait for each other. On SQLite it does nothing.
func (s *Store) Notify(ctx context.Context, payload string) error {
	if !s.dialect.postgres {
		return nil
	}
	return s.read(ctx, func(db *gorm.DB) error { return db.Exec("SELECT pg_notify(?, ?)", channel, payload).Error })
}
