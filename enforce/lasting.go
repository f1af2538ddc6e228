package enforce

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/policy"
)

// The kinds of keys that must never last for ever, as they are named in Redis.
const (
	KindState  = "state"
	KindMember = "member"
	KindMuted  = "muted"
)

// Lasting counts keys of one kind.
type Lasting struct {
	Seen    int64 // looked at
	Lasting int64 // of them, without a time to live
	Mended  int64 // of them, given one
}

// LastingSweep says how to look for keys without a time to live.
type LastingSweep struct {
	Mend   bool                        // give them one: 1.2 times what they must remember, as the check would
	Sample int64                       // names to look at on each master; 0 = all
	Rest   func(context.Context) error // called after each thousand names; an error ends the sweep; nil = no rest
}

// SweepLasting looks through the keys of all masters, side by side, and counts by kind what it saw. The checks mend such keys
// as they meet them; this finds those of members who never come back. What it saw counts where it ends with an error, too.
func (p *Publisher) SweepLasting(ctx context.Context, sweep LastingSweep) (map[string]Lasting, error) {
	found := map[string]Lasting{KindState: {}, KindMember: {}, KindMuted: {}}
	var lock sync.Mutex
	err := p.eachMaster(ctx, func(ctx context.Context, master *redis.Client) error {
		names := int64(0)
		for cursor := uint64(0); ; {
			keys, next, err := master.Scan(ctx, cursor, p.keys.prefix+":{s??}:*", scanCount).Result()
			if err == nil {
				var page map[string]Lasting
				page, err = p.lastingPage(ctx, master, keys, sweep.Mend)
				lock.Lock()
				addLasting(found, page)
				lock.Unlock()
			}
			if err == nil && sweep.Rest != nil {
				err = sweep.Rest(ctx)
			}
			names += int64(len(keys))
			if cursor = next; err != nil || cursor == 0 || sweep.Sample > 0 && names >= sweep.Sample {
				return err
			}
		}
	})
	if err != nil {
		return found, fmt.Errorf("look for keys without a time to live: %w", err)
	}
	return found, nil
}

func addLasting(found, more map[string]Lasting) {
	for kind, m := range more {
		f := found[kind]
		found[kind] = Lasting{Seen: f.Seen + m.Seen, Lasting: f.Lasting + m.Lasting, Mended: f.Mended + m.Mended}
	}
}

// eachMaster runs fn for every master, at once.
func (p *Publisher) eachMaster(ctx context.Context, fn func(context.Context, *redis.Client) error) error {
	switch rdb := p.rdb.(type) {
	case *redis.ClusterClient:
		return rdb.ForEachMaster(ctx, fn)
	case *redis.Client:
		return fn(ctx, rdb)
	default:
		return fmt.Errorf("a client of the kind %T has no masters to look through", rdb)
	}
}

// lastingPage looks at some keys of a master.
func (p *Publisher) lastingPage(ctx context.Context, master *redis.Client, keys []string, mend bool) (map[string]Lasting, error) {
	pipe, page := master.Pipeline(), map[string]Lasting{}
	ttls := map[string]*redis.DurationCmd{}
	for _, key := range keys {
		if _, ok := p.kindOf(key); ok {
			ttls[key] = pipe.TTL(ctx, key)
		}
	}
	if len(ttls) == 0 {
		return page, nil
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return page, err
	}
	for key, ttl := range ttls {
		kind, _ := p.kindOf(key)
		n := page[kind]
		n.Seen++
		if ttl.Val() == -1 { // as the client answers what has none
			n.Lasting++
			given := int64(0)
			if mend {
				var err error
				if given, err = p.mendLasting(ctx, kind, key); err != nil {
					return page, err
				}
			}
			n.Mended += given
		}
		page[kind] = n
	}
	return page, nil
}

// kindOf names the kind of a key that must have a time to live.
func (p *Publisher) kindOf(key string) (kind string, ok bool) {
	at := len(p.keys.prefix) + len(":{s00}:")
	if len(key) <= at {
		return "", false
	}
	kind, _, ok = strings.Cut(key[at:], ":")
	return kind, ok && (kind == KindState || kind == KindMember || kind == KindMuted)
}

// mendLasting gives one key a time to live, through the client of all: the key may have moved.
func (p *Publisher) mendLasting(ctx context.Context, kind, key string) (int64, error) {
	clock, err := p.rdb.Time(ctx).Result()
	if err != nil {
		return 0, err
	}
	need, err := p.needOf(ctx, kind, key, clock.UnixMilli())
	if err != nil {
		return 0, err
	}
	return p.scripts.lasting.Run(ctx, p.rdb, []string{key}, ttlSeconds(need)).Int64()
}

// ttlSeconds is 1.2 times what must be remembered, rounded up, as the check script has it.
func ttlSeconds(needMS int64) int64 { return (needMS*6 + 4999) / 5000 }

// needOf is how long a key must remember what it holds, in ms from now.
func (p *Publisher) needOf(ctx context.Context, kind, key string, now int64) (int64, error) {
	if kind == KindMuted {
		latest, err := p.rdb.ZRevRangeWithScores(ctx, key, 0, 0).Result()
		if err != nil && !isMissing(err) {
			return 0, err
		}
		need := int64(1000)
		for _, z := range latest {
			need = max(need, int64(min(z.Score, float64(policy.MaxMomentMS)))-now)
		}
		return need, nil
	}
	raw, err := p.rdb.Get(ctx, key).Bytes()
	if err != nil && !isMissing(err) {
		return 0, err
	}
	of, err := p.policyOfKey(ctx, kind, key)
	if kind == KindMember {
		return DecodeMember(raw).NeedMS(now, of.ForgiveOneEveryMS), err
	}
	return DecodeState(raw).NeedMS(of, now), err
}

// policyOfKey is the policy by which a state or record is kept: the group's, the defaults', the factory's. A record is kept
// by that of messages, the whole group's state by its own limit.
func (p *Publisher) policyOfKey(ctx context.Context, kind, key string) (policy.Compiled, error) {
	action, group, user := "message", "", ""
	if kind == KindState {
		action, group, user, _ = p.keys.parseState(key)
	} else {
		_, rest, _ := strings.Cut(key, "}:"+KindMember+":")
		group, _, _ = strings.Cut(rest, "|")
	}
	for _, from := range []string{p.keys.Policy(action, group), p.keys.Default(Shard(group), action)} {
		var stored struct {
			Program string `redis:"program"`
			Group   string `redis:"group_program"`
		}
		if err := p.rdb.HMGet(ctx, from, "program", "group_program").Scan(&stored); err != nil && !isMissing(err) {
			return policy.Compiled{}, err
		}
		of, ok := DecodeProgram([]byte(stored.Program), []byte(stored.Group))
		if ok && user == wholeGroup {
			return of.OfGroup(), nil
		}
		if ok {
			return of, nil
		}
	}
	return policy.FactoryPolicy(action), nil
}
