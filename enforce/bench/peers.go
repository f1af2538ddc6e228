package main

import (
	"context"
	"errors"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"
	"github.com/throttled/throttled/v2"
	throttledstore "github.com/throttled/throttled/v2/store/goredisstore.v9"
	"github.com/ulule/limiter/v3"
	ululestore "github.com/ulule/limiter/v3/drivers/store/redis"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
)

// quota is so many per period.
type quota struct {
	limit  int
	period time.Duration
}

// The groups where members are, one for each way to ask the kit; the quotas are those of its actions.
const (
	group      = "group-1000042"
	tupleGroup = "group-1000043"
	nodeGroup  = "group-1000044"
)

func (q quota) action() string {
	switch q {
	case costQuota:
		return "message"
	case wideQuota:
		return "wide"
	}
	return "abuse"
}

var (
	costQuota  = quota{8, 30 * time.Second}
	wideQuota  = quota{50, 60 * time.Second}
	abuseQuota = quota{8, time.Second}
)

// peer is one limiter, asked by its own API, one call after another.
type peer struct {
	name      string
	node      bool // it lives in Node
	yardstick bool // ratios are against it
	narrow    bool // it is not measured with the wide quota
	// many asks once for each member from first on, in turn, and answers how many passed.
	many func(ctx context.Context, q quota, first, members int) (int, error)
	// attack asks for one member by the pattern of abuse, and answers when those that passed were sent and answered, ms.
	attack func(ctx context.Context, pattern string, member int) ([]span, error)

	cost             [3][]float64 // µs of Redis a call, by round: allowed, refused, refused again
	bytes, bytesWide int64
	most             int
}

// allowFunc is how Go's limiters are asked.
type allowFunc func(ctx context.Context, q quota, member string) (bool, error)

func newGoPeers(ctx context.Context, s *server) ([]*peer, error) {
	rdb := s.client(1)
	if err := publish(ctx, rdb); err != nil {
		return nil, err
	}
	own := enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
	tuple := redis.NewScript(enforce.CheckScript())
	rate := redis_rate.NewLimiter(rdb)
	peers := []*peer{
		goPeer("redis_rate v10.0.1 (GCRA)", func(ctx context.Context, q quota, member string) (bool, error) {
			r, err := rate.Allow(ctx, foreign(q, member), redis_rate.Limit{Rate: q.limit, Burst: q.limit, Period: q.period})
			return err == nil && r.Allowed > 0, err
		}),
		goPeer("**this kit**, Go client", func(ctx context.Context, q quota, member string) (bool, error) {
			d, err := own.Check(ctx, enforce.Request{Action: q.action(), Group: group, User: member})
			return d.Allowed(), degradedIsFault(d, err)
		}),
		goPeer("**this kit**, the tuple", func(ctx context.Context, q quota, member string) (bool, error) {
			keys := enforce.NewKeys("")
			reply, err := tuple.Run(ctx, rdb, []string{
				keys.Policy(q.action(), tupleGroup), keys.Default(enforce.Shard(tupleGroup), q.action()),
				keys.State(q.action(), tupleGroup, member), keys.Member(tupleGroup, member),
			}).Int64Slice()
			return err == nil && reply[0] <= int64(policy.AllowedDegraded), err
		}),
	}
	peers[0].yardstick = true
	ulule, err := newUlule(rdb)
	if err != nil {
		return nil, err
	}
	thr, err := newThrottled(rdb)
	if err != nil {
		return nil, err
	}
	return append(append(peers, ulule, thr), textbooks(rdb)...), nil
}

// foreign is how peers name a member: as much as the kit's keys name.
func foreign(q quota, member string) string { return q.action() + "|" + group + "|" + member }

func degradedIsFault(d enforce.Decision, err error) error {
	if err == nil && d.Degraded() {
		return errors.New("the decision was degraded")
	}
	return err
}

// publish makes the quotas the group's policies: the full decision with the shipped ladder, and an interval of 1 ms, which
// nobody here is faster than.
func publish(ctx context.Context, rdb redis.UniversalClient) error {
	keys := enforce.NewKeys("")
	for _, of := range []string{group, tupleGroup, nodeGroup} {
		var pubs []enforce.Publication
		for _, q := range []quota{costQuota, wideQuota, abuseQuota} {
			p := policy.FactoryPolicy(q.action())
			p.MinIntervalMS, p.Limit, p.PeriodMS, p.Order, p.Version, p.Speech = 1, int64(q.limit), q.period.Milliseconds(), 1, 1, true
			if q == abuseQuota {
				p.MinIntervalMS, p.Speech, p.Ladder = 0, false, nil // the window alone is under attack, not the mutes
			}
			pubs = append(pubs, enforce.Publication{Key: keys.Policy(q.action(), of), Order: 1, Hash: enforce.PolicyHash(p)})
		}
		if _, err := enforce.NewPublisher(rdb, keys).Publish(ctx, enforce.Shard(of), pubs); err != nil {
			return err
		}
	}
	return nil
}

func newUlule(rdb *redis.Client) (*peer, error) {
	store, err := ululestore.NewStoreWithOptions(rdb, limiter.StoreOptions{Prefix: "u"})
	if err != nil {
		return nil, err
	}
	return goPeer("ulule/limiter v3.11.2 (counter)", func(ctx context.Context, q quota, member string) (bool, error) {
		c, err := limiter.New(store, limiter.Rate{Period: q.period, Limit: int64(q.limit)}).Get(ctx, foreign(q, member))
		return !c.Reached, err
	}), nil
}

func newThrottled(rdb *redis.Client) (*peer, error) {
	store, err := throttledstore.NewCtx(rdb, "t:")
	if err != nil {
		return nil, err
	}
	of := map[quota]*throttled.GCRARateLimiterCtx{}
	for _, q := range []quota{costQuota, wideQuota, abuseQuota} {
		of[q], err = throttled.NewGCRARateLimiterCtx(store, throttled.RateQuota{
			MaxRate: throttled.PerDuration(q.limit, q.period), MaxBurst: q.limit - 1,
		})
		if err != nil {
			return nil, err
		}
	}
	return goPeer("throttled v2.15.0 (GCRA, several calls)", func(ctx context.Context, q quota, member string) (bool, error) {
		limited, _, err := of[q].RateLimitCtx(ctx, foreign(q, member), 1)
		return !limited, err
	}), nil
}
