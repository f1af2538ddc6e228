package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/pgtest"
)

// askEvery is how often a phase asks whether it is over; editsAlone is how long edits are measured beside nothing.
const (
	askEvery   = 50 * time.Millisecond
	editsAlone = 3 * time.Second
)

// fleetPatience is how long one phase of the bench may take.
const fleetPatience = 10 * time.Minute

// fleetBench is a fleet of groups with own documents on Postgres (fsync on), Redis and one server, each its own process.
type fleetBench struct {
	*testing.B
	*stage
	server *instance
	groups int
	keys   enforce.Keys
	rounds uint64 // of edits
}

// BenchmarkFleet measures what `make bench-fleet` prints: FLEET_GROUPS groups (one million if it is not set) are republished,
// lost, rebuilt and compared. Run it with -benchtime 1x; it fails only if something goes wrong, not if a goal is missed.
func BenchmarkFleet(b *testing.B) {
	groups, err := strconv.Atoi(os.Getenv("FLEET_GROUPS"))
	if err != nil {
		groups = 1_000_000
	}
	f := &fleetBench{B: b, groups: groups, keys: enforce.NewKeys(""), stage: newStage(b, pgtest.Options{
		Fsync: true, Settings: []string{"shared_buffers=1GB", "max_wal_size=4GB", "checkpoint_timeout=15min"},
	})}
	f.env["PACEKEEPER_LOG_LEVEL"] = "INFO"
	f.seed()
	f.server = launch(b, f.env)
	began := time.Now()
	f.await("ready", func() bool { return f.server.status("/readyz") == http.StatusOK })
	fmt.Printf("fleet of %d groups; from start on an empty Redis to ready %.1f s\n", groups, time.Since(began).Seconds())
	f.calm()
	f.measure()
}

// measure runs the phases and prints the table.
func (f *fleetBench) measure() {
	hash := f.hash()
	peer := f.redisBenchmark()
	calm := f.beside()
	alone := f.republish(2000, nil)
	besides := f.republish(1000, f.edits)
	lost := f.flush(nil)
	f.calm()
	flush := f.flush(f.edits)
	verify := f.verify()
	encoding, bytes := f.layout()
	hot := f.hot()

	row := func(what, required, measured string) { fmt.Printf("| %s | %s | %s |\n", what, required, measured) }
	row("what", "required", "measured")
	row("---", "---", "---")
	perGroup := func(u usage) string {
		return fmt.Sprintf("Redis %.1f + server %.1f + PostgreSQL %.1f = %.1f µs", f.each(u.redis), f.each(u.server), f.each(u.postgres),
			f.each(u.cpu()))
	}
	row("redis-benchmark HSET of the same hash ("+strconv.Itoa(len(hash)/2)+" fields)", "", fmt.Sprintf("%.1f µs of Redis a hash, %.1f s", f.each(peer.redis), peer.wall.Seconds()))
	row("republish, paced, CPU a group", "≤ 3 × redis-benchmark's", fmt.Sprintf("%.2f × (%s)", ratio(alone.cpu(), peer.redis), perGroup(alone.usage)))
	row("republish, paced, wall", "≥ 45 % of its rate", fmt.Sprintf("%.0f %% (%.1f s)", 100*ratio(peer.wall, alone.wall), alone.wall.Seconds()))
	row("republish, unpaced after FLUSHALL, CPU a group", "≤ 3 × redis-benchmark's", fmt.Sprintf("%.2f × (%s)", ratio(lost.cpu(), peer.redis), perGroup(lost.usage)))
	row("republish, unpaced after FLUSHALL, wall", "≥ 45 % of its rate", fmt.Sprintf("%.0f %% (%.1f s)", 100*ratio(peer.wall, lost.wall), lost.wall.Seconds()))
	row("single edits beside nothing", "", calm.String())
	row("single edits meanwhile, paced", "p99 ≤ 10 ms", besides.edits.String())
	row("republish beside them", "", fmt.Sprintf("%.1f s", besides.wall.Seconds()))
	row("FLUSHALL noticed", "≤ 1.1 s", fmt.Sprintf("%.2f s", max(lost.noticed, flush.noticed).Seconds()))
	row("whole again, edits beside it", "≤ 1.5 × the fleet time", fmt.Sprintf("%.2f × (%.1f s; %s)", ratio(flush.wall, alone.wall), flush.wall.Seconds(), perGroup(flush.usage)))
	row("single edits meanwhile, unpaced", "p99 ≤ 50 ms", flush.edits.String())
	row("full comparison afterwards", "0 differences", verify.result)
	row("verify pass of all fields", "≤ 0.6 × the fleet time", fmt.Sprintf("%.2f × of the paced, %.2f × of the unpaced (%.1f s; %s)", ratio(verify.wall, alone.wall), ratio(verify.wall, lost.wall), verify.wall.Seconds(), perGroup(verify.usage)))
	row("memory of the server, highest", "≤ 150 MB", fmt.Sprintf("%d MB", highestMemory(f.TB(), f.server.cmd.Process.Pid)>>20))
	row("hash", "listpack, ≤ 420 B", fmt.Sprintf("%s, %d B", encoding, bytes))
	row("HOT updates of policy edits", "≥ 90 %", hot)
	f.ReportMetric(0, "ns/op")
}

