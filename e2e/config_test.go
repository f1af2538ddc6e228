package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
)

// The commands of docs/policy-as-config.md, as pasted into a shell: each printed line is what really happens.
func TestPolicyAsConfigWalkThrough(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/policy-as-config.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, _ := strings.Cut(string(text), "\n## Commands\n")
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	steps := blocks(chapter)
	if len(steps) < 5 {
		t.Fatalf("%d steps", len(steps))
	}
	i := embedded(t)
	const border = "--- end of step ---"
	var script strings.Builder
	for _, s := range steps {
		script.WriteString(strings.ReplaceAll(s.commands, "http://127.0.0.1:8080", i.url) + "echo '" + border + "'\n")
	}
	shell := exec.Command("sh", "-c", script.String())
	shell.Dir = t.TempDir()
	shell.Env = []string{"PATH=" + filepath.Dir(binary) + ":" + os.Getenv("PATH"), "TOKEN=" + operator}
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	printed := strings.Split(string(out), border+"\n")
	for n, s := range steps {
		if diff := cmp.Diff(strings.TrimSpace(s.shows), strings.TrimSpace(printed[n])); diff != "" {
			t.Errorf("after\n%s\n(-docs +printed)\n%s", s.commands, diff)
		}
	}
}

// fileOf states a policy for n groups.
func fileOf(n int, intervalMS int) string {
	var b strings.Builder
	b.WriteString(`{"groups":{`)
	for g := range n {
		if g > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"many-%05d":{"name":"G","policy":{"actions":{"message":{"min_interval_ms":%d}}}}`, g, intervalMS)
	}
	b.WriteString(`}}`)
	return b.String()
}

// plan asks for the counts of a plan, and its token.
func (i *instance) plan(tb testing.TB, file string) (pending, unchanged float64, token string) {
	tb.Helper()
	got := i.call(tb, http.MethodPost, "/v1/policies/plan", file).want(tb, http.StatusOK)
	count := func(op string) float64 { n, _ := got.at("counts", op).(float64); return n }
	token, _ = got.at("plan_token").(string)
	return count("create") + count("update"), count("unchanged"), token
}

// A server that is killed in the middle of an apply leaves all of it or nothing: in the database, the audit log and Redis.
func TestKillInTheMiddleOfAnApply(t *testing.T) {
	t.Parallel()
	const groups = 2000
	s := newStage(t, pgtest.Options{})
	stays := serve(t, s.env)
	nothing := 0
	for round, delay := range []time.Duration{20 * time.Millisecond, 150 * time.Millisecond, 400 * time.Millisecond, time.Second} {
		file := fileOf(groups, 2000+round)
		before := applyEntries(t, stays)
		victim := serve(t, s.env)
		_, _, token := victim.plan(t, file)
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			_, _ = victim.try(http.MethodPost, "/v1/policies/apply?plan_token="+url.QueryEscape(token), file)
		}()
		time.Sleep(delay) // the moment of the kill, not a wait for something
		victim.kill(t)
		<-answered
		var pending, unchanged float64
		eventually(t, 20*time.Second, "the database has ended the transaction of the killed", func() bool {
			pending, unchanged, _ = stays.plan(t, file)
			return applyEntries(t, stays) == before || pending == 0
		})
		wrote := applyEntries(t, stays) - before
		switch {
		case pending == 0:
			if unchanged != 2*groups || wrote != groups && wrote != 2*groups {
				t.Errorf("round %d: all was applied, with %d entries, %v unchanged", round, wrote, unchanged)
			}
		case wrote == 0 && (pending == groups || pending == 2*groups):
			nothing++
		default:
			t.Errorf("round %d: %v of the changes are left, %d entries", round, pending, wrote)
		}
		checkLive(t, stays, pending == 0, 2000+round)
	}
	if nothing == 0 {
		t.Error("no kill came before the end: the test tests nothing")
	}
}

// checkLive checks that what decides in Redis is what the database says.
func checkLive(tb testing.TB, i *instance, applied bool, interval int) {
	tb.Helper()
	for _, id := range []string{"many-00000", "many-01999"} {
		got := i.call(tb, http.MethodGet, "/v1/groups/"+id+"/policy", "")
		if !applied {
			if got.status == http.StatusOK && got.at("requested", "actions", "message", "min_interval_ms") == float64(interval) {
				tb.Errorf("%s has %d although nothing was applied", id, interval)
			}
			continue
		}
		eventually(tb, 20*time.Second, id+" is live", func() bool {
			return i.check(tb, id, "u").at("version") == got.at("version")
		})
	}
}

// applyEntries counts the audit entries of applies by their export.
func applyEntries(tb testing.TB, i *instance) (n int) {
	tb.Helper()
	request, err := http.NewRequest(http.MethodGet, i.url+"/v1/audit-events/export?channel=apply", nil)
	if err != nil {
		tb.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+operator)
	response, err := i.client.Do(request)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return strings.Count(string(data), "\n") - 1
}

// BenchmarkApply applies 10,000 changed policies over REST, on Postgres with fsync on and Redis, while eight others save
// single policies. Reported: seconds of an apply, p99 of the saves meanwhile, p99 of their way to Redis as the answers tell
// it, and how long until all 10,000 are live.
func BenchmarkApply(b *testing.B) {
	s := newStage(b, pgtest.Options{Fsync: true})
	i := serve(b, s.env)
	i.client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: restConnections}}
	const groups, savers = 10_000, 8
	for n := range savers {
		i.group(b, "single-"+strconv.Itoa(n), `{"actions":{"message":{"min_interval_ms":1000}}}`)
	}
	i.call(b, http.MethodPost, "/v1/policies/apply?plan_token=*", fileOf(groups, 1000), "Prefer", "wait=30").want(b, http.StatusOK)
	var saves, lags, applies, live []time.Duration
	for n := range b.N {
		file := fileOf(groups, 1001+n)
		stop := i.saveSingles(b, savers, &saves, &lags)
		begun := time.Now()
		_, _, token := i.plan(b, file)
		i.call(b, http.MethodPost, "/v1/policies/apply?plan_token="+url.QueryEscape(token), file, "Prefer", "wait=0").want(b, http.StatusOK)
		applies = append(applies, time.Since(begun))
		eventually(b, time.Minute, "all is live", func() bool {
			return i.call(b, http.MethodGet, "/v1/groups/many-09999/policy", "").at("pending") == false &&
				i.call(b, http.MethodGet, "/v1/groups/many-05000/policy", "").at("pending") == false
		})
		live = append(live, time.Since(begun))
		stop()
	}
	slices.Sort(saves)
	slices.Sort(lags)
	b.ReportMetric(slices.Max(applies).Seconds(), "plan+apply-s")
	b.ReportMetric(slices.Max(live).Seconds(), "to-live-s")
	b.ReportMetric(float64(len(saves))/float64(b.N), "saves")
	b.ReportMetric(milliseconds(saves[len(saves)*99/100]), "save-p99-ms")
	b.ReportMetric(milliseconds(lags[len(lags)*99/100]), "lag-p99-ms")
}

// saveSingles saves policies of other groups, one after the other on each connection, until it is stopped.
func (i *instance) saveSingles(b *testing.B, savers int, saves, lags *[]time.Duration) (stop func()) {
	b.Helper()
	var mu sync.Mutex
	var running sync.WaitGroup
	done := make(chan struct{})
	for n := range savers {
		running.Go(func() {
			for k := 0; ; k++ {
				select {
				case <-done:
					return
				case <-time.After(20 * time.Millisecond): // people, not a flood
				}
				got, err := i.try(http.MethodPut, "/v1/groups/single-"+strconv.Itoa(n)+"/policy",
					fmt.Sprintf(`{"actions":{"message":{"min_interval_ms":%d}}}`, 1000+(k*savers+n+int(time.Now().UnixMilli()))%9000), "If-Match", "*", "Prefer", "wait=5")
				if err != nil || got.status != http.StatusOK {
					b.Errorf("a save: %d %v", got.status, err)
					return
				}
				lag, _ := got.at("live", "lag_ms").(float64)
				mu.Lock()
				*saves, *lags = append(*saves, got.took), append(*lags, time.Duration(lag*float64(time.Millisecond)))
				mu.Unlock()
			}
		})
	}
	return func() { close(done); running.Wait() }
}
