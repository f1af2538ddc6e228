package e2e_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// What must hold of any stage once it is quiet: Redis is as the database says, and the database says one thing only.

// onItsWay says what the database still has to bring to Redis or to seal; "" = nothing.
func onItsWay(tb testing.TB, db *sql.DB) string {
	tb.Helper()
	var rows, shards, unsealed int
	err := db.QueryRowContext(tb.Context(), `SELECT (SELECT count(*) FROM outbox),
		(SELECT count(*) FROM fleet_shards WHERE ended < asked), (SELECT count(*) FROM audit_entries WHERE seq IS NULL)`).
		Scan(&rows, &shards, &unsealed)
	if err != nil {
		return err.Error()
	}
	if rows+shards+unsealed > 0 {
		return fmt.Sprintf("%d outbox rows, %d shards of the fleet job, %d entries to seal", rows, shards, unsealed)
	}
	return ""
}

// versionsAndEntries are the versions without an entry of the same document and moment, and the entries without a version.
const versionsAndEntries = `
	WITH v AS (SELECT group_id, at, CASE kind WHEN 'archive' THEN 'group.archive' WHEN 'unarchive' THEN 'group.unarchive'
				ELSE 'policy.' || kind END AS action,
			CASE WHEN kind IN ('archive', 'unarchive') THEN '' ELSE document END AS document, count(*) AS n
		FROM policy_versions GROUP BY 1, 2, 3, 4),
	a AS (SELECT group_id, at, action, CASE WHEN action LIKE 'group.%' THEN '' ELSE after END AS document, count(*) AS n
		FROM audit_entries WHERE action IN ('policy.update', 'policy.delete', 'policy.restore', 'group.archive', 'group.unarchive')
		GROUP BY 1, 2, 3, 4)
	SELECT (SELECT count(*) FROM (TABLE v EXCEPT TABLE a) x) AS "versions without an entry",
		(SELECT count(*) FROM (TABLE a EXCEPT TABLE v) x) AS "entries without a version"`

// wrong are counts that must be 0, by what they count.
var wrong = map[string]string{
	"groups whose version is not the number of their versions": `SELECT count(*) FROM groups AS g
		WHERE (SELECT count(*) FROM policy_versions WHERE group_id = g.id) <> g.version
			OR (SELECT COALESCE(max(version), 0) FROM policy_versions WHERE group_id = g.id) <> g.version`,
	"groups whose exemptions are not those that the audit added and did not remove": `SELECT count(*) FROM groups AS g
		WHERE (SELECT count(*) FROM exemptions WHERE group_id = g.id) <> g.exemptions_count
			OR (SELECT COALESCE(sum(CASE action WHEN 'exemption.add' THEN 1 WHEN 'exemption.remove' THEN -1 ELSE 0 END), 0)
				FROM audit_entries WHERE group_id = g.id) <> g.exemptions_count`,
	"bounds without an entry, or the other way": `SELECT abs((SELECT count(*) FROM bounds_versions)
			- (SELECT count(*) FROM audit_entries WHERE action = 'bounds.update'))
		+ abs((SELECT count(*) FROM bounds_versions) - (SELECT bounds_version FROM system))`,
	"defaults without an entry, or the other way": `SELECT abs((SELECT count(*) FROM defaults_versions)
			- (SELECT count(*) FROM audit_entries WHERE action IN ('defaults.update', 'action.put')))
		+ abs((SELECT count(*) FROM defaults_versions) - (SELECT defaults_version FROM system))`,
}

// wantAudited holds that versions and audit entries match both ways (C60).
func wantAudited(tb testing.TB, db *sql.DB) {
	tb.Helper()
	var versions, entries int
	if err := db.QueryRowContext(tb.Context(), versionsAndEntries).Scan(&versions, &entries); err != nil {
		tb.Fatal(err)
	}
	if versions+entries > 0 {
		tb.Errorf("%d versions have no audit entry, %d audit entries have no version", versions, entries)
	}
	for what, query := range wrong {
		var n int
		if err := db.QueryRowContext(tb.Context(), query).Scan(&n); err != nil {
			tb.Fatal(err)
		}
		if n != 0 {
			tb.Errorf("%s: %d", what, n)
		}
	}
}

