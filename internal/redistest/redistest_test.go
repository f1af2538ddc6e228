//nolint:thelper // the functions given to Each are the tests themselves; as helpers they would hide the failing line
package redistest_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/internal/redistest"
)

func TestEachIsEmpty(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		if n, err := rdb.DBSize(t.Context()).Result(); err != nil || n != 0 {
			t.Fatalf("size = %d, %v", n, err)
		}
	})
}

func TestRestartIsEmpty(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	rdb := s.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	if err := rdb.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	s.Restart(t)
	if n, err := rdb.Exists(t.Context(), "k").Result(); err != nil || n != 0 {
		t.Fatalf("after a restart k exists = %d, %v", n, err)
	}
}
