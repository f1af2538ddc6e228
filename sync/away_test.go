package sync_test

import (
	"database/sql"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	policysync "github.com/pacekeeper/pacekeeper/sync"
)

// lastAsking is the number of the last asking for a fleet job.
func (at site) lastAsking(t *testing.T) (number int64) {
	t.Helper()
	withSQL(t, at, func(db *sql.DB) error {
		return db.QueryRowContext(t.Context(), "SELECT number FROM fleet_job").Scan(&number)
	})
	return number
}

// askedAfter are the shards that were asked for after that number.
func (at site) askedAfter(t *testing.T, number int64) (shards []int) {
	t.Helper()
	withSQL(t, at, func(db *sql.DB) error {
		var list string
		err := db.QueryRowContext(t.Context(), "SELECT COALESCE(string_agg(CAST(shard AS text), ' ' ORDER BY shard), '') FROM fleet_shards WHERE asked > $1", number).Scan(&list)
		for word := range strings.FieldsSeq(list) {
			shard, _ := strconv.Atoi(word)
			shards = append(shards, shard)
		}
		return err
	})
	return shards
}

// shardsOf are the shards that a master serves.
func (at site) shardsOf(t *testing.T, c *redistest.Cluster, master *redistest.Server) (shards []int) {
	t.Helper()
	for shard := range enforce.Shards {
		if c.Home(t, at.keys.Epoch(uint8(shard))) == master {
			shards = append(shards, shard)
		}
	}
	return shards
}

// TestOneMasterStaysAway kills a master and its replica. What the others serve goes on as ever: bounds reach groups and
// default hashes, damage is mended. When the master is back, empty, its shards get all of it.
func TestOneMasterStaysAway(t *testing.T) {
	t.Parallel()
	at, c := clustered(t)
	a := start(t, at, many, func(c *policysync.Config) { c.ReconcileEvery = time.Second })
	by := homes(t, at, c, 1)
	here, gone, dead := by[1][0], by[0][0], at.shardsOf(t, c, c.Nodes[0])
	for _, id := range []string{here, gone} {
		a.group(t, id)
		a.save(t, id, `{"actions": {"message": {"min_interval_ms": 1000}}}`)
	}
	a.drained(t)
	c.Replica(c.Nodes[0]).Stop()
	c.Nodes[0].Stop()
	eventually(t, "away", func() bool { return a.Ready() != nil })
	a.raiseBound(t, 3000)
	for _, key := range []string{at.keys.Policy("message", here), at.keys.Default(enforce.Shard(here), "message")} {
		eventually(t, key+" is clamped", func() bool { return at.field(t, key, "min_interval_ms") == "3000" })
		if err := at.rdb.Del(t.Context(), key).Err(); err != nil {
			t.Fatal(err)
		}
		eventually(t, key+" is mended", func() bool { return at.field(t, key, "min_interval_ms") == "3000" })
	}
	eventually(t, "the job is through with the others", func() bool {
		st := a.Status().Fleet
		return st.Running && st.Done == st.Shards-int64(len(dead))
	})
	c.Restart(t, c.Nodes[0])
	wholeAndEqual(t, a)
	if got := at.field(t, at.keys.Policy("message", gone), "min_interval_ms"); got != "3000" {
		t.Errorf("on the master that came back: %s", got)
	}
}
