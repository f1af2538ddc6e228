package enforce_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

const (
	benchRounds  = 15
	benchMembers = 2000
	benchPipe    = 100
	memMembers   = 100_000
)

// BenchmarkCheckCPU compares the CPU of the Redis thread for one check with that of go-redis/redis_rate's Allow: in
// interleaved rounds on one private server, calls pipelined by 100, each member checked once a round with 7 in the
// window. allowed is what the Go client sends, allowed_tuple the form for any language. The figures are medians.
//
//	go test ./enforce -run '^$' -bench CheckCPU -benchtime 1x
func BenchmarkCheckCPU(b *testing.B) {
	s := redistest.Start(b)
	rdb := s.Client()
	b.Cleanup(func() { _ = rdb.Close() })
	bench := &cpuBench{b: b, s: s, rdb: rdb, keys: enforce.NewKeys(""), client: enforce.New(enforce.Config{Redis: rdb})}
	bench.publish()
	tuple, sha := loadScript(b, rdb, "check"), loadScript(b, rdb, "packed")
	peer := bench.peer()
	loads := []struct {
		name   string
		seed   func(round int)
		check  func(pipe redis.Pipeliner, round, member int)
		answer policy.DecisionCode
	}{
		{"redis_rate", peer.seed, peer.check, -1},
		{"allowed", bench.seedAllowed, bench.plain(sha), policy.Allowed},
		{"allowed_tuple", bench.seedAllowed, bench.plain(tuple), policy.Allowed},
		{"allowed_roles", bench.seedAllowed, bench.roles(sha), policy.Allowed},
		{"first_message", bench.seedNone, bench.plain(sha), policy.Allowed},
		{"refused_again", bench.seedRefused, bench.plain(sha), policy.RefusedInterval},
		{"muted", bench.seedMuted, bench.plain(sha), policy.RefusedMuted},
	}
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
			us := median(costs[i])
			b.ReportMetric(us, load.name+"_µs")
			b.ReportMetric(us/median(costs[0]), load.name+"_ratio")
		}
	}
}

