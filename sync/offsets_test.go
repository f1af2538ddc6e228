package sync_test

import (
	"strconv"
	"testing"
	_ "time/tzdata" // the test's zones are IANA's, whatever the host has

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
)

// TestOffsetsMoveOn: a hash that was compiled before its zone's last change is compiled anew by the next pass, which is no
// drift; one that another clock compiled further ahead is left alone.
func TestOffsetsMoveOn(t *testing.T) {
	t.Parallel()
	at := site{url: pgtest.SQLite(t), rdb: redistest.Real(t), keys: enforce.NewKeys("")}
	a := start(t, at, steadily)
	a.group(t, "g1")
	a.live(t, a.save(t, "g1", `{"time_zone": "Europe/Berlin", "actions": {"upload": {}}}`))
	key := at.keys.Policy("upload", "g1")
	next, err := strconv.ParseInt(at.field(t, key, "next_offset_at"), 10, 64)
	if err != nil || next < 1_774_746_000_000 {
		t.Fatalf("next_offset_at is %d, %v", next, err)
	}
	at.compiled(t, key, next-15_000_000_000)
	eventually(t, "the offsets move on", func() bool {
		return at.field(t, key, "next_offset_at") == strconv.FormatInt(next, 10)
	})
	ahead := strconv.FormatInt(next+15_000_000_000, 10)
	at.compiled(t, key, next+15_000_000_000)
	for range 3 {
		a.reconciled(t)
	}
	if got := at.field(t, key, "next_offset_at"); got != ahead {
		t.Errorf("next_offset_at is %s, the one that reached further was %s", got, ahead)
	}
	for _, kind := range []string{"fields", "offsets"} {
		if n := a.Drift(kind); n > 0 {
			t.Errorf("%v counted as drift of %s", n, kind)
		}
	}
}

// compiled makes the hash what a compiler with another clock has made of it.
func (at site) compiled(tb testing.TB, key string, nextOffsetAt int64) {
	tb.Helper()
	err := at.rdb.HSet(tb.Context(), key, "next_offset_at", nextOffsetAt, "digest", strconv.FormatInt(nextOffsetAt, 16)).Err()
	if err != nil {
		tb.Fatal(err)
	}
}
