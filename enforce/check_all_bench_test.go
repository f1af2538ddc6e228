package enforce_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
)

// BenchmarkCheckAll holds one attempt by a group, a user and an address (the latter two limited by the system) against one
// Check, on one server: the CPU of Redis's thread and the whole time of a call, medians of interleaved rounds. together is
// what CheckAll does there, in_steps what it does on a cluster.
//
//	go test ./enforce -run '^$' -bench CheckAll -benchtime 1x
func BenchmarkCheckAll(b *testing.B) {
	bench := newCPUBench(b)
	keys := enforce.NewKeys("")
	for _, scope := range []policy.Scope{policy.ScopeUser, policy.ScopeIP} {
		p := policy.Compiled{
			Action: "message", Enabled: true, Limit: 60, PeriodMS: 60_000, Order: 1, Version: 1, ExemptRoles: []string{policy.NoRole},
		}
		for shard := range enforce.Shards {
			if _, err := enforce.NewPublisher(bench.rdb, keys).Publish(context.Background(), uint8(shard), []enforce.Publication{
				{Key: keys.ScopePolicy(uint8(shard), p.Action, scope), Order: 1, Hash: enforce.PolicyHash(p)},
			}); err != nil {
				b.Fatal(err)
			}
		}
	}
	one := enforce.New(enforce.Config{Redis: bench.rdb, Timeout: time.Minute})
	ways := []struct {
		name string
		ask  func(member int) (enforce.Decision, error)
	}{
		{"check", func(member int) (enforce.Decision, error) {
			return one.Check(context.Background(), enforce.Request{Action: "message", Group: "c", User: name(member)})
		}},
		{"together", allOf(bench.rdb, "t")},
		{"in_steps", allOf(apart{bench.rdb}, "st")},
	}
	for b.Loop() {
		cpu, wall := make([][]float64, len(ways)), make([][]float64, len(ways))
		for round := range 11 {
			for i, way := range ways {
				before, began := bench.cpu(), time.Now()
				for member := range 1000 {
					if d, err := way.ask(round*1000 + member); err != nil || d.Code != policy.Allowed {
						b.Fatalf("%s: %+v, %v", way.name, d.Decision, err)
					}
				}
				wall[i] = append(wall[i], float64(time.Since(began).Microseconds())/1000)
				cpu[i] = append(cpu[i], float64(bench.cpu()-before)/1e6)
			}
		}
		for i, way := range ways {
			b.ReportMetric(median(cpu[i]), way.name+"_µs-redis")
			b.ReportMetric(median(wall[i]), way.name+"_µs-whole")
		}
	}
}

// allOf asks for a member of a group whose address nobody shares.
func allOf(rdb redis.UniversalClient, group string) func(int) (enforce.Decision, error) {
	client := enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
	return func(member int) (enforce.Decision, error) {
		address := fmt.Sprintf("%d.%d.%d.1", 10+len(group), member/256%256, member%256)
		answer, err := client.CheckAll(context.Background(), enforce.Subjects{Action: "message", Group: group, User: group + name(member), IP: address})
		return answer.Decision, err
	}
}
