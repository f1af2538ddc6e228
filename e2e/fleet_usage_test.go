package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

// usage is what a phase took: the wall, and the CPU of each process.
type usage struct{ wall, redis, server, postgres time.Duration }

func (u usage) cpu() time.Duration { return u.redis + u.server + u.postgres }

// spent measures fn.
func (f *fleetBench) spent(fn func()) usage {
	before, began := f.clocks(), time.Now()
	fn()
	after := f.clocks()
	return usage{time.Since(began), after[0] - before[0], after[1] - before[1], after[2] - before[2]}
}

// clocks are the CPU times of Redis, the server, and Postgres with all of its backends, those that have ended too.
func (f *fleetBench) clocks() [3]time.Duration {
	tb := f.TB()
	clocks := [3]time.Duration{cpuOf(tb, f.redis.cmd.Process.Pid, false)}
	if f.server != nil {
		clocks[1] = cpuOf(tb, f.server.cmd.Process.Pid, false)
	}
	master := f.postgres.PID(tb)
	clocks[2] = cpuOf(tb, master, true)
	for _, child := range childrenOf(master) {
		clocks[2] += cpuOf(tb, child, false)
	}
	return clocks
}

// clockTick is the unit of /proc/<pid>/stat on Linux.
const clockTick = time.Second / 100

// cpuOf reads the time that a process spent, with ended says that of its children that have ended as well. 0 = it is gone.
func cpuOf(tb testing.TB, pid int, ended bool) (sum time.Duration) {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	times := fields[11:13] // utime, stime
	if ended {
		times = fields[11:15] // and cutime, cstime
	}
	for _, field := range times {
		n, err := strconv.Atoi(field)
		if err != nil {
			tb.Fatal(err)
		}
		sum += time.Duration(n) * clockTick
	}
	return sum
}

func childrenOf(pid int) (children []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file)
		for word := range strings.FieldsSeq(string(text)) {
			if n, err := strconv.Atoi(word); err == nil {
				children = append(children, n)
			}
		}
	}
	return children
}

// highestMemory is the most that a process ever had resident, in bytes.
func highestMemory(tb testing.TB, pid int) int64 {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		tb.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return kilobytes << 10
}

// hash is one group's hash as it stands in Redis, field, value, ….
func (f *fleetBench) hash() (words []string) {
	all := f.redis.HGetAll(f.Context(), f.keys.Policy("message", f.id(1))).Val()
	for field, value := range all {
		words = append(words, field, value)
	}
	if len(words) == 0 {
		f.Fatal("the hash is not there")
	}
	return words
}

// redisBenchmark lets redis-benchmark write as many of the same hashes, into a database of its own, and measures the second
// round, which overwrites as a republishing does. program is binary: an argument of as many bytes stands for it.
func (f *fleetBench) redisBenchmark() usage {
	args := []string{
		"-p", strconv.Itoa(f.redis.port), "--dbnum", "1", "-n", strconv.Itoa(f.groups), "-r", strconv.Itoa(f.groups), "-P", "25", "-q",
		"HSET", "pk:{s1f}:policy:message|-100__rand_int__",
	}
	words := f.hash()
	for i := 0; i < len(words); i += 2 {
		if words[i] == "program" {
			words[i+1] = strings.Repeat("p", len(words[i+1]))
		}
	}
	var u usage
	for range 2 {
		cmd := exec.Command("redis-benchmark", append(args, words...)...)
		u = f.spent(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				f.Fatalf("%v: %s", err, out)
			}
		})
	}
	other := redis.NewClient(&redis.Options{Addr: f.redis.Options().Addr, DB: 1})
	defer func() { _ = other.Close() }()
	if err := other.FlushDB(f.Context()).Err(); err != nil {
		f.Fatal(err)
	}
	f.calm()
	return u
}

// layout is how Redis keeps a hash, and the most that one of a hundred takes.
func (f *fleetBench) layout() (encoding string, bytes int64) {
	for n := range 100 {
		key := f.keys.Policy("message", f.id(n*(f.groups/100)))
		encoding = f.redis.ObjectEncoding(f.Context(), key).Val()
		bytes = max(bytes, f.redis.MemoryUsage(f.Context(), key).Val())
		if encoding != "listpack" {
			break
		}
	}
	return encoding, bytes
}

// hot is the share of HOT among the updates of groups.
func (f *fleetBench) hot() string {
	conn, err := pgx.Connect(f.Context(), f.env["PACEKEEPER_DATABASE_URL"])
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = conn.Close(f.Context()) }()
	var all, hot int64
	f.await("statistics", func() bool {
		err := conn.QueryRow(f.Context(), "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'groups'").Scan(&all, &hot)
		return err == nil && all > 0
	})
	return fmt.Sprintf("%.1f %% of %d", 100*float64(hot)/float64(all), all)
}

// editTimes are those of single edits: from the answer, which comes after the commit, to visible; and from the request.
type editTimes struct{ answered, asked []time.Duration }

func (e editTimes) String() string {
	if len(e.asked) == 0 {
		return "none"
	}
	slices.Sort(e.answered)
	slices.Sort(e.asked)
	at := func(all []time.Duration, percent int) float64 {
		return milliseconds(all[min(len(all)*percent/100, len(all)-1)])
	}
	return fmt.Sprintf("p50 %.1f, p99 %.1f ms after the answer, p50 %.1f, p99 %.1f ms after the request (%d edits)",
		at(e.answered, 50), at(e.answered, 99), at(e.asked, 50), at(e.asked, 99), len(e.asked))
}

const editEvery = 10 * time.Millisecond

// edits makes single edits of groups all over the fleet, one after the other, until what it returns is called. Each time
// they are others: a save that changes nothing publishes nothing either.
func (f *fleetBench) edits() func() editTimes {
	f.rounds++
	round := f.rounds
	var stop atomic.Bool
	var times editTimes
	var editing sync.WaitGroup
	editing.Go(func() {
		r := rand.New(rand.NewPCG(1, round))
		for !stop.Load() {
			began := time.Now()
			if !f.edit(&times, f.id(r.IntN(f.groups)), 2000+r.IntN(8000)) {
				return
			}
			time.Sleep(max(0, editEvery-time.Since(began)))
		}
	})
	return func() editTimes {
		stop.Store(true)
		editing.Wait()
		return times
	}
}

func (f *fleetBench) edit(times *editTimes, id string, interval int) bool {
	asked := time.Now()
	got, err := f.server.try(http.MethodPut, "/v1/groups/"+id+"/policy", fmt.Sprintf(`{"actions":{"message":{"min_interval_ms":%d}}}`, interval), "If-Match", "*")
	if err != nil || got.status != http.StatusOK {
		f.Errorf("edit: %d %v %v", got.status, got.body, err)
		return false
	}
	answered, version, key := time.Now(), int(got.at("version").(float64)), f.keys.Policy("message", id)
	for {
		n, err := f.redis.HGet(f.Context(), key, "version").Int()
		if err == nil && n >= version {
			break
		}
		if time.Since(answered) > fleetPatience {
			f.Errorf("the edit of %s is not visible", id)
			return false
		}
		time.Sleep(100 * time.Microsecond)
	}
	seen := time.Now()
	times.asked, times.answered = append(times.asked, seen.Sub(asked)), append(times.answered, seen.Sub(answered))
	return true
}

// begin starts edits, if there are any, and returns what ends them and answers their times.
func (f *fleetBench) begin(edits func() func() editTimes) func() editTimes {
	if edits == nil {
		return func() editTimes { return editTimes{} }
	}
	return edits()
}
