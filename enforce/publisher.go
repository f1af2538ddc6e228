package enforce

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Result is what became of one publication.
type Result int64

// The results of a publication.
const (
	Behind  Result = -2 // of a change: what is stored is not what it builds on
	Older   Result = -1 // a newer one stays
	Same    Result = 0  // it was there already
	Written Result = 1
)

// Publication is one hash to write.
type Publication struct {
	Key    string
	Order  int64 // < 2^53; a stored hash with a higher order stays
	Hash   Hash  // as PolicyHash or NoticeHash makes it, of the same order; unused with Delete
	Delete bool  // leave a tombstone
	Repair bool  // replace iff the stored order is Seen, whatever order and digest say; else guarded by order as ever
	Seen   int64 // the stored order that was compared; 0 = none
}

// ExemptEntry is one named exemption.
type ExemptEntry struct {
	User      string
	ExpiresMS int64 // ms since the epoch; 0 = never
}

// Publisher writes into Redis what Postgres owns, and reads back what the scripts did. Every method is one call to one
// shard unless it says otherwise. Safe for concurrent use.
type Publisher struct {
	rdb     redis.UniversalClient
	keys    Keys
	scripts publisherScripts
}

// NewPublisher makes a publisher of the keys on a single Redis, a sentinel set or a cluster.
func NewPublisher(rdb redis.UniversalClient, keys Keys) *Publisher {
	return &Publisher{rdb: rdb, keys: keys, scripts: newPublisherScripts()}
}

// Keys answers the keys that the publisher writes.
func (p *Publisher) Keys() Keys { return p.keys }

// Publish writes hashes of one shard in one guarded call; up to about 25 groups a call are worth it. All keys must lie
// in the shard.
func (p *Publisher) Publish(ctx context.Context, shard uint8, pubs []Publication) ([]Result, error) {
	if len(pubs) == 0 {
		return nil, nil
	}
	keys := make([]string, len(pubs))
	for i := range pubs {
		keys[i] = pubs[i].Key
	}
	raw, err := p.scripts.publish.Run(ctx, p.rdb, keys, publishArgs(pubs)...).Int64Slice()
	if err != nil {
		return nil, fmt.Errorf("publish to shard %d: %w", shard, err)
	}
	results := make([]Result, len(raw))
	for i, n := range raw {
		results[i] = Result(n)
	}
	return results, nil
}

// PublishExemptions replaces a group's named exemptions in one guarded call; order is that of the collection. At the
// same order and the same number of entries it answers Same.
func (p *Publisher) PublishExemptions(ctx context.Context, group string, order int64, entries []ExemptEntry) (Result, error) {
	return p.exemptions(ctx, group, order, "", entries)
}

// RepairExemptions replaces a group's named exemptions iff the stored order is still seen (0 = none), whatever it is.
func (p *Publisher) RepairExemptions(
	ctx context.Context, group string, order, seen int64, entries []ExemptEntry,
) (Result, error) {
	return p.exemptions(ctx, group, order, itoa(seen), entries)
}

func (p *Publisher) exemptions(
	ctx context.Context, group string, order int64, seen string, entries []ExemptEntry,
) (Result, error) {
	args := make([]any, 0, 2+2*len(entries))
	args = append(args, itoa(order), seen)
	for _, e := range entries {
		args = append(args, e.expiry(), e.User)
	}
	n, err := p.scripts.exempt.Run(ctx, p.rdb, []string{p.keys.Exempt(group), p.keys.ExemptV(group)}, args...).Int64()
	if err != nil {
		return Older, fmt.Errorf("publish exemptions: %w", err)
	}
	return Result(n), nil
}
