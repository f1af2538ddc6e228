package store_test

import (
	"crypto/sha256"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

func keyed(key, body string) store.Once {
	return store.Once{Principal: "t1", Operation: "import g1", Key: key, Digest: sha256.Sum256([]byte(body))}
}

// counter answers 1, 2, 3 …
func counter() func() (map[string]int64, error) {
	var n atomic.Int64
	return func() (map[string]int64, error) { return map[string]int64{"run": n.Add(1)}, nil }
}

func TestKeyAnswersTheSameAgain(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, now := b.t, time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		s := b.store(func(c *store.Config) { c.Now = func() time.Time { return now } })
		run := counter()
		want := func(o store.Once, n int64) {
			t.Helper()
			if diff := cmp.Diff(map[string]int64{"run": n}, must(s.RunOnce(t.Context(), actor(), o, run))(t)); diff != "" {
				t.Fatal(diff)
			}
		}
		want(keyed("k1", "a"), 1)
		want(keyed("k1", "a"), 1)
		if diff := cmp.Diff([]string{"ran", "and"}, auditActions(t, s)); diff != "" {
			t.Error(diff)
		}
		_, err := s.RunOnce(t.Context(), actor(), keyed("k1", "b"), run)
		wantCode(t, err, policy.CodeKeyReused)
		other := keyed("k1", "b")
		other.Operation = "import g2"
		want(other, 2)
		other.Principal = "t2"
		want(other, 3)
		want(keyed("", "a"), 4)
		want(keyed("", "a"), 5)
		now = now.Add(23 * time.Hour)
		want(keyed("k1", "a"), 1)
		now = now.Add(time.Hour)
		want(keyed("k1", "a"), 6)
		if err := s.Cleanup(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(keyed("k1", "a"), 6)
		now = now.Add(25 * time.Hour)
		if err := s.Cleanup(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(keyed("k1", "a"), 7)
	})
}

func TestKeyKeepsNothingOfAFailure(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		broken := errors.New("broken")
		_, err := s.RunOnce(t.Context(), actor(), keyed("k1", "a"), func() (map[string]int64, error) { return nil, broken })
		if !errors.Is(err, broken) {
			t.Fatal(err)
		}
		if r := must(s.RunOnce(t.Context(), actor(), keyed("k1", "b"), counter()))(t); r["run"] != 1 {
			t.Errorf("%v", r)
		}
	})
}

// TestKeyOfParallelRequests sends one request from two instances, many times at once: one runs, all answer the same.
func TestKeyOfParallelRequests(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		stores := []*store.Store{b.store(), b.store()}
		run := counter()
		var group sync.WaitGroup
		for i := range 12 {
			group.Go(func() {
				r, err := stores[i%2].RunOnce(t.Context(), actor(), keyed("k1", "a"), run)
				if err != nil || r["run"] != 1 {
					t.Errorf("%v, %v", r, err)
				}
			})
		}
		group.Wait()
		if diff := cmp.Diff([]string{"ran", "and"}, auditActions(t, stores[0])); diff != "" {
			t.Error(diff)
		}
	})
}
