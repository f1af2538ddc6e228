package api

import (
	"context"
	"crypto/sha256"
	"encoding/binary"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

const maxKey = 255 // characters of an Idempotency-Key

// once reads an Idempotency-Key; nil = none. operation names what is asked, with the ids of its path; request is all that
// the answer depends on beside what is stored: the query, the body. What only says when to do it (If-Match, wait) is not
// part of it: a request that is sent again is answered as it was, though its tag is stale by then.
func once(ctx context.Context, key *IdempotencyKey, operation string, request ...[]byte) (store.Once, error) {
	if key == nil {
		return store.Once{}, nil
	}
	if len(*key) == 0 || len(*key) > maxKey || !printable(*key) {
		return store.Once{}, policy.Errorf(policy.CodeMalformed, "Idempotency-Key must be 1 to %d printable ASCII characters", maxKey)
	}
	digest := sha256.New()
	for _, part := range request {
		digest.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		digest.Write(part)
	}
	o := store.Once{Principal: callerOf(ctx).principal.TokenID, Operation: operation, Key: *key}
	digest.Sum(o.Digest[:0])
	return o, nil
}

// printable reports ASCII from space to tilde.
func printable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}
