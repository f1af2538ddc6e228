package enforce_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
)

// exempted is a set of exemptions: user → expiry in ms, 0 = never.
type exempted map[string]int64

func (e exempted) entries() []enforce.ExemptEntry {
	out := make([]enforce.ExemptEntry, 0, len(e))
	for _, user := range slices.Sorted(maps.Keys(e)) {
		out = append(out, enforce.ExemptEntry{User: user, ExpiresMS: e[user]})
	}
	return out
}

// changes is what leads from e to after, which has the order.
func (e exempted) changes(after exempted, base, order int64) enforce.ExemptDelta {
	d := enforce.ExemptDelta{Base: base, Order: order, Count: int64(len(after))}
	for user := range e {
		if _, ok := after[user]; !ok {
			d.Removed = append(d.Removed, user)
		}
	}
	for _, entry := range after.entries() {
		if ms, ok := e[entry.User]; !ok || ms != entry.ExpiresMS {
			d.Put = append(d.Put, entry)
		}
	}
	return d
}

func TestExemptionDeltaIsGuarded(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		t.Helper()
		keys := enforce.NewKeys("")
		pub := enforce.NewPublisher(rdb, keys)
		const group = "!a:b"
		was := exempted{"a": 0, "b": 5, "c": 0}
		now := exempted{"b": 6, "c": 0, "d": 0}
		for _, tt := range []struct {
			name    string
			damage  []any
			base    int64
			want    enforce.Result
			stored  int64
			applied bool
		}{
			{"built on what is stored", nil, 7, enforce.Written, 9, true},
			{"known from before what is stored", nil, 3, enforce.Written, 9, true},
			{"what is stored is too old", nil, 8, enforce.Behind, 7, false},
			{"a newer one stays", []any{"SET", keys.ExemptV(group), "10"}, 7, enforce.Older, 10, false},
			{"no order", []any{"DEL", keys.ExemptV(group)}, 7, enforce.Behind, 0, false},
			{"no number", []any{"SET", keys.ExemptV(group), "7x"}, 7, enforce.Behind, 0, false},
			{"order of another type", []any{"HSET", keys.ExemptV(group), "a", "b"}, 7, enforce.Behind, 0, false},
			{"set of another type", []any{"SET", keys.Exempt(group), "x"}, 7, enforce.Behind, 0, false},
			{"an entry is missing", []any{"ZREM", keys.Exempt(group), "c"}, 7, enforce.Behind, 0, false},
			{"set is missing", []any{"DEL", keys.Exempt(group)}, 7, enforce.Behind, 0, false},
			{"there already", []any{"SET", keys.ExemptV(group), "9"}, 7, enforce.Same, 9, false},
		} {
			rdb.Del(t.Context(), keys.Exempt(group), keys.ExemptV(group))
			if _, err := pub.PublishExemptions(t.Context(), group, 7, was.entries()); err != nil {
				t.Fatal(err)
			}
			if tt.damage != nil {
				rdb.Del(t.Context(), keys.ExemptV(group))
				rdb.Set(t.Context(), keys.ExemptV(group), "7", 0)
				if tt.damage[0] != "ZREM" {
					rdb.Del(t.Context(), tt.damage[1].(string))
				}
				if tt.name == "there already" {
					rdb.ZAdd(t.Context(), keys.Exempt(group), redis.Z{Member: "a"})
				}
				if err := rdb.Do(t.Context(), tt.damage...).Err(); err != nil {
					t.Fatal(err)
				}
			}
			got, stored, err := pub.ChangeExemptions(t.Context(), group, was.changes(now, tt.base, 9))
			if err != nil || got != tt.want || stored != tt.stored {
				t.Errorf("%s: %d, %d, %v; want %d, %d", tt.name, got, stored, err, tt.want, tt.stored)
			}
			if tt.applied {
				held(t, pub, group, 9, now)
			}
		}
	})
}

