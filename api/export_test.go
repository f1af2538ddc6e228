package api

import (
	"context"

	"github.com/pacekeeper/pacekeeper/store"
)

// Once is once for tests.
func Once(ctx context.Context, key *IdempotencyKey, operation string, request ...[]byte) (store.Once, error) {
	return once(ctx, key, operation, request...)
}
