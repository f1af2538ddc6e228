package e2e_test

import (
	"context"
	"database/sql"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// steps is a stage with two servers, each behind a gate of its own, that are brought to a step and killed there.
type steps struct {
	*testing.T
	*stage
	whole  testing.TB // the test of all steps: servers live as long
	keys   enforce.Keys
	db     *sql.DB
	gates  [2]*gate
	lives  [2]*instance
	editor *store.Store // commits and publishes nothing, as a program that dies right after the commit
	least  int          // the bounds of the last change: each changes something
}

// The documented times, each with some seconds for a busy machine.
const (
	machine     = 8 * time.Second
	firstLease  = time.Second + machine    // a change belongs to who committed it for so long
	fleetLease  = 4*time.Second + machine  // shards of the fleet job, and the look each second
	outboxLease = 16*time.Second + machine // rows that a poll claimed, and the poll each second
	orphanTime  = 11*time.Second + machine // a rebuild that nobody asked for
)

// TestKilledAtEachStep kills a server −9 at each step between a request and Redis. The other one brings everything live
// within the documented time, nothing is stuck, Redis equals Postgres, and versions match the audit (C50, C60).
func TestKilledAtEachStep(t *testing.T) { //nolint:tparallel // one step after the other on one stage
	t.Parallel()
	s := newSteps(t)
	for _, step := range []struct {
		name   string
		within time.Duration
		reach  func(*steps) (dead int) // and kill
	}{
		{"before the commit of one statement", firstLease, (*steps).beforeStatement},
		{"before the commit of a transaction", firstLease, (*steps).beforeCommit},
		{"after the commit, before publishing", firstLease, (*steps).beforePublishing},
		{"between read and write, the write arriving late", firstLease, (*steps).betweenReadAndWrite},
		{"in a claim of the outbox", outboxLease, (*steps).inOutboxClaim},
		{"bounds committed, the job not asked for", firstLease, (*steps).beforeAsking},
		{"bounds claimed, the job not asked for", fleetLease, (*steps).claimedBeforeAsking},
		{"in a claim of the fleet job", fleetLease, (*steps).inFleetClaim},
		{"between the groups and the default hashes", fleetLease, (*steps).beforeDefaults},
		{"in an import", firstLease, (*steps).inImport},
		{"in a sealing of the audit", firstLease, (*steps).inSealing},
		{"in a rebuild", fleetLease, (*steps).inRebuild},
		{"in a rebuild that was not asked for", orphanTime, (*steps).beforeAskingRebuild},
	} {
		passed := t.Run(step.name, func(t *testing.T) {
			at := *s
			at.T = t
			dead := step.reach(&at)
			at.wholeWithin(step.within, dead)
			at.revive(dead)
			s.lives, s.least = at.lives, at.least
		})
		if !passed {
			t.Fatal("a server is missing for the steps that are left")
		}
	}
	wantVerified(s, s.stage)
	s.wantRebuilt()
	wantVerified(s, s.stage)
}

// wantRebuilt empties Redis: what the database makes of it anew is what all the killing left there.
func (s *steps) wantRebuilt() {
	s.Helper()
	before := contents(s, s.stage)
	s.flush()
	s.settled(20 * time.Second)
	if diff := cmp.Diff(contents(s, s.stage), before); diff != "" {
		s.Errorf("Redis was not what a rebuild makes of the database (- rebuilt, + before):\n%s", diff)
	}
}

const stepGroups = 6

func stepGroup(n int) string { return "step-" + strconv.Itoa(n) }

func newSteps(t *testing.T) *steps {
	t.Helper()
	s := &steps{T: t, whole: t, stage: newStage(t, pgtest.Options{}), keys: enforce.NewKeys(""), least: 1000}
	url := s.env["PACEKEEPER_DATABASE_URL"]
	s.db = pgtest.SQL(t, url)
	key, err := base64.StdEncoding.DecodeString(auditKey)
	if err != nil {
		t.Fatal(err)
	}
	s.editor = pgtest.Open(t, url, func(c *store.Config) { c.AuditKey = key })
	for n := range s.gates {
		s.gates[n] = startGate(t, s.redis.Options().Addr)
		s.launch(n)
	}
	for n := range s.lives {
		s.lives[n].awaitReady(t)
	}
	for n := range stepGroups {
		s.lives[0].group(t, stepGroup(n), `{"actions":{"message":{"min_interval_ms":1000}}}`)
	}
	s.settled(10 * time.Second)
	return s
}

// launch starts a server that Postgres knows by name and that reaches Redis through its gate.
func (s *steps) launch(n int) {
	s.Helper()
	env := maps.Clone(s.env)
	env["PACEKEEPER_DATABASE_URL"] += "?application_name=" + serverName(n)
	env["PACEKEEPER_REDIS_URL"] = s.gates[n].url()
	s.lives[n] = launch(s.whole, env)
}

func serverName(n int) string { return "server" + strconv.Itoa(n) }

func (s *steps) kill(n int) { s.Helper(); s.lives[n].kill(s) }

// revive starts the killed server again, and waits until all is quiet.
func (s *steps) revive(n int) {
	s.Helper()
	s.launch(n)
	s.lives[n].awaitReady(s)
	s.settled(20 * time.Second)
}

// gateOf is the number of a gate's server.
func (s *steps) gateOf(g *gate) int {
	if g == s.gates[0] {
		return 0
	}
	return 1
}

// ask sends a request that may never be answered.
func (s *steps) ask(n int, method, path, body string, headers ...string) {
	life := s.lives[n]
	go func() { _, _ = life.try(method, path, body, headers...) }()
}

// put asks for another interval of a group.
func (s *steps) put(n int, group string, interval int) {
	s.ask(n, http.MethodPut, "/v1/groups/"+group+"/policy", fmt.Sprintf(`{"actions":{"message":{"min_interval_ms":%d}}}`, interval), "If-Match", "*")
}

// save does the same without a server.
func (s *steps) save(group string, interval int) {
	s.Helper()
	doc, err := policy.ParseDocument(fmt.Appendf(nil, `{"actions":{"message":{"min_interval_ms":%d}}}`, interval))
	if err != nil {
		s.Fatal(err)
	}
	_, _, err = s.editor.UpdatePolicy(s.Context(), someEditor, group, store.Anything(),
		func(*policy.System, policy.Document) (policy.Document, error) { return doc, nil })
	if err != nil {
		s.Fatal(err)
	}
}

var someEditor = store.Actor{Name: "editor", Role: store.RoleOperator, Channel: store.ChannelAPI}

// raised are bounds that raise the least interval of messages once more, so that every group changes.
func (s *steps) raised() policy.Bounds {
	s.Helper()
	s.least += 500
	bounds := policy.ShippedBounds()
	message := bounds.Actions["message"]
	message.MinIntervalMS = policy.Range{Min: int64(s.least), Max: 10_000}
	bounds.Actions["message"] = message
	return bounds
}

func (s *steps) putBounds(n int) {
	s.Helper()
	names := []string{"message", "comment", "like", "upload", "sms", "login", "coupon"}
	s.ask(n, http.MethodPut, "/v1/system/bounds", string(s.raised().JSON(names)), "If-Match", "*")
}

// lock keeps writers out of a table until release; readers pass.
func (s *steps) lock(table, mode string) (release func()) {
	s.Helper()
	tx, err := s.db.BeginTx(context.WithoutCancel(s.Context()), nil)
	if err != nil {
		s.Fatal(err)
	}
	if _, err := tx.ExecContext(s.Context(), "LOCK TABLE "+table+" IN "+mode+" MODE"); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = tx.Rollback() })
	return func() { _ = tx.Rollback() }
}