// held asserts that Redis has exactly the set at the order.
func held(t *testing.T, pub *enforce.Publisher, group string, order int64, want exempted) {
	t.Helper()
	stored, err := pub.ReadExemptions(t.Context(), []string{group})
	if err != nil {
		t.Fatal(err)
	}
	if st := stored[0]; st.Order != order || !st.Holds(want.entries()) {
		t.Fatalf("Redis has %v at %d, want %v at %d", st.Scores, st.Order, want, order)
	}
}

// TestC52_TheLastExemptionIsRemovedAlone leaves an empty set that has its order.
func TestC52_TheLastExemptionIsRemovedAlone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		t.Helper()
		pub := enforce.NewPublisher(rdb, enforce.NewKeys(""))
		one, none := exempted{"a": 0}, exempted{}
		if _, err := pub.PublishExemptions(t.Context(), "g", 1, one.entries()); err != nil {
			t.Fatal(err)
		}
		if got, _, err := pub.ChangeExemptions(t.Context(), "g", one.changes(none, 1, 2)); err != nil || got != enforce.Written {
			t.Fatal(got, err)
		}
		held(t, pub, "g", 2, none)
	})
}

// TestExemptionPublicationsInAnyOrder offers deltas and whole sets of a random history late, twice and in any order,
// and deletes keys in between. Whatever Redis holds with an order is what the history had at that order, and the order
// never goes back.
func TestExemptionPublicationsInAnyOrder(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		t.Helper()
		pub := enforce.NewPublisher(rdb, enforce.NewKeys(""))
		for seed := range uint64(20) {
			playExemptions(t, rdb, pub, "g"+strconv.FormatUint(seed, 10), rand.New(rand.NewPCG(seed, 7)))
		}
	})
}

func playExemptions(t *testing.T, rdb redis.UniversalClient, pub *enforce.Publisher, group string, random *rand.Rand) {
	t.Helper()
	const versions = 30
	history := []exempted{{}}
	for range versions {
		next := maps.Clone(history[len(history)-1])
		for range 1 + random.IntN(3) {
			user := strconv.Itoa(random.IntN(6))
			if _, ok := next[user]; ok && random.IntN(2) == 0 {
				delete(next, user)
			} else {
				next[user] = int64(random.IntN(3))
			}
		}
		history = append(history, next)
	}
	last := int64(0)
	for range 6 * versions {
		order := 1 + random.Int64N(versions)
		var err error
		switch random.IntN(12) {
		case 0:
			rdb.Del(t.Context(), pub.Keys().Exempt(group), pub.Keys().ExemptV(group))
			last = 0
		case 1:
			_, err = pub.PublishExemptions(t.Context(), group, order, history[order].entries())
		default:
			base := max(0, order-1-random.Int64N(4))
			_, _, err = pub.ChangeExemptions(t.Context(), group, allChanges(history, base, order))
		}
		if err != nil {
			t.Fatal(err)
		}
		stored, err := pub.ReadExemptions(t.Context(), []string{group})
		if err != nil {
			t.Fatal(err)
		}
		if stored[0].Order < last {
			t.Fatalf("the order went from %d back to %d", last, stored[0].Order)
		}
		last = stored[0].Order
		held(t, pub, group, last, history[last])
	}
}

// allChanges names every user that any version after base changed, as it is at order.
func allChanges(history []exempted, base, order int64) enforce.ExemptDelta {
	after := history[order]
	d := enforce.ExemptDelta{Base: base, Order: order, Count: int64(len(after))}
	seen := map[string]bool{}
	for v := base; v < order; v++ {
		step := history[v].changes(history[v+1], v, v+1)
		for _, e := range step.Put {
			seen[e.User] = true
		}
		for _, user := range step.Removed {
			seen[user] = true
		}
	}
	for user := range seen {
		if ms, ok := after[user]; ok {
			d.Put = append(d.Put, enforce.ExemptEntry{User: user, ExpiresMS: ms})
		} else {
			d.Removed = append(d.Removed, user)
		}
	}
	return d
}
