package sync_test

import (
	"testing"
	"time"

	policysync "github.com/pacekeeper/pacekeeper/sync"
)

// TestKeysWithoutTTLAreMended: the loop finds a state that would last for ever.
func TestKeysWithoutTTLAreMended(t *testing.T) {
	t.Parallel()
	at := embedded(t)
	start(t, at, func(c *policysync.Config) { c.KeysEvery = 5 * time.Millisecond })
	key := at.keys.State("message", "g1", "u1")
	if err := at.rdb.Set(t.Context(), key, "", 0).Err(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the key has a time to live", func() bool { return at.rdb.TTL(t.Context(), key).Val() > 0 })
}