// wantChain holds that the audit log verifies.
func wantChain(tb testing.TB, i *instance) {
	tb.Helper()
	got := i.call(tb, http.MethodGet, "/v1/audit-events/verify", "").want(tb, http.StatusOK)
	if got.at("ok") != true || got.at("entries") == 0.0 {
		tb.Errorf("the audit log does not verify: %v", got.body)
	}
}

// wantVerified holds the servers' own full comparison of Redis with the database to find nothing.
func wantVerified(tb testing.TB, at *stage) {
	tb.Helper()
	said, err := command(tb, at.env, "sync", "verify")
	if err != nil || !strings.Contains(said, "0 differences in ") {
		tb.Errorf("sync verify: %v\n%s", err, said)
	}
}

// laneTrouble says which lanes of a server are in trouble; "" = none.
func laneTrouble(tb testing.TB, i *instance) string {
	tb.Helper()
	got := i.call(tb, http.MethodGet, "/v1/system/sync", "").want(tb, http.StatusOK)
	lanes, _ := got.at("lanes").([]any)
	if len(lanes) < 8 {
		tb.Fatalf("lanes: %v", lanes)
	}
	var trouble []string
	for _, lane := range lanes {
		if lane, _ := lane.(map[string]any); lane["error"] != "" {
			trouble = append(trouble, fmt.Sprintf("%v: %v", lane["name"], lane["error"]))
		}
	}
	return strings.Join(trouble, "; ")
}

// ours calls fn with every key of ours.
func ours(tb testing.TB, at *stage, fn func(key, kind string)) {
	tb.Helper()
	keys := at.redis.Scan(tb.Context(), 0, "pk:*", 1000).Iterator()
	for keys.Next(tb.Context()) {
		kind, _, _ := strings.Cut(strings.TrimPrefix(keys.Val()[len("pk:{s00}"):], ":"), ":")
		fn(keys.Val(), kind)
	}
	if err := keys.Err(); err != nil {
		tb.Fatal(err)
	}
}

// wantTTLs holds that state, members' records and lists of the muted have an end.
func wantTTLs(tb testing.TB, at *stage) {
	tb.Helper()
	seen := 0
	ours(tb, at, func(key, kind string) {
		if kind != "state" && kind != "member" && kind != "muted" {
			return
		}
		seen++
		if ttl := at.redis.TTL(tb.Context(), key).Val(); ttl == -1 {
			tb.Errorf("%s has no TTL", key)
		}
	})
	if seen == 0 {
		tb.Error("there is no state in Redis at all")
	}
}

// contents are the keys that a rebuild must make again: hashes without withdrawn ones, exemptions with their order, and the
// mutes that do not end soon.
func contents(tb testing.TB, at *stage) map[string]map[string]string {
	tb.Helper()
	all, later := map[string]map[string]string{}, float64(time.Now().Add(time.Hour).UnixMilli())
	ours(tb, at, func(key, kind string) {
		switch kind {
		case "policy", "default", "notice":
			if fields := at.redis.HGetAll(tb.Context(), key).Val(); fields["deleted"] != "1" {
				all[key] = fields
			}
		case "exemptv":
			all[key] = map[string]string{"order": at.redis.Get(tb.Context(), key).Val()}
		case "exempt", "muted":
			members := scored(at.redis.ZRangeWithScores(tb.Context(), key, 0, -1).Val(), kind, later)
			if len(members) > 0 {
				all[key] = members
			}
		}
	})
	if len(all) == 0 {
		tb.Fatal("Redis holds nothing")
	}
	return all
}

func scored(members []redis.Z, kind string, later float64) map[string]string {
	all := map[string]string{}
	for _, z := range members {
		if kind == "exempt" || z.Score > later {
			all[fmt.Sprint(z.Member)] = strconv.FormatFloat(z.Score, 'f', -1, 64)
		}
	}
	return all
}
