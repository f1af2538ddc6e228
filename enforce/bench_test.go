package enforce_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

const (
	benchRounds  = 31
	benchMembers = 2000
	benchPipe    = 100
	memMembers   = 100_000
)

// BenchmarkCheckCPU compares the CPU of the Redis thread for one check with that of go-redis/redis_rate's Allow: in
// interleaved rounds on one private server, calls pipelined by 100, each member checked once a round with 7 in the
// window. What passes is held against the peer's allowed check, what is refused against its refusal, which writes
// nothing. allowed is what the Go client sends, allowed_tuple the form for any language. The figures are medians, those of
// ratios of both costs of a round: the machine's pace changes from round to round.
//
//	go test ./enforce -run '^$' -bench CheckCPU -benchtime 1x
func BenchmarkCheckCPU(b *testing.B) {
	bench := newCPUBench(b)
	loads := bench.loads()
	for b.Loop() {
		costs := make([][]float64, len(loads))
		for round := range benchRounds {
			for i, load := range loads {
				load.seed(round)
				us := bench.measure(func(pipe redis.Pipeliner, member int) { load.check(pipe, round, member) }, load.answer)
				costs[i] = append(costs[i], us)
			}
		}
		for i, load := range loads {
			peer := costs[0]
			if load.answer >= policy.RefusedInterval {
				peer = costs[1]
			}
			ratios := make([]float64, len(peer))
			for round, us := range costs[i] {
				ratios[round] = us / peer[round]
			}
			b.ReportMetric(median(costs[i]), load.name+"_µs")
			b.ReportMetric(median(ratios), load.name+"_ratio")
		}
	}
}

// BenchmarkMemberBytes reports what one member with 8 messages in the window costs Redis, key and expiry included.
//
//	go test ./enforce -run '^$' -bench MemberBytes -benchtime 1x
func BenchmarkMemberBytes(b *testing.B) {
	bench := newCPUBench(b)
	sha := loadScript(b, bench.rdb, "packed")
	for b.Loop() {
		before := bench.usedMemory()
		for first := 0; first < memMembers; first += benchPipe {
			pipe := bench.rdb.Pipeline()
			for member := first; member < first+benchPipe; member++ {
				bench.seedOne(pipe, member)
				bench.plain(sha, "message")(pipe, 0, member)
			}
			bench.exec(pipe)
		}
		b.ReportMetric(float64(bench.usedMemory()-before)/memMembers, "B/member")
	}
}

type cpuBench struct {
	b      *testing.B
	s      *redistest.Server
	rdb    *redis.Client
	keys   enforce.Keys
	client *enforce.Client
}

func newCPUBench(b *testing.B) *cpuBench {
	b.Helper()
	s := redistest.Start(b)
	rdb := s.Client()
	b.Cleanup(func() { _ = rdb.Close() })
	bench := &cpuBench{b: b, s: s, rdb: rdb, keys: enforce.NewKeys(""), client: enforce.New(enforce.Config{Redis: rdb})}
	bench.publish()
	return bench
}

// measure answers the µs of the server's thread for one check.
func (c *cpuBench) measure(check func(pipe redis.Pipeliner, member int), want policy.DecisionCode) float64 {
	pipes := make([]redis.Pipeliner, 0, benchMembers/benchPipe)
	for first := 0; first < benchMembers; first += benchPipe {
		pipe := c.rdb.Pipeline()
		for member := first; member < first+benchPipe; member++ {
			check(pipe, member)
		}
		pipes = append(pipes, pipe)
	}
	before := c.cpu()
	for _, pipe := range pipes {
		for _, cmd := range c.exec(pipe) {
			if want < 0 {
				continue // the peer's
			}
			if d, err := enforce.DecodeReply(cmd.(*redis.Cmd)); err != nil || d.Code != want {
				c.b.Fatalf("got %+v, %v; want code %d", d, err, want)
			}
		}
	}
	return float64(c.cpu()-before) / 1000 / benchMembers
}

func (c *cpuBench) exec(pipe redis.Pipeliner) []redis.Cmder {
	cmds, err := pipe.Exec(context.Background())
	if err != nil {
		c.b.Fatal(err)
	}
	return cmds
}

// cpu is the time that the server's main thread has run, in ns.
func (c *cpuBench) cpu() int64 {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/schedstat", c.s.PID, c.s.PID))
	if err != nil {
		c.b.Fatal(err)
	}
	ns, err := strconv.ParseInt(strings.Fields(string(raw))[0], 10, 64)
	if err != nil {
		c.b.Fatal(err)
	}
	return ns
}

func (c *cpuBench) usedMemory() int64 {
	info, err := c.rdb.InfoMap(context.Background(), "memory").Result()
	if err != nil {
		c.b.Fatal(err)
	}
	n, err := strconv.ParseInt(info["Memory"]["used_memory"], 10, 64)
	if err != nil {
		c.b.Fatal(err)
	}
	return n
}

func loadScript(b *testing.B, rdb *redis.Client, name string) string {
	b.Helper()
	sha, err := rdb.ScriptLoad(context.Background(), enforce.Sources()[name]).Result()
	if err != nil {
		b.Fatal(err)
	}
	return sha
}

func median(of []float64) float64 {
	of = slices.Sorted(slices.Values(of))
	return of[len(of)/2]
}