// waiting is the number of the server whose statement waits for a lock of ours. Of is a part of the statement.
func (s *steps) waiting(of string) (n int) {
	s.Helper()
	eventually(s, 10*time.Second, "a server waits with "+of, func() bool {
		var name string
		err := s.db.QueryRowContext(s.Context(), `SELECT application_name FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND application_name LIKE 'server_' AND position($1 in query) > 0 LIMIT 1`, of).Scan(&name)
		n, _ = strconv.Atoi(strings.TrimPrefix(name, "server"))
		return err == nil
	})
	return n
}

func (s *steps) number(query string, args ...any) (n int64) {
	s.Helper()
	if err := s.db.QueryRowContext(s.Context(), query, args...).Scan(&n); err != nil {
		s.Fatal(err)
	}
	return n
}

func (s *steps) version(group string) int64 {
	s.Helper()
	return s.number("SELECT version FROM groups WHERE id = $1", group)
}

func (s *steps) inRedis(group, field string) string {
	return s.redis.HGet(s.Context(), s.keys.Policy("message", group), field).Val()
}

// behind says what of the database is not in Redis; "" = nothing. What Redis has must be of these very counters.
func (s *steps) behind() string {
	s.Helper()
	if waits := onItsWay(s, s.db); waits != "" {
		return waits
	}
	system := s.number("SELECT generation * 1099511627776 + bounds_version + defaults_version FROM system")
	for n := range stepGroups {
		want := system + s.version(stepGroup(n))
		if got := s.inRedis(stepGroup(n), "order"); got != strconv.FormatInt(want, 10) {
			return fmt.Sprintf("%s has order %s, want %d", stepGroup(n), got, want)
		}
	}
	for shard := range enforce.Shards {
		key := s.keys.Default(uint8(shard), "message")
		if got := s.redis.HGet(s.Context(), key, "order").Val(); got != strconv.FormatInt(system, 10) {
			return fmt.Sprintf("%s has order %s, want %d", key, got, system)
		}
	}
	return ""
}

func (s *steps) settled(within time.Duration) {
	s.Helper()
	missing := ""
	eventually(&tellWhat{TB: s, what: &missing}, within, "Redis has it all", func() bool {
		missing = s.behind()
		return missing == ""
	})
}

// tellWhat adds to a failure what was missing.
type tellWhat struct {
	testing.TB
	what *string
}

func (t *tellWhat) Fatalf(format string, args ...any) {
	t.Helper()
	t.TB.Fatalf(format+": %s", append(args, *t.what)...)
}

// wholeWithin waits until the other server has brought everything live, and holds what must be true then.
func (s *steps) wholeWithin(within time.Duration, dead int) {
	s.Helper()
	begun := time.Now()
	s.settled(within)
	s.Logf("whole after %v", time.Since(begun).Round(time.Millisecond))
	other := s.lives[1-dead]
	eventually(s, machine, "nothing of the dead is left", func() bool {
		return s.number("SELECT count(*) FROM pg_stat_activity WHERE application_name = $1", serverName(dead)) == 0
	})
	if n := s.number("SELECT count(*) FROM pg_locks WHERE NOT granted"); n > 0 {
		s.Errorf("%d wait for locks", n)
	}
	other.awaitReady(s)
	eventually(s, machine, "no lane is in trouble", func() bool { return laneTrouble(s, other) == "" })
	wantAudited(s, s.db)
	wantChain(s, other)
}
