package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// The scripts of textbooks, for the limit ARGV[1] per ARGV[2] ms. They answer 1 for what passes.
const (
	incrExpire = `local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return n <= tonumber(ARGV[1]) and 1 or 0`

	zsetLog = `local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], now, t[1] .. t[2])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`

	hashBuckets = `local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local width = ARGV[2] / 10
local this = math.floor(now / width)
local sum, all = 0, redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if tonumber(all[i]) <= this - 10 then redis.call('HDEL', KEYS[1], all[i]) else sum = sum + all[i + 1] end
end
if sum >= tonumber(ARGV[1]) then return 0 end
redis.call('HINCRBY', KEYS[1], this, 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`

	hashTokens = `local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local limit, period = tonumber(ARGV[1]), tonumber(ARGV[2])
local had = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens = math.min(limit, (tonumber(had[1]) or limit) + (now - (tonumber(had[2]) or now)) * limit / period)
local passes = tokens >= 1
if passes then tokens = tokens - 1 end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', now)
redis.call('PEXPIRE', KEYS[1], period)
return passes and 1 or 0`
)

func textbooks(rdb *redis.Client) (peers []*peer) {
	for _, book := range []struct{ name, prefix, script string }{
		{"script: INCR and EXPIRE", "incr", incrExpire},
		{"script: log in a sorted set", "zset", zsetLog},
		{"script: ten buckets in a hash", "bucket", hashBuckets},
		{"script: token bucket in a hash", "token", hashTokens},
	} {
		script := redis.NewScript(book.script)
		peers = append(peers, goPeer(book.name, func(ctx context.Context, q quota, member string) (bool, error) {
			n, err := script.Run(ctx, rdb, []string{book.prefix + ":" + foreign(q, member)},
				q.limit, q.period.Milliseconds()).Int()
			return n == 1, err
		}))
	}
	return peers
}

// goPeer is a limiter that is called from here.
func goPeer(name string, allow allowFunc) *peer {
	return &peer{
		name: name,
		many: func(ctx context.Context, q quota, first, members int) (passed int, err error) {
			for i := first; i < first+members; i++ {
				ok, err := allow(ctx, q, memberName(i))
				if err != nil {
					return passed, fmt.Errorf("%s: %w", name, err)
				}
				if ok {
					passed++
				}
			}
			return passed, nil
		},
		attack: func(ctx context.Context, pattern string, member int) ([]span, error) {
			return attack(ctx, pattern, func() (bool, error) { return allow(ctx, abuseQuota, memberName(member)) })
		},
	}
}

func memberName(i int) string { return "user-" + strconv.Itoa(1_000_000+i) }
