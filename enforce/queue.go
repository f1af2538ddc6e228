package enforce

import (
	"context"
	"slices"
	"sync"
)

const (
	queueLanes = 2   // pipelines under way at once
	queueMost  = 128 // calls a pipeline
)

// queue lets checks made at the same time share round trips: whoever finds no free lane waits in line, and a lane that comes
// back takes all who wait. Nobody waits for others to come. The zero value is ready; safe for concurrent use.
type queue struct {
	mu      sync.Mutex
	waiting []*asked
	lanes   int // under way
}

// askQueued sends the call with the next pipeline and waits no longer than the timeout and the caller's context allow.
func (c *Client) askQueued(ctx context.Context, call *asked) {
	sent := *call // what answers too late fills this one
	callCtx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	queued := make(chan struct{})
	sent.queued, sent.gone = queued, callCtx.Done()
	c.join(&sent) //nolint:contextcheck // a lane serves many callers: none may end it for the others
	select {
	case <-queued: // until then sent is the lane's alone
		*call = sent
	case <-callCtx.Done():
		call.err = callCtx.Err()
	}
	c.noteCircuits(ctx.Err() == nil, []*asked{call})
}

// join puts a call in line, and starts a lane if one is free.
func (c *Client) join(call *asked) {
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()
	c.queue.waiting = append(c.queue.waiting, call)
	if c.queue.lanes < queueLanes {
		c.queue.lanes++
		go c.runLane()
	}
}

// take answers the next in line; none ends the lane.
func (q *queue) take() []*asked {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.waiting), queueMost)
	if n == 0 {
		q.lanes--
		return nil
	}
	taken := q.waiting[:n:n]
	q.waiting = q.waiting[n:]
	return taken
}

// runLane makes round trips until nobody waits. No caller's context is the lane's: one who gives up must not end the others.
func (c *Client) runLane() {
	for {
		calls := c.queue.take()
		if calls == nil {
			return
		}
		calls = slices.DeleteFunc(calls, (*asked).isGone)
		if len(calls) == 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), c.cfg.Timeout)
		c.bounded(ctx, calls)
		cancel()
		for _, call := range calls {
			call.tell()
		}
	}
}

// tell wakes who waits for the call in the queue, once.
func (a *asked) tell() {
	if a.queued != nil && !a.told {
		a.told = true
		close(a.queued)
	}
}

// isGone says that who asked has given up: an attempt that was answered degraded is not to be charged as well.
func (a *asked) isGone() bool {
	select {
	case <-a.gone:
		return true
	default:
		return false
	}
}
