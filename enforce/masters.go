package enforce

import (
	"context"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"
)

// loadScript gives the script to the servers of these calls, and to no others: one that is away would hold up the rest.
func (c *Client) loadScript(ctx context.Context, calls []*asked) {
	if c.cluster == nil {
		_ = c.script.Load(ctx, c.cfg.Redis) // without it the calls are answered NOSCRIPT again
		return
	}
	var loading sync.WaitGroup
	for _, some := range c.byMaster(ctx, calls) {
		if master, err := c.cluster.MasterForKey(ctx, c.keys.Never(calls[some[0]].shard)); err == nil {
			loading.Go(func() { _ = c.script.Load(ctx, master) })
		}
	}
	loading.Wait()
}

// byMaster groups calls by the master that answers them: each group are places in calls, in their order.
func (c *Client) byMaster(ctx context.Context, calls []*asked) map[*redis.Client][]int {
	masters := map[*redis.Client][]int{}
	for i, call := range calls {
		master, err := c.cluster.MasterForKey(ctx, c.keys.Never(call.shard))
		if err != nil {
			master = nil // the call will tell
		}
		masters[master] = append(masters[master], i)
	}
	return masters
}

// askMasters makes a round trip with each master, side by side: one that hangs is the trouble of its calls alone.
func (c *Client) askMasters(ctx context.Context, calls []*asked) {
	copies, open := make([]*asked, len(calls)), make([]bool, len(calls))
	for i, call := range calls {
		twin := *call
		copies[i], open[i] = &twin, true
	}
	answered := make(chan []int, len(calls))
	go c.askEachMaster(ctx, copies, answered)
	for left := len(calls); left > 0; {
		select {
		case places, more := <-answered:
			if !more {
				answered = nil // what is open was not asked: the context has ended
			}
			left -= len(places)
			for _, i := range places {
				*calls[i], open[i] = *copies[i], false
				calls[i].tell()
			}
		case <-ctx.Done():
			for i, is := range open {
				if is {
					calls[i].err = ctx.Err()
				}
			}
			return
		}
	}
}

// askEachMaster asks for copies, which answers that come too late may fill, and says which are filled.
func (c *Client) askEachMaster(ctx context.Context, copies []*asked, answered chan<- []int) {
	var asking sync.WaitGroup
	for _, places := range c.byMaster(ctx, copies) {
		asking.Go(func() {
			for part := range slices.Chunk(places, manyMost) {
				some := make([]*asked, len(part))
				for at, i := range part {
					some[at] = copies[i]
				}
				if ctx.Err() == nil {
					c.roundTrip(ctx, some)
					answered <- part
				}
			}
		})
	}
	asking.Wait()
	close(answered)
}
