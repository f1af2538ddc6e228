package enforce

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/policy"
)

// Traces counts where Redis names a person: his own records and states, the sets that hold him, and the events of him
// that nobody has read and trimmed yet.
type Traces struct{ Records, Sets, Events int64 }

// Any says whether there is anything.
func (t Traces) Any() bool { return t.Records+t.Sets+t.Events > 0 }

// Add adds the counts of another look.
func (t *Traces) Add(more Traces) {
	t.Records, t.Sets, t.Events = t.Records+more.Records, t.Sets+more.Sets, t.Events+more.Events
}

// Person looks for a user in all of Redis, on every master, and removes him where forget is set: limiter states and member
// records of all groups and scopes, entries of the exempt and muted sets, events. It reads all names of keys, a thousand
// a call: for commands. The id is taken letter by letter.
func (p *Publisher) Person(ctx context.Context, user string, forget bool) (found Traces, err error) {
	var lock sync.Mutex
	look := func(ctx context.Context, master *redis.Client) error {
		part, err := p.personOn(ctx, master, user, forget)
		lock.Lock()
		defer lock.Unlock()
		found.Add(part)
		return err
	}
	err = p.eachMaster(ctx, look)
	if err == nil {
		found.Events, err = p.personEvents(ctx, user, forget)
	}
	if err != nil {
		return found, fmt.Errorf("look for a person: %w", err)
	}
	return found, nil
}

const scanCount = 1000 // names of keys a call

func (p *Publisher) personOn(ctx context.Context, rdb *redis.Client, user string, forget bool) (found Traces, err error) {
	last, first := "|"+user, "|"+policy.ScopePeer.Place()+"|"+user+"|" // of two users, either
	for _, look := range [...]struct {
		glob string
		of   func(key string) bool
	}{
		{"state:*" + globLiteral(last), func(key string) bool { return strings.HasSuffix(key, last) }},
		{"member:*" + globLiteral(last), func(key string) bool { return strings.HasSuffix(key, last) }},
		{"state:*" + globLiteral(first) + "*", func(key string) bool { return strings.Contains(key, first) && !strings.HasSuffix(key, last) }},
	} {
		n, err := p.scan(ctx, rdb, look.glob, func(keys []string) (int64, error) {
			return dropKeys(ctx, rdb, keys, look.of, forget)
		})
		if found.Records += n; err != nil {
			return found, err
		}
	}
	for _, kind := range [...]string{"exempt:", "muted:"} {
		n, err := p.scan(ctx, rdb, kind+"*", func(keys []string) (int64, error) { return dropMember(ctx, rdb, keys, user, forget) })
		if found.Sets += n; err != nil {
			return found, err
		}
	}
	return found, nil
}

// scan walks the keys of a server whose name behind the shard matches a glob, and adds up what fn counts.
func (p *Publisher) scan(ctx context.Context, rdb *redis.Client, glob string, fn func([]string) (int64, error)) (total int64, err error) {
	for cursor := uint64(0); ; {
		var keys []string
		if keys, cursor, err = rdb.Scan(ctx, cursor, p.keys.prefix+":{s??}:"+glob, scanCount).Result(); err != nil {
			return total, err
		}
		n, err := fn(keys)
		if total += n; err != nil || cursor == 0 {
			return total, err
		}
	}
}

// dropKeys counts keys that are his, and deletes them.
func dropKeys(ctx context.Context, rdb *redis.Client, keys []string, his func(string) bool, forget bool) (n int64, err error) {
	pipe := rdb.Pipeline()
	for _, key := range keys {
		if his(key) {
			n++
			pipe.Del(ctx, key)
		}
	}
	if forget && n > 0 {
		_, err = pipe.Exec(ctx)
	}
	return n, err
}

// dropMember counts sets that hold a member, and takes it out of them.
func dropMember(ctx context.Context, rdb *redis.Client, keys []string, member string, forget bool) (n int64, err error) {
	if len(keys) == 0 {
		return 0, nil
	}
	pipe := rdb.Pipeline()
	scores := make([]*redis.FloatCmd, len(keys))
	for i, key := range keys {
		scores[i] = pipe.ZScore(ctx, key, member)
	}
	if _, err := pipe.Exec(ctx); err != nil && !isMissing(err) {
		return 0, err
	}
	drop := rdb.Pipeline()
	for i, key := range keys {
		if err := scores[i].Err(); err == nil {
			n++
			drop.ZRem(ctx, key, member)
		} else if !isMissing(err) {
			return n, err
		}
	}
	if forget && n > 0 {
		_, err = drop.Exec(ctx)
	}
	return n, err
}

// personEvents walks the streams of all shards.
func (p *Publisher) personEvents(ctx context.Context, user string, forget bool) (found int64, err error) {
	for shard := range Shards {
		n, err := p.shardEvents(ctx, uint8(shard), user, forget)
		if found += n; err != nil {
			return found, err
		}
	}
	return found, nil
}

func (p *Publisher) shardEvents(ctx context.Context, shard uint8, user string, forget bool) (found int64, err error) {
	key := p.keys.Events(shard)
	for from := "-"; ; {
		events, err := p.rdb.XRangeN(ctx, key, from, "+", scanCount).Result()
		if err != nil && !isMissing(err) {
			return found, err
		}
		var ids []string
		for _, message := range events {
			if e := p.parseEvent(shard, message); slices.Contains(strings.Split(e.User, "|"), user) {
				ids = append(ids, e.ID)
			}
		}
		found += int64(len(ids))
		if forget && len(ids) > 0 {
			if err := p.rdb.XDel(ctx, key, ids...).Err(); err != nil {
				return found, err
			}
		}
		if len(events) < scanCount {
			return found, nil
		}
		from = "(" + events[len(events)-1].ID
	}
}

// globLiteral is a text as SCAN's MATCH takes it letter by letter.
func globLiteral(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(text)
}
