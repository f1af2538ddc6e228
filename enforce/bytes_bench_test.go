package enforce_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

const (
	byteGroups  = 51_200 // 200 a shard
	publishPack = 25     // groups a call
)

// BenchmarkKeyBytes reports what keys cost Redis, dictionary and expiry included: a policy hash, a member's record (strikes
// and a mute), an exemption and an event among 10,000; and what publishing a hash costs the Redis thread, 25 groups of a shard a call,
// over hashes of an older order, beside what a pipelined HSET of the same hashes costs it.
//
//	go test ./enforce -run '^$' -bench KeyBytes -benchtime 1x
func BenchmarkKeyBytes(b *testing.B) {
	s := redistest.Start(b)
	rdb := s.Client()
	b.Cleanup(func() { _ = rdb.Close() })
	bench := &cpuBench{b: b, s: s, rdb: rdb, keys: enforce.NewKeys("")}
	for b.Loop() {
		bytes := bench.usedMemory()
		bench.publishAll(1)
		b.ReportMetric(float64(bench.usedMemory()-bytes)/byteGroups, "B/hash")
		cpu := bench.cpu()
		bench.publishAll(2)
		b.ReportMetric(float64(bench.cpu()-cpu)/1000/byteGroups, "µs/hash")
		cpu = bench.cpu()
		bench.hsetAll()
		b.ReportMetric(float64(bench.cpu()-cpu)/1000/byteGroups, "µs/HSET")
		bytes = bench.usedMemory()
		bench.muteAll()
		b.ReportMetric(float64(bench.usedMemory()-bytes)/byteGroups, "B/member-record")
		bytes = bench.usedMemory()
		bench.exemptMany()
		b.ReportMetric(float64(bench.usedMemory()-bytes)/exemptMost, "B/exemption")
		bytes = bench.usedMemory()
		bench.tellEvents()
		b.ReportMetric(float64(bench.usedMemory()-bytes)/exemptMost, "B/event")
	}
}

// publishAll writes one hash for each group.
func (c *cpuBench) publishAll(order int64) {
	pub := enforce.NewPublisher(c.rdb, c.keys)
	waiting := map[uint8][]enforce.Publication{}
	p := p0()
	p.Order = order
	for i := range byteGroups {
		group := "group-" + strconv.Itoa(1_000_000+i)
		p.Version = int64(i % 100)
		shard := enforce.Shard(group)
		waiting[shard] = append(waiting[shard], enforce.Publication{Key: c.keys.Policy("message", group), Order: order, Hash: enforce.PolicyHash(p)})
		if len(waiting[shard]) == publishPack {
			c.publishSome(pub, shard, waiting[shard])
			delete(waiting, shard)
		}
	}
	for shard, rest := range waiting {
		c.publishSome(pub, shard, rest)
	}
}

// hsetAll writes the same hashes without a guard.
func (c *cpuBench) hsetAll() {
	hash := enforce.PolicyHash(p0())
	words := make([]any, len(hash))
	for i := range hash {
		words[i] = &hash[i]
	}
	c.inPipes(byteGroups, func(pipe redis.Pipeliner, i int) {
		pipe.HSet(context.Background(), c.keys.Policy("message", "group-"+strconv.Itoa(1_000_000+i)), words...)
	})
}

func (c *cpuBench) publishSome(pub *enforce.Publisher, shard uint8, some []enforce.Publication) {
	if _, err := pub.Publish(context.Background(), shard, some); err != nil {
		c.b.Fatal(err)
	}
}

func (c *cpuBench) muteAll() {
	now := time.Now().UnixMilli()
	record := enforce.EncodeMember(policy.MemberRecord{
		Strikes: 3, LastStrikeMS: now, HeldUntilMS: now, MuteStartMS: now, MuteEndMS: now + 60_000, Cause: policy.CauseLadder, Step: 1,
	})
	c.inPipes(byteGroups, func(pipe redis.Pipeliner, i int) {
		pipe.Set(context.Background(), c.keys.Member(benchGroup(i), benchUser(i)), record, time.Hour)
	})
}

func (c *cpuBench) inPipes(n int, add func(pipe redis.Pipeliner, i int)) {
	for first := 0; first < n; first += benchPipe {
		pipe := c.rdb.Pipeline()
		for i := first; i < min(first+benchPipe, n); i++ {
			add(pipe, i)
		}
		c.exec(pipe)
	}
}

const exemptMost = 10_000

func (c *cpuBench) exemptMany() {
	entries := make([]enforce.ExemptEntry, 0, exemptMost)
	for i := range exemptMost {
		entries = append(entries, enforce.ExemptEntry{User: benchUser(i)})
	}
	if _, err := enforce.NewPublisher(c.rdb, c.keys).PublishExemptions(context.Background(), "group-1", 1, entries); err != nil {
		c.b.Fatal(err)
	}
}

// tellEvents fills a shard's stream with what the check script adds for a strike that mutes.
func (c *cpuBench) tellEvents() {
	now := time.Now().UnixMilli()
	text := fmt.Sprintf("%d 10 3 1 l %d %d 0 0", now, now, now+60_000)
	c.inPipes(exemptMost, func(pipe redis.Pipeliner, i int) {
		key := c.keys.State("message", benchGroup(i), benchUser(i))
		pipe.XAdd(context.Background(), &redis.XAddArgs{Stream: c.keys.Events(0), Values: []string{"k", key, "v", text}})
	})
}