// BenchmarkMemberBytes reports what one member with 8 messages in the window costs Redis, key and expiry included.
//
//	go test ./enforce -run '^$' -bench MemberBytes -benchtime 1x
func BenchmarkMemberBytes(b *testing.B) {
	s := redistest.Start(b)
	rdb := s.Client()
	b.Cleanup(func() { _ = rdb.Close() })
	bench := &cpuBench{b: b, s: s, rdb: rdb, keys: enforce.NewKeys(""), client: enforce.New(enforce.Config{Redis: rdb})}
	bench.publish()
	sha := loadScript(b, rdb, "packed")
	for b.Loop() {
		before := bench.usedMemory()
		for first := 0; first < memMembers; first += benchPipe {
			pipe := rdb.Pipeline()
			for member := first; member < first+benchPipe; member++ {
				bench.seedOne(pipe, member)
				bench.plain(sha)(pipe, 0, member)
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

func (c *cpuBench) publish() {
	pub := enforce.NewPublisher(c.rdb, c.keys)
	for g := range 16 {
		group := benchGroup(g)
		if _, err := pub.Publish(context.Background(), enforce.Shard(group), []enforce.Publication{
			{Key: c.keys.Policy("message", group), Order: 1, Hash: enforce.PolicyHash(p0())},
		}); err != nil {
			c.b.Fatal(err)
		}
	}
}

func benchGroup(member int) string { return "g" + strconv.Itoa(1000+member%16) }
func benchUser(member int) string  { return "u" + strconv.Itoa(1_000_000+member) }

func (c *cpuBench) seedOne(pipe redis.Pipeliner, member int) {
	now := time.Now().UnixMilli()
	st := policy.ActionState{LastMS: now - 3000}
	for i := range int64(8) { // the oldest has just left the window
		st.Log = append(st.Log, uint32(now-31_000+i*4000))
	}
	key := c.keys.State("message", benchGroup(member), benchUser(member))
	pipe.Set(context.Background(), key, enforce.EncodeState(st), time.Minute)
}

func (c *cpuBench) each(seed func(pipe redis.Pipeliner, member int)) {
	pipe := c.rdb.Pipeline()
	for member := range benchMembers {
		seed(pipe, member)
	}
	c.exec(pipe)
}

func (c *cpuBench) seedAllowed(int) {
	c.forget()
	c.each(c.seedOne)
}

// forget drops the members' records.
func (c *cpuBench) forget() {
	c.each(func(pipe redis.Pipeliner, member int) {
		pipe.Del(context.Background(), c.keys.Member(benchGroup(member), benchUser(member)))
	})
}

func (c *cpuBench) seedNone(int) {
	c.forget()
	c.each(func(pipe redis.Pipeliner, member int) {
		pipe.Del(context.Background(), c.keys.State("message", benchGroup(member), benchUser(member)))
	})
}

// seedRefused leaves members whose last strike was counted within this second.
func (c *cpuBench) seedRefused(int) {
	c.each(func(pipe redis.Pipeliner, member int) {
		now := time.Now().UnixMilli()
		st := policy.ActionState{LastMS: now, Log: []uint32{uint32(now)}}
		m := policy.MemberRecord{Strikes: 1, LastStrikeMS: now + 500, HeldUntilMS: now + 500}
		pipe.Set(context.Background(), c.keys.State("message", benchGroup(member), benchUser(member)), enforce.EncodeState(st), time.Minute)
		pipe.Set(context.Background(), c.keys.Member(benchGroup(member), benchUser(member)), enforce.EncodeMember(m), time.Minute)
	})
}

func (c *cpuBench) seedMuted(int) {
	c.each(func(pipe redis.Pipeliner, member int) {
		now := time.Now().UnixMilli()
		m := policy.MemberRecord{
			Strikes: 3, LastStrikeMS: now, HeldUntilMS: now + 60_000, MuteStartMS: now, MuteEndMS: now + 60_000,
			Cause: policy.CauseLadder, Step: 1,
		}
		pipe.Set(context.Background(), c.keys.Member(benchGroup(member), benchUser(member)), enforce.EncodeMember(m), time.Minute)
	})
}

func (c *cpuBench) plain(sha string) func(redis.Pipeliner, int, int) {
	return func(pipe redis.Pipeliner, _, member int) { c.evalSha(pipe, sha, member) }
}

func (c *cpuBench) roles(sha string) func(redis.Pipeliner, int, int) {
	return func(pipe redis.Pipeliner, _, member int) { c.evalSha(pipe, sha, member, benchUser(member), "member") }
}

func (c *cpuBench) evalSha(pipe redis.Pipeliner, sha string, member int, args ...any) {
	keys, _ := c.client.Call(enforce.Request{Action: "message", Group: benchGroup(member), User: benchUser(member)})
	pipe.EvalSha(context.Background(), sha, keys, args...)
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

// ratePeer calls redis_rate's own script as its Allow does, in pipelines.
type ratePeer struct {
	c    *cpuBench
	sha  string
	args []any
}

// peer learns the call from one Allow.
func (c *cpuBench) peer() *ratePeer {
	rdb := c.s.Client()
	defer func() { _ = rdb.Close() }()
	spy := &callSpy{}
	rdb.AddHook(spy)
	limit := redis_rate.Limit{Rate: 8, Burst: 8, Period: 30 * time.Second}
	if _, err := redis_rate.NewLimiter(rdb).Allow(context.Background(), "warm", limit); err != nil {
		c.b.Fatal(err)
	}
	at := slices.IndexFunc(spy.calls, func(args []any) bool { return args[0] == "evalsha" })
	return &ratePeer{c: c, sha: spy.calls[at][1].(string), args: spy.calls[at][4:]}
}

func (p *ratePeer) seed(round int) {
	p.c.each(func(pipe redis.Pipeliner, member int) { p.check(pipe, round, member) })
}

func (p *ratePeer) check(pipe redis.Pipeliner, round, member int) {
	key := fmt.Sprintf("rate:message:%d:%s:%s", round, benchGroup(member), benchUser(member))
	pipe.EvalSha(context.Background(), p.sha, []string{key}, p.args...)
}

type callSpy struct{ calls [][]any }

func (s *callSpy) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *callSpy) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (s *callSpy) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		s.calls = append(s.calls, cmd.Args())
		return next(ctx, cmd)
	}
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
