package enforce_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
)

// ratePeer calls redis_rate's own script as its Allow does, in pipelines.
type ratePeer struct {
	c    *cpuBench
	sha  string
	args []any
}

// peer learns the call from one Allow of so many per 30 s. Of 1 per 30 s, the second call of a round is refused.
func (c *cpuBench) peer(burst int) *ratePeer {
	rdb := c.s.Client()
	defer func() { _ = rdb.Close() }()
	spy := &callSpy{}
	rdb.AddHook(spy)
	limit := redis_rate.Limit{Rate: burst, Burst: burst, Period: 30 * time.Second}
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
	key := fmt.Sprintf("rate:message:%s:%d:%s:%s", p.args[0], round, benchGroup(member), benchUser(member))
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
