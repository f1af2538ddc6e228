package enforce

import (
	"context"
	"fmt"
)

// ExemptDelta brings a group's named exemptions from any order of Base to Order − 1 to Order: all that changed after
// Base, as it is at Order.
type ExemptDelta struct {
	Base, Order int64
	Count       int64 // entries of the whole set at Order
	Put         []ExemptEntry
	Removed     []string // users
}

// ChangeExemptions publishes what changed of a group's named exemptions in one guarded call, whose cost is that of the
// changes. Behind = the stored set is older than Base, or has not Count entries afterwards: the whole set is needed, or
// what changed since stored, the order that Redis has (0 = none that can be built on).
func (p *Publisher) ChangeExemptions(ctx context.Context, group string, d ExemptDelta) (r Result, stored int64, err error) {
	args := make([]any, 0, 3+2*(len(d.Put)+len(d.Removed)))
	args = append(args, itoa(d.Order), itoa(d.Base), itoa(d.Count))
	for _, e := range d.Put {
		args = append(args, e.expiry(), e.User)
	}
	for _, user := range d.Removed {
		args = append(args, "", user)
	}
	reply, err := p.scripts.exemptDelta.Run(ctx, p.rdb, []string{p.keys.Exempt(group), p.keys.ExemptV(group)}, args...).Int64Slice()
	if err != nil {
		return Older, 0, fmt.Errorf("publish changed exemptions: %w", err)
	}
	if len(reply) != 2 {
		return Older, 0, fmt.Errorf("publish changed exemptions: %d numbers instead of 2", len(reply))
	}
	return Result(reply[0]), reply[1], nil
}

// expiry is the score of the entry, as the scripts take it.
func (e ExemptEntry) expiry() string {
	if e.ExpiresMS > 0 {
		return itoa(e.ExpiresMS)
	}
	return "inf"
}
