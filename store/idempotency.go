package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

// Once is an Idempotency-Key and what it was sent for: however often the request comes, it takes effect once and is
// answered the same, for a day. The zero Once is a request without a key.
type Once struct {
	Principal string            // who asks: the token's id
	Operation string            // what for, with the ids of the path: the same key may serve another operation
	Key       string            // "" = no key
	Digest    [sha256.Size]byte // of all else that the request says; another one with the same key is refused
}

// keyMemory is how long a key is remembered.
const keyMemory = 24 * time.Hour

// once runs fn, unless a request with the same key was answered already: then it returns that answer again. T is kept as
// JSON, written in the same transaction as what fn does, so that there is never one without the other. Of two requests at
// once the second waits for the first. Nothing is kept of a request that fails. Call it before anything is read that
// the first request may have changed. CodeKeyReused.
func once[T any](t *tx, o Once, fn func() (T, error)) (result T, err error) {
	if o.Key == "" {
		return fn()
	}
	known, err := t.recall(o, &result)
	if known || err != nil {
		return result, err
	}
	if result, err = fn(); err != nil {
		return result, err
	}
	return result, t.remember(o, result)
}

// recall reads the answer of a key into result, and keeps others with the same key waiting.
func (t *tx) recall(o Once, result any) (known bool, err error) {
	if err := t.store.dialect.lock(t.DB, o.lock()); err != nil {
		return false, err
	}
	var row struct {
		Digest []byte
		Result string
	}
	err = one(t.Raw(`SELECT digest, result FROM idempotency_keys
		WHERE principal = ? AND operation = ? AND key = ? AND expires_at > ?`, o.Principal, o.Operation, o.Key, t.now.UnixMicro()), &row)
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return false, nil
	case err != nil:
		return false, err
	case !bytes.Equal(row.Digest, o.Digest[:]):
		return false, policy.Errorf(policy.CodeKeyReused, "this Idempotency-Key was used for another request; take a new one")
	}
	if err := json.Unmarshal([]byte(row.Result), result); err != nil {
		return false, fmt.Errorf("store: the answer kept for an idempotency key: %w", err)
	}
	return true, nil
}

// lock is the advisory lock of the key. Two keys that share one wait for each other, no more.
func (o Once) lock() int64 {
	sum := sha256.Sum256([]byte(o.Principal + "\x00" + o.Operation + "\x00" + o.Key))
	return int64(binary.BigEndian.Uint64(sum[:])) //nolint:gosec // any 64 bits do
}

// remember writes the answer at the end of the transaction, over one that expired.
func (t *tx) remember(o Once, result any) error {
	text, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("store: an answer to keep: %w", err)
	}
	t.finally(`INSERT INTO idempotency_keys (principal, operation, key, digest, result, expires_at) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (principal, operation, key) DO UPDATE SET digest = excluded.digest, result = excluded.result,
			expires_at = excluded.expires_at`,
		o.Principal, o.Operation, o.Key, o.Digest[:], string(text), t.now.Add(keyMemory).UnixMicro())
	return nil
}
