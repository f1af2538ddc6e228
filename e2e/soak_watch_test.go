package e2e_test

import (
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// watch holds that order and version of a group's hash in Redis never decrease, but when Redis has been emptied (C50).
func (k *soak) watch(group string) {
	key := k.keys.Policy("message", group)
	rdb := redis.NewClient(&redis.Options{Addr: k.redis.Options().Addr, MaxRetries: -1})
	defer func() { _ = rdb.Close() }()
	var last mark
	var lost int64
	for !k.over.Load() {
		before := k.losses.Load()
		values, err := rdb.HMGet(k.Context(), key, "order", "version").Result()
		if before != lost || k.losses.Load() != before {
			last, lost = mark{}, before
			continue
		}
		now, ok := markOf(values)
		if err != nil || !ok {
			waitFor(5 * time.Millisecond)
			continue
		}
		if now.order < last.order || now.version < last.version {
			k.tally.fault("%s went back in Redis from %+v to %+v", group, last, now)
		}
		last = now
		waitFor(2 * time.Millisecond)
	}
}

// mark is how far a hash is.
type mark struct{ order, version int64 }

func markOf(values []any) (m mark, ok bool) {
	if len(values) != 2 {
		return m, false
	}
	order, _ := values[0].(string)
	version, _ := values[1].(string)
	var err1, err2 error
	m.order, err1 = strconv.ParseInt(order, 10, 64)
	m.version, err2 = strconv.ParseInt(version, 10, 64)
	return m, err1 == nil && err2 == nil
}
