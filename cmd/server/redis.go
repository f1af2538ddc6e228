package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// How long one call to Redis may take before it counts as away.
const (
	redisDialTimeout = 500 * time.Millisecond
	redisCallTimeout = time.Second
)

// redisOptions reads PACEKEEPER_REDIS_URL: one URL, several separated by commas (a cluster), or one or several with
// ?master_name=NAME (sentinels).
func redisOptions(text string) (*redis.UniversalOptions, error) {
	options := &redis.UniversalOptions{
		DialTimeout: redisDialTimeout, ReadTimeout: redisCallTimeout, WriteTimeout: redisCallTimeout,
		ContextTimeoutEnabled: true, MaxRetries: 1,
		DialerRetries: 1, // else a refused connection is tried for half a second, and each caller waits
	}
	for part := range strings.SplitSeq(text, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		if err != nil {
			return nil, errors.New("PACEKEEPER_REDIS_URL: want redis://host:6379/0")
		}
		query := u.Query()
		if name := query.Get("master_name"); name != "" {
			options.MasterName = name
			query.Del("master_name")
			u.RawQuery = query.Encode()
		}
		one, err := redis.ParseURL(u.String())
		if err != nil {
			return nil, fmt.Errorf("PACEKEEPER_REDIS_URL: want redis://host:6379/0: %s", strings.ReplaceAll(err.Error(), u.String(), "the URL"))
		}
		options.Addrs = append(options.Addrs, one.Addr)
		options.Username, options.Password, options.DB, options.TLSConfig = one.Username, one.Password, one.DB, one.TLSConfig
	}
	options.IsClusterMode = len(options.Addrs) > 1 && options.MasterName == ""
	return options, nil
}

// redisLog takes what the Redis client itself would print to standard error: a line for each dial that fails.
type redisLog struct{ log *slog.Logger }

// Printf implements the client's logger.
func (l redisLog) Printf(ctx context.Context, format string, v ...any) {
	l.log.LogAttrs(ctx, slog.LevelDebug, "redis client", slog.String("line", fmt.Sprintf(format, v...)))
}

// singleNode tells one server (behind sentinels or not) from a cluster.
func singleNode(client redis.UniversalClient) bool {
	_, single := client.(*redis.Client)
	return single
}
