package enforce

import (
	"context"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"
)

// once is a call that the client of Redis must not repeat by itself: one whose answer was lost has been counted, and a
// second would spend of the quota again, or take a strike for an attempt that was made once.
type once struct {
	*redis.Cmd
	unsent bool // no connection came about: a cluster's client may ask another server, which knows who took over
}

// SetErr implements redis.Cmder.
func (o *once) SetErr(err error) {
	var op *net.OpError
	o.unsent = errors.As(err, &op) && op.Op == "dial"
	o.Cmd.SetErr(err)
}

// NoRetry implements redis.Cmder.
func (o *once) NoRetry() bool { return !o.unsent }

// processor is a client of Redis, or a pipeline of one.
type processor interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// script is a script and its text.
type script struct {
	*redis.Script

	source string
}

func newScript(source string) script { return script{Script: redis.NewScript(source), source: source} }

// send runs a script, by its name or as a text.
func send(ctx context.Context, to processor, how, script string, keys []string, args []any) *redis.Cmd {
	line := make([]any, 0, 3+len(keys)+len(args))
	line = append(line, how, script, len(keys))
	for _, key := range keys {
		line = append(line, key)
	}
	cmd := redis.NewCmd(ctx, append(line, args...)...)
	cmd.SetFirstKeyPos(3)
	_ = to.Process(ctx, &once{Cmd: cmd}) // what it meets is the reply's
	return cmd
}

// run runs the script for one request, also where Redis does not know it yet.
func (c *Client) run(ctx context.Context, req Request) *redis.Cmd {
	keys, args := c.call(req)
	cmd := send(ctx, c.cfg.Redis, "evalsha", c.script.Hash(), keys, args)
	if redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		cmd = send(ctx, c.cfg.Redis, "eval", c.script.source, keys, args)
	}
	return cmd
}
