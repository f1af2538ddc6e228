package enforce

import (
	"context"
	"fmt"
	"strconv"

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
	names := commonNames(pubs)
	keys, args := make([]string, len(pubs)), make([]any, 0, 1+len(names)/2+len(pubs)*(2+len(names)/2))
	args = append(args, len(names)/2)
	for i := 0; i < len(names); i += 2 {
		args = append(args, &names[i])
	}
	for i := range pubs {
		keys[i] = pubs[i].Key
		args = pubs[i].appendArgs(args, names)
	}
	raw, err := p.scripts.publish.Run(ctx, p.rdb, keys, args...).Int64Slice()
	if err != nil {
		return nil, fmt.Errorf("publish to shard %d: %w", shard, err)
	}
	results := make([]Result, len(raw))
	for i, n := range raw {
		results[i] = Result(n)
	}
	return results, nil
}

// commonNames answers a hash that has the fields of most of the publications, as far as the first tells; nil = there is
// none. They are sent once a call.
func commonNames(pubs []Publication) Hash {
	for i := range pubs {
		if !pubs[i].Delete {
			return pubs[i].Hash
		}
	}
	return nil
}

// appendArgs appends the publication as publish.lua takes it: values alone if it has the fields of names. The words go as
// pointers, which an interface holds as they are; a string would be copied for each.
func (pub *Publication) appendArgs(args []any, names Hash) []any {
	hash, seen := pub.Hash, ""
	if pub.Repair {
		seen = itoa(pub.Seen)
	}
	if !pub.Delete && hash.hasFieldsOf(names) {
		args = append(args, 0, seen)
		for i := 1; i < len(hash); i += 2 {
			args = append(args, &hash[i])
		}
		return args
	}
	head := &[4]string{itoa(pub.Order), hash.Get("digest"), hash.Get("format"), hash.Get("next_offset_at")}
	if pub.Delete {
		hash, head[1], head[3] = tombstone(pub.Order), "", ""
	}
	if head[2] == "" {
		head[2] = strconv.Itoa(HashFormat)
	}
	args = append(args, len(hash), seen, &head[0], &head[1], &head[2], &head[3])
	for i := range hash {
		args = append(args, &hash[i])
	}
	return args
}

func (h Hash) hasFieldsOf(names Hash) bool {
	if len(h) != len(names) {
		return false
	}
	for i := 0; i < len(h); i += 2 {
		if h[i] != names[i] {
			return false
		}
	}
	return true
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
