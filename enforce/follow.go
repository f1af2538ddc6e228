package enforce

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
)

// AllGroups is what Announce says when more than single groups changed.
const AllGroups = "*"

// Changed is the channel on which the control plane says which group's policies it has just published.
func (k Keys) Changed() string { return k.prefix + ":changed" }

// Announce tells the clients that follow that a group's policies are live, or with AllGroups those of any. A lost word costs
// nothing but time: clients read what they know again within a minute of use.
func (p *Publisher) Announce(ctx context.Context, groups ...string) error {
	pipe := p.rdb.Pipeline()
	for _, group := range groups {
		pipe.Publish(ctx, p.keys.Changed(), group)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("announce changes: %w", err)
	}
	return nil
}

// Follow keeps what the client knows of policies (on_failure, notices) as fresh as Redis tells, until ctx ends. A group that
// was announced and is known is read at once; after each gap of the subscription everything is read again with its next
// check. Checks themselves need none of it: they always read the policy in Redis.
func (c *Client) Follow(ctx context.Context) error {
	for ctx.Err() == nil {
		c.followOnce(ctx)
		c.known.doubt()
		pauseFollow(ctx)
	}
	return ctx.Err()
}

const followRetry = time.Second

func pauseFollow(ctx context.Context) {
	timer := time.NewTimer(followRetry)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// followOnce takes words until the subscription breaks.
func (c *Client) followOnce(ctx context.Context) {
	words := c.cfg.Redis.Subscribe(ctx, c.keys.Changed())
	defer func() { _ = words.Close() }()
	defer context.AfterFunc(ctx, func() { _ = words.Close() })() // a read does not end with its context
	for {
		word, err := words.Receive(ctx)
		if err != nil {
			if ctx.Err() == nil {
				c.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "the subscription to changes of policies broke, tried again",
					slog.String("error", err.Error()))
			}
			return
		}
		switch m := word.(type) {
		case *redis.Subscription:
			c.known.doubt() // what changed before was not told
		case *redis.Message:
			c.heard(ctx, m.Payload)
		}
	}
}

// heard reads what is known of a group again.
func (c *Client) heard(ctx context.Context, group string) {
	if group == AllGroups {
		c.known.doubt()
		return
	}
	for _, action := range c.known.actionsOf(group) {
		name := policyName{action, group}
		c.known.stale(name)
		readCtx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
		pipe := c.cfg.Redis.Pipeline()
		r := c.read(readCtx, pipe, Request{Action: action, Group: group})
		_, err := pipe.Exec(readCtx)
		cancel()
		if err == nil {
			c.known.learn(name, r.policy(action), c.cfg.Now())
		}
	}
}
