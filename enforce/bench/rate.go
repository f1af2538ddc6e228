package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redis/redis_rate/v10"

	"github.com/pacekeeper/pacekeeper/enforce"
)

const goroutines = 50

// measureRate measures checks a second of many goroutines, one client each way, in interleaved rounds.
func measureRate(ctx context.Context, s *server, size sizes) error {
	if err := s.rdb.FlushAll(ctx).Err(); err != nil {
		return err
	}
	if err := publish(ctx, s.rdb); err != nil {
		return err
	}
	piped, err := s.client(10).AutoPipeline()
	if err != nil {
		return err
	}
	defer func() { _ = piped.Close() }()
	ways := []struct {
		name  string
		allow allowFunc
	}{
		{"redis_rate, go-redis's AutoPipeline", ofRate(redis_rate.NewLimiter(piped))},
		{"this kit, `Pipelining`", ofKit(enforce.New(enforce.Config{Redis: s.client(10), Timeout: time.Minute, Pipelining: true}))},
		{"this kit, go-redis's AutoPipeline", ofKit(enforce.New(enforce.Config{Redis: piped, Timeout: time.Minute}))},
		{"redis_rate, each call alone", ofRate(redis_rate.NewLimiter(s.client(goroutines)))},
		{"this kit, each call alone", ofKit(enforce.New(enforce.Config{Redis: s.client(goroutines), Timeout: time.Minute}))},
	}
	rates := make([][]float64, len(ways))
	for round := range size.rounds + 1 {
		for i, way := range ways {
			n, err := perSecond(ctx, time.Duration(size.rateMS)*time.Millisecond, way.allow)
			if err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
			if round > 0 {
				rates[i] = append(rates[i], n)
			}
		}
	}
	fmt.Printf("| %d goroutines | checks a second | |\n|---|---|---|\n", goroutines)
	for i, way := range ways {
		fmt.Printf("| %s | %.0f | %.2f × |\n", way.name, median(rates[i]), median(rates[i])/median(rates[0]))
	}
	return nil
}

func ofRate(l *redis_rate.Limiter) allowFunc {
	return func(ctx context.Context, q quota, member string) (bool, error) {
		r, err := l.Allow(ctx, foreign(q, member), redis_rate.Limit{Rate: q.limit, Burst: q.limit, Period: q.period})
		return err == nil && r.Allowed > 0, err
	}
}

func ofKit(c *enforce.Client) allowFunc {
	return func(ctx context.Context, q quota, member string) (bool, error) {
		d, err := c.Check(ctx, enforce.Request{Action: q.action(), Group: group, User: member})
		return d.Allowed(), degradedIsFault(d, err)
	}
}

func perSecond(ctx context.Context, d time.Duration, allow allowFunc) (float64, error) {
	var done atomic.Int64
	var failed atomic.Value
	var running sync.WaitGroup
	began := time.Now()
	for range goroutines {
		running.Go(func() {
			for time.Since(began) < d {
				if _, err := allow(ctx, wideQuota, memberName(rand.IntN(100_000))); err != nil {
					failed.Store(err)
					return
				}
				done.Add(1)
			}
		})
	}
	running.Wait()
	if err, ok := failed.Load().(error); ok {
		return 0, err
	}
	return float64(done.Load()) / time.Since(began).Seconds(), nil
}
