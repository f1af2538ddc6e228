package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// measureCost measures the CPU of Redis's thread for one call over one connection, in interleaved rounds of fresh members: the
// eighth call (7 in the window), the ninth, which is refused, and the tenth, at once after it.
func measureCost(ctx context.Context, s *server, peers []*peer, size sizes) error {
	for round := range size.rounds + 1 { // the first warms up
		for _, p := range peers {
			for call := range 10 {
				before, err := s.cpu()
				if err != nil {
					return err
				}
				passed, err := p.many(ctx, costQuota, round*size.members, size.members)
				if err != nil {
					return err
				}
				after, err := s.cpu()
				if err != nil {
					return err
				}
				if call < 8 && passed != size.members {
					return fmt.Errorf("%s: %d of %d passed at call %d", p.name, passed, size.members, call+1)
				}
				if call < 7 || round == 0 || call > 7 && passed > size.members/10 { // a window of the calendar has just begun
					continue
				}
				p.cost[call-7] = append(p.cost[call-7], float64(after-before)/1000/float64(size.members))
			}
		}
	}
	return nil
}

// measureMemory measures what members with a full window cost, key and expiry included.
func measureMemory(ctx context.Context, s *server, peers []*peer, size sizes) error {
	for _, p := range peers {
		var err error
		if p.bytes, err = s.bytesOf(ctx, p, costQuota, size.memMembers); err != nil {
			return err
		}
		if p.narrow {
			continue
		}
		if p.bytesWide, err = s.bytesOf(ctx, p, wideQuota, size.memWide); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) bytesOf(ctx context.Context, p *peer, q quota, members int) (int64, error) {
	if err := s.rdb.FlushAll(ctx).Err(); err != nil {
		return 0, err
	}
	if err := publish(ctx, s.rdb); err != nil {
		return 0, err
	}
	before, err := s.keys(ctx)
	if err != nil {
		return 0, err
	}
	for range q.limit {
		if _, err := p.many(ctx, q, 1000, members); err != nil {
			return 0, err
		}
	}
	total, err := s.bytes(ctx, before)
	return total / int64(members), err
}

// span is when a message was sent and when its answer came, ms.
type span struct{ Sent, Answered float64 }

// The patterns of abuse. Both begin when a second of the wall clock does, as windows of the calendar do.
const (
	patternSeam = "seam" // one at the start, then as many as pass from 0.8 to 1.3 periods
	patternPush = "push" // as many as pass, for two and a half periods
)

// clockTick is the resolution of limiters' clocks, ms: what they take for a period apart may be so much less.
const clockTick = 1

// measureAbuse attacks all at once, and counts the most that passed surely within one period, less a tick of the clock.
func measureAbuse(ctx context.Context, s *server, peers []*peer, _ sizes) error {
	if err := publish(ctx, s.rdb); err != nil {
		return err
	}
	for i, pattern := range []string{patternSeam, patternPush} {
		failed := make([]error, len(peers))
		var attacking sync.WaitGroup
		for n, p := range peers {
			attacking.Go(func() {
				var spans []span
				if spans, failed[n] = p.attack(ctx, pattern, 500_000+i); failed[n] == nil {
					p.most = max(p.most, mostWithin(spans, float64(abuseQuota.period.Milliseconds()-clockTick)))
				}
			})
		}
		attacking.Wait()
		for _, err := range failed {
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// mostWithin counts the most messages that were decided within less than a period, whenever between sending and answer it was.
func mostWithin(spans []span, period float64) (most int) {
	for i := range spans {
		n := 0
		for _, other := range spans[i:] {
			if other.Answered-spans[i].Sent < period {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func attack(ctx context.Context, pattern string, try func() (bool, error)) (passed []span, err error) {
	period := abuseQuota.period
	time.Sleep(time.Until(time.Now().Truncate(period).Add(period)))
	began := time.Now()
	at := func() float64 { return float64(time.Since(began).Microseconds()) / 1000 }
	until := period * 5 / 2
	if pattern == patternSeam {
		until = period * 13 / 10
	}
	for time.Since(began) < until && ctx.Err() == nil {
		sent := at()
		ok, err := try()
		if err != nil {
			return nil, err
		}
		if ok {
			passed = append(passed, span{sent, at()})
		}
		if pattern == patternSeam && time.Since(began) < period*8/10 {
			time.Sleep(time.Until(began.Add(period * 8 / 10)))
		}
		time.Sleep(time.Millisecond)
	}
	return passed, nil
}
