package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
)

// The forms of PACEKEEPER_REDIS_URL, as server config tells what it understood.
func TestRedisURLForms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"redis://cache":                                            "one server at cache:6379, database 0",
		"redis://user:hush@cache:7000/3":                           "one server at cache:7000, database 3",
		"rediss://[::1]:6379":                                      "one server at [::1]:6379, database 0",
		"unix:///run/redis.sock?db=2":                              "one server at /run/redis.sock, database 2",
		"redis://:hush@a:1, redis://:hush@b:2":                     "cluster, nodes a:1, b:2",
		"redis://a:1?cluster=true":                                 "cluster, nodes a:1",
		"redis://a:1,redis://b:2/0":                                "cluster, nodes a:1, b:2",
		"redis://:hush@a:1/5,redis://:hush@b:2/5?master_name=pace": "sentinels at a:1, b:2, master pace, database 5",
		"redis://a:1?master_name=pace&sentinel_password=hush2&sentinel_username=watch,redis://b:2": "sentinels at a:1, b:2, master pace, database 0",
	} {
		got, err := parseRedisURL(text)
		if err != nil || got.String() != want {
			t.Errorf("%s: %v, %v; want %s", text, got, err, want)
		}
	}
}

func TestRedisURLFaults(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"http://a":                                        "want redis://",
		"a:6379":                                          "want redis://",
		"redis://:hush@a:1,":                              "want redis://",
		"redis://:hush@a:not-a-port":                      "want redis://",
		"redis://:hush@a:1/zero":                          "want redis://",
		"redis://:hush@:6379":                             "names no host",
		"redis://:hush@a,redis://:pw@b":                   "differ",
		"redis://a,rediss://b":                            "differ",
		"redis://a,redis://a":                             "twice",
		"redis://a/1,redis://b/1":                         "database 0 alone",
		"redis://a/1?cluster=true":                        "database 0 alone",
		"redis://a?cluster=yes":                           "true",
		"redis://a?read_timeout=5s":                       "unknown option",
		"redis://a?db=3":                                  "unknown option",
		"redis://a?master_name=":                          "master_name",
		"redis://a?master_name=x&cluster=true":            "not both",
		"redis://a?master_name=x,redis://b?master_name=y": "master_name",
		"redis://:hush@a?sentinel_password=hush2":         "need master_name",
		"unix:///a.sock,unix:///b.sock":                   "socket",
		"unix:///a.sock?cluster=true":                     "socket",
		"unix:///a.sock?master_name=x":                    "socket",
	} {
		_, err := parseRedisURL(text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "PACEKEEPER_REDIS_URL") ||
			strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}

// What the URL says arrives in the client of each form.
func TestRedisClients(t *testing.T) {
	t.Parallel()
	of := func(text string) redis.UniversalClient {
		target, err := parseRedisURL(text)
		if err != nil {
			t.Fatal(err)
		}
		client := target.client()
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	cluster, ok := of("rediss://u:hush@a:1,rediss://u:hush@b:2").(*redis.ClusterClient)
	if !ok {
		t.Fatal("several URLs make no cluster client")
	}
	o := cluster.Options()
	if diff := cmp.Diff([]string{"a:1", "b:2"}, o.Addrs); diff != "" || o.Password != "hush" || o.Username != "u" || o.TLSConfig.ServerName != "" {
		t.Errorf("%s%+v", diff, o)
	}
	if o.ClusterStateReloadInterval != redisTopologyEach {
		t.Errorf("a promoted replica is found after %v", o.ClusterStateReloadInterval)
	}
	single, ok := of("redis://u:hush@a:1/4").(*redis.Client)
	if !ok || single.Options().DB != 4 || single.Options().Addr != "a:1" || single.Options().Password != "hush" {
		t.Error("one URL makes no client of it")
	}
	if unix := of("unix:///run/redis.sock").(*redis.Client); unix.Options().Network != "unix" || unix.Options().Addr != "/run/redis.sock" {
		t.Errorf("socket: %+v", unix.Options())
	}
	if watched, ok := of("redis://:hush@a:1?master_name=pace").(*redis.Client); !ok || watched.Options().Password != "hush" {
		t.Error("sentinels make no client of their master")
	}
}
