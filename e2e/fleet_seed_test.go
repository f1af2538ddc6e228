package e2e_test

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
)

func (f *fleetBench) id(n int) string { return fmt.Sprintf("-100%010d", n*7919+13) }

// lowest is a group that asks for less than the bounds of the measured changes allow.
func (f *fleetBench) lowest() int { return 0 }

// document is what the admin of group n has saved: the pace of messages, some soft, of which Redis holds one hash. There
// are about 1.3 million different ones.
func (f *fleetBench) document(n int) string {
	r := rand.New(rand.NewPCG(uint64(n), 7))
	interval := 1000 + 100*r.IntN(91)
	if n == f.lowest() {
		interval = 1000
	}
	mode := ""
	if r.IntN(10) == 0 {
		mode = `"mode": "soft", `
	}
	text := fmt.Sprintf(`{"actions": {"message": {%s"min_interval_ms": %d, "window": {"algorithm": "sliding_window", "limit": %d, "period_ms": %d}}}}`,
		mode, interval, 3+r.IntN(48), 5000+1000*r.IntN(296))
	doc, err := policy.ParseDocument([]byte(text))
	if err != nil {
		f.Fatal(err)
	}
	return string(doc.JSON())
}

// seed copies the groups and the first version of each into the database, as if every admin had saved once.
func (f *fleetBench) seed() {
	ctx := f.Context()
	conn, err := pgx.Connect(ctx, f.env["PACEKEEPER_DATABASE_URL"])
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = conn.Close(ctx) }()
	now := time.Now().UnixMicro()
	group := func(n int) ([]any, error) {
		id := f.id(n)
		shard := int16(crc32.ChecksumIEEE([]byte(id)) & (enforce.Shards - 1))
		return []any{id, shard, "Group " + id, "en", int64(1), int64(1), f.document(n), int64(0), int64(0), now, now}, nil
	}
	version := func(n int) ([]any, error) {
		return []any{f.id(n), int64(1), "update", f.document(n), now, "seed", "operator", "api", ""}, nil
	}
	f.copy(conn, "groups", []string{
		"id", "shard", "name", "locale", "revision", "version", "document", "exemptions_version", "exemptions_count", "created_at", "updated_at",
	}, group)
	f.copy(conn, "policy_versions", []string{
		"group_id", "version", "kind", "document", "at", "actor", "role", "channel", "reason",
	}, version)
	for _, statement := range []string{"VACUUM ANALYZE groups", "VACUUM ANALYZE policy_versions", "CHECKPOINT"} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			f.Fatal(err)
		}
	}
}

func (f *fleetBench) copy(conn *pgx.Conn, table string, columns []string, row func(int) ([]any, error)) {
	if _, err := conn.CopyFrom(f.Context(), pgx.Identifier{table}, columns, pgx.CopyFromSlice(f.groups, row)); err != nil {
		f.Fatal(err)
	}
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
