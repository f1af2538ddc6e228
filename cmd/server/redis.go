package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// How long one call to Redis may take before it counts as away, and how soon a cluster's new masters are known.
const (
	redisDialTimeout  = 500 * time.Millisecond
	redisCallTimeout  = time.Second
	redisTopologyEach = time.Second
)

// redisTarget is what PACEKEEPER_REDIS_URL says: one server, a cluster, or a master that sentinels watch over.
type redisTarget struct {
	addrs              []string // the server, some nodes of the cluster, or the sentinels
	cluster            bool
	masterName         string // "" = no sentinels
	sentinelUser       string
	sentinelPassword   string
	one                *redis.Options // user, password, database and TLS, the same in every part
	scheme, credential string
}

// parseRedisURL reads PACEKEEPER_REDIS_URL:
//
//	redis://user:password@host:6379/0                       one server; rediss:// = TLS; unix:///path?db=0
//	redis://a:6379,redis://b:6379,…                         a cluster, by some of its nodes
//	redis://a:6379?cluster=true                             a cluster, by one address
//	redis://a:26379,redis://b:26379,…?master_name=NAME      sentinels; &sentinel_username=…&sentinel_password=… are theirs
//
// Parts must agree in scheme, user and password. Whatever else the URL says is an error, never ignored; errors name the
// setting and show no secret.
func parseRedisURL(text string) (*redisTarget, error) {
	r := &redisTarget{}
	for i, part := range strings.Split(text, ",") {
		if err := r.add(i, strings.TrimSpace(part)); err != nil {
			return nil, fmt.Errorf("PACEKEEPER_REDIS_URL: %w", err)
		}
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("PACEKEEPER_REDIS_URL: %w", err)
	}
	return r, nil
}

var errRedisForm = errors.New("want redis://user:password@host:6379/0")

// add takes one of the parts between the commas.
func (r *redisTarget) add(i int, part string) error {
	u, err := url.Parse(part)
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix" {
		return errRedisForm
	}
	if u.Scheme != "unix" && u.Hostname() == "" {
		return errors.New("a part names no host: " + errRedisForm.Error())
	}
	if err := r.options(u); err != nil {
		return err
	}
	one, err := redis.ParseURL(u.String())
	if err != nil {
		return errRedisForm // its own words may hold the password
	}
	credential := one.Username + "\n" + one.Password
	if i > 0 && (u.Scheme != r.scheme || credential != r.credential || one.DB != r.one.DB) {
		return errors.New("the parts differ in scheme, user, password or database")
	}
	if slices.Contains(r.addrs, one.Addr) {
		return fmt.Errorf("%s stands there twice", one.Addr)
	}
	if one.TLSConfig != nil {
		one.TLSConfig.ServerName = "" // each node is held to its own name
	}
	r.scheme, r.credential, r.one = u.Scheme, credential, one
	r.addrs = append(r.addrs, one.Addr)
	return nil
}

// options takes what is ours out of the query; a database may stay in that of a socket.
func (r *redisTarget) options(u *url.URL) error {
	query := u.Query()
	for name, target := range map[string]*string{
		"master_name": &r.masterName, "sentinel_username": &r.sentinelUser, "sentinel_password": &r.sentinelPassword,
	} {
		if !query.Has(name) {
			continue
		}
		value := query.Get(name)
		if value == "" || *target != "" && *target != value {
			return fmt.Errorf("%s is empty or stands there twice", name)
		}
		*target = value
		query.Del(name)
	}
	if query.Has("cluster") {
		if query.Get("cluster") != "true" {
			return errors.New("the only value of cluster is true")
		}
		r.cluster = true
		query.Del("cluster")
	}
	for name := range query {
		if name != "db" || u.Scheme != "unix" {
			return fmt.Errorf("unknown option %q; known are cluster, master_name, sentinel_username and sentinel_password", name)
		}
	}
	u.RawQuery = query.Encode()
	return nil
}

// check holds the parts against each other.
func (r *redisTarget) check() error {
	switch {
	case r.masterName == "" && r.sentinelUser+r.sentinelPassword != "":
		return errors.New("sentinel_username and sentinel_password need master_name")
	case r.masterName != "" && r.cluster:
		return errors.New("it is a cluster or sentinels, not both")
	}
	r.cluster = r.cluster || len(r.addrs) > 1 && r.masterName == ""
	switch {
	case r.scheme == "unix" && (r.cluster || r.masterName != ""):
		return errors.New("a cluster and sentinels are reached by host and port, not by a socket")
	case r.cluster && r.one.DB != 0:
		return errors.New("a cluster has database 0 alone")
	}
	return nil
}

// String says what the setting names, without secrets.
func (r *redisTarget) String() string {
	at := strings.Join(r.addrs, ", ")
	switch {
	case r.masterName != "":
		return fmt.Sprintf("sentinels at %s, master %s, database %d", at, r.masterName, r.one.DB)
	case r.cluster:
		return "cluster, nodes " + at
	}
	return fmt.Sprintf("one server at %s, database %d", at, r.one.DB)
}

// client makes a client; it connects to nothing yet.
func (r *redisTarget) client() redis.UniversalClient {
	options := &redis.UniversalOptions{
		Addrs: r.addrs, MasterName: r.masterName, SentinelUsername: r.sentinelUser, SentinelPassword: r.sentinelPassword,
		Username: r.one.Username, Password: r.one.Password, DB: r.one.DB, TLSConfig: r.one.TLSConfig,
		DialTimeout: redisDialTimeout, ReadTimeout: redisCallTimeout, WriteTimeout: redisCallTimeout,
		ContextTimeoutEnabled: true, MaxRetries: 1,
		DialerRetries: 1, // else a refused connection is tried for half a second, and each caller waits
	}
	switch {
	case r.masterName != "":
		return redis.NewFailoverClient(options.Failover())
	case r.cluster:
		cluster := options.Cluster()
		cluster.MaxRetries = -1 // the cluster client tries again by itself
		cluster.ClusterStateReloadInterval = redisTopologyEach
		return redis.NewClusterClient(cluster)
	}
	simple := options.Simple()
	simple.Network = r.one.Network
	return redis.NewClient(simple)
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
