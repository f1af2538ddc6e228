package enforce

import "github.com/pacekeeper/pacekeeper/policy"

// The texts of the scripts that tests run with a moment of their own.
const (
	FutureStep = 3_200_000_000
)

// Sources answers the scripts' texts by name.
func Sources() map[string]string {
	return map[string]string{"mute": muteSource, "ban": banSource, "check": checkSource, "packed": packedCheckScript()}
}

// CauseByte is the letter of a cause.
var CauseByte = causeByte

// DecodeReply reads the check script's reply.
var DecodeReply = decodeReply

// Call answers the KEYS and ARGV of a check.
func (c *Client) Call(req Request) ([]string, []any) { return c.call(req) }

// Rule answers what the client knows of a policy's on_failure, and of which version.
func (c *Client) Rule(action, group string) (policy.OnFailure, int64) {
	e := c.known.last(policyName{action, group})
	return e.rule, e.version
}

// Open says whether the breaker of the group's shard is open.
func (c *Client) Open(group string) bool { return c.circuits.of(Shard(group)).late.Load() >= openAfter }