// TB is the benchmark as what helpers take.
func (f *fleetBench) TB() testing.TB { return f.B }

func (f *fleetBench) each(d time.Duration) float64 {
	return float64(d.Nanoseconds()) / 1000 / float64(f.groups)
}

func ratio(a, b time.Duration) float64 { return a.Seconds() / b.Seconds() }

func (f *fleetBench) await(what string, ok func() bool) {
	f.Helper()
	eventually(f.B, fleetPatience, what, ok)
}

// calm waits until no fleet job runs and nothing waits.
func (f *fleetBench) calm() {
	f.await("nothing to publish", func() bool {
		got := f.server.call(f.B, http.MethodGet, "/v1/system/sync", "").want(f.B, http.StatusOK)
		return got.at("fleet", "running") == false && got.at("outbox_depth") == 0.0
	})
}

// run is one measured phase.
type run struct {
	usage
	edits editTimes
}

// republish sets the least interval of messages and measures until the fleet job has ended, perhaps beside edits.
func (f *fleetBench) republish(least int, edits func() func() editTimes) run {
	bounds := f.server.call(f.B, http.MethodGet, "/v1/system/bounds", "").want(f.B, http.StatusOK)
	delete(bounds.body, "version")
	message := bounds.at("actions", "message", "min_interval_ms").(map[string]any)
	message["min"] = least
	var r run
	r.usage = f.spent(func() {
		f.server.call(f.B, http.MethodPut, "/v1/system/bounds", asJSON(bounds.body), "If-Match", "*").want(f.B, http.StatusOK)
		stop := f.begin(edits)
		f.ended(bounds.body)
		r.edits = stop()
	})
	return r
}

// ended waits for the end of the job that follows, by the default hashes of the last shard, which come last, and then by the
// status.
func (f *fleetBench) ended(bounds map[string]any) {
	least := strconv.Itoa(bounds["actions"].(map[string]any)["message"].(map[string]any)["min_interval_ms"].(map[string]any)["min"].(int))
	order := f.redis.HGet(f.Context(), f.keys.Default(enforce.Shards-1, "message"), "order").Val()
	f.await("the defaults are published", func() bool {
		time.Sleep(askEvery)
		return f.redis.HGet(f.Context(), f.keys.Default(enforce.Shards-1, "message"), "order").Val() != order
	})
	if got := f.redis.HGet(f.Context(), f.keys.Policy("message", f.id(f.lowest())), "min_interval_ms").Val(); got != least {
		f.Fatalf("the defaults were published before the groups: %s ms, want %s", got, least)
	}
	f.await("the job has ended", func() bool {
		return f.server.call(f.B, http.MethodGet, "/v1/system/sync", "").want(f.B, http.StatusOK).at("fleet", "running") == false
	})
}

// beside measures edits while no job runs.
func (f *fleetBench) beside() editTimes {
	stop := f.edits()
	time.Sleep(editsAlone)
	times := stop()
	f.calm()
	return times
}

type flushRun struct {
	run
	noticed time.Duration
}

// flush empties Redis and measures from when that is noticed until all shards are whole again.
func (f *fleetBench) flush(edits func() func() editTimes) (r flushRun) {
	if err := f.redis.FlushAll(f.Context()).Err(); err != nil {
		f.Fatal(err)
	}
	began := time.Now()
	f.await("noticed", func() bool { return f.redis.Exists(f.Context(), f.keys.Epoch(0)).Val() == 1 })
	r.noticed = time.Since(began)
	r.usage = f.spent(func() {
		stop := f.begin(edits)
		f.await("whole again", f.whole)
		r.edits = stop()
	})
	return r
}

func (f *fleetBench) whole() bool {
	time.Sleep(askEvery)
	keys := make([]string, enforce.Shards)
	for i := range keys {
		keys[i] = f.keys.Epoch(uint8(i))
	}
	for _, value := range f.redis.MGet(f.Context(), keys...).Val() {
		if text, ok := value.(string); !ok || strings.HasPrefix(text, "~") {
			return false
		}
	}
	return true
}

type verifyRun struct {
	usage
	result string
}

// verify runs `server sync verify` beside the server.
func (f *fleetBench) verify() (r verifyRun) {
	cmd := exec.Command(binary, "sync", "verify")
	cmd.Env = f.server.cmd.Env
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	var err error
	r.usage = f.spent(func() { err = cmd.Run() })
	r.server += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	r.result = lines[len(lines)-1]
	if err != nil {
		r.result += " (" + err.Error() + ")"
	}
	return r
}
