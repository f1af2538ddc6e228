package sync_test

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
	policysync "github.com/pacekeeper/pacekeeper/sync"
)

// soon is how long a test waits for what should take milliseconds, on a machine that is busy.
const soon = time.Minute

// site is a database and a Redis that instances share.
type site struct {
	url  string
	rdb  redis.UniversalClient
	keys enforce.Keys
}

// instance is a store with its sync running.
type instance struct {
	*policysync.Sync
	store *store.Store
	pub   *enforce.Publisher
	stop  func() // ends Run and waits for it
}

var operator = store.Actor{Name: "ops", Role: store.RoleOperator, Channel: store.ChannelAPI}

// prepare opens a store and makes a sync on it that does not run yet. A nil rdb is the site's.
func prepare(tb testing.TB, at site, rdb redis.UniversalClient, edits ...func(*policysync.Config)) *instance {
	tb.Helper()
	if rdb == nil {
		rdb = at.rdb
	}
	inst := &instance{pub: enforce.NewPublisher(rdb, at.keys), stop: func() {}}
	inst.store = pgtest.Open(tb, at.url, func(c *store.Config) {
		c.OnCommit = func(change store.Change) { inst.Wake(change) }
	})
	cfg := policysync.Config{
		Store: inst.store, Publisher: inst.pub, Now: time.Now, SingleNode: true,
		Logger: slog.New(slog.NewTextHandler(testWriter{tb}, &slog.HandlerOptions{Level: slog.LevelWarn})),
		NewID:  uuid.NewString,
	}
	for _, edit := range edits {
		edit(&cfg)
	}
	var err error
	if inst.Sync, err = policysync.New(cfg); err != nil {
		tb.Fatal(err)
	}
	return inst
}

// run starts the sync; it ends with the test, or by stop.
func (i *instance) run(tb testing.TB) *instance {
	tb.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	done := make(chan error, 1)
	go func() { done <- i.Run(ctx) }()
	stopped := false
	i.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			tb.Errorf("Run: %v", err)
		}
	}
	tb.Cleanup(func() { i.stop() })
	return i
}

// ready waits for the first pass.
func (i *instance) ready(tb testing.TB) *instance {
	tb.Helper()
	eventually(tb, "ready", func() bool { return i.Ready() == nil })
	return i
}

func start(tb testing.TB, at site, edits ...func(*policysync.Config)) *instance {
	tb.Helper()
	return prepare(tb, at, nil, edits...).run(tb).ready(tb)
}

// eventually polls until ok, or fails the test.
func eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	deadline := time.Now().Add(soon)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			tb.Fatalf("not within %v: %s", soon, what)
		}
		<-tick.C
	}
}

type testWriter struct{ tb testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	if w.tb.Context().Err() == nil {
		w.tb.Log(strings.TrimSpace(string(p)))
	}
	return len(p), nil
}

func (i *instance) group(tb testing.TB, id string) {
	tb.Helper()
	if _, _, err := i.store.PutGroup(tb.Context(), operator, store.Anything(), id, "name of "+id, "en"); err != nil {
		tb.Fatal(err)
	}
}

// save saves a document as the group's policy, and returns its version.
func (i *instance) save(tb testing.TB, group, document string) int64 {
	tb.Helper()
	doc, err := policy.ParseDocument([]byte(document))
	if err != nil {
		tb.Fatal(err)
	}
	record, _, err := i.store.UpdatePolicy(tb.Context(), operator, group, store.Anything(),
		func(*policy.System, policy.Document) (policy.Document, error) { return doc, nil })
	if err != nil {
		tb.Fatal(err)
	}
	return record.Version
}

// live waits until the version of group g1 is in Redis, as a caller with Prefer: wait does.
func (i *instance) live(tb testing.TB, version int64) store.Publication {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), soon)
	defer cancel()
	pub, ok := i.Wait(ctx, "g1", version)
	if !ok {
		tb.Fatalf("version %d is not live", version)
	}
	return pub
}

func (at site) field(tb testing.TB, key, field string) string {
	tb.Helper()
	value, err := at.rdb.HGet(tb.Context(), key, field).Result()
	if err != nil && err != redis.Nil { //nolint:errorlint // go-redis returns it bare
		tb.Fatal(err)
	}
	return value
}

// snapshot reads all that sync publishes: key → contents. Tombstones, limiter state and bookkeeping are left out.
func (at site) snapshot(tb testing.TB) map[string]map[string]string {
	tb.Helper()
	all := map[string]map[string]string{}
	for _, key := range at.all(tb) {
		switch kind := strings.SplitN(key, ":", 3)[2]; {
		case strings.HasPrefix(kind, "policy:"), strings.HasPrefix(kind, "default:"), strings.HasPrefix(kind, "notice:"):
			if hash := at.rdb.HGetAll(tb.Context(), key).Val(); hash["deleted"] == "" {
				all[key] = hash
			}
		case strings.HasPrefix(kind, "exempt:"):
			all[key] = map[string]string{}
			for _, z := range at.rdb.ZRangeWithScores(tb.Context(), key, 0, -1).Val() {
				all[key][z.Member.(string)] = redisFloat(z.Score)
			}
		case strings.HasPrefix(kind, "exemptv:"):
			all[key] = map[string]string{"": at.rdb.Get(tb.Context(), key).Val()}
		}
	}
	return all
}

// all lists every key.
func (at site) all(tb testing.TB) (keys []string) {
	tb.Helper()
	var mu sync.Mutex
	scan := func(ctx context.Context, node *redis.Client) error {
		iter := node.Scan(ctx, 0, "*", 1000).Iterator()
		for iter.Next(ctx) {
			mu.Lock()
			keys = append(keys, iter.Val())
			mu.Unlock()
		}
		return iter.Err()
	}
	err := error(nil)
	switch rdb := at.rdb.(type) {
	case *redis.ClusterClient:
		err = rdb.ForEachMaster(tb.Context(), scan)
	case *redis.Client:
		err = scan(tb.Context(), rdb)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return keys
}

func redisFloat(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// real is a Postgres and a redis-server.
func real(tb testing.TB) site {
	tb.Helper()
	return site{url: pgtest.Postgres(tb), rdb: redistest.Real(tb), keys: enforce.NewKeys("")}
}

// embedded is what runs when nothing is configured: SQLite and the in-process Redis.
func embedded(tb testing.TB) site {
	tb.Helper()
	return site{url: pgtest.SQLite(tb), rdb: redistest.Embedded(tb), keys: enforce.NewKeys("")}
}

// each runs a test on both.
func each(t *testing.T, test func(t *testing.T, at site)) {
	t.Helper()
	t.Run("postgres+redis", func(t *testing.T) {
		t.Parallel()
		test(t, real(t))
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		test(t, embedded(t))
	})
}

// flush wipes the test's Redis, as FLUSHALL does.
func (at site) flush(tb testing.TB) {
	tb.Helper()
	if err := at.rdb.FlushDB(tb.Context()).Err(); err != nil {
		tb.Fatal(err)
	}
}

// ask runs the check script as any service does. A zero nowMS is the clock of Redis.
func (at site) ask(t *testing.T, action, group, user, cost string, nowMS int64) policy.Decision {
	t.Helper()
	k := at.keys
	keys := []string{
		k.Policy(action, group), k.Default(enforce.Shard(group), action), k.State(action, group, user),
		k.Member(group, user), k.Exempt(group), k.Muted(group), k.Events(enforce.Shard(group)),
	}
	args := []any{user, "", cost}
	if nowMS > 0 {
		args = append(args, nowMS)
	}
	n, err := redis.NewScript(enforce.CheckScript()).Run(t.Context(), at.rdb, keys, args...).Int64Slice()
	if err != nil || len(n) != 7 {
		t.Fatalf("check answers %v, %v", n, err)
	}
	return policy.Decision{
		Code: policy.DecisionCode(n[0]), WaitMS: n[1], Remaining: n[2], Limit: n[3], Strikes: n[4], Step: n[5], Version: n[6],
	}
}

func (at site) like(t *testing.T, group, user string) policy.Decision {
	t.Helper()
	return at.ask(t, "like", group, user, "1", 0)
}

// check is a message in group g1.
func (at site) check(t *testing.T, user string) policy.Decision {
	t.Helper()
	return at.ask(t, "message", "g1", user, "1", 0)
}

func (at site) checkAt(t *testing.T, group, user string, nowMS int64) policy.Decision {
	t.Helper()
	return at.ask(t, "message", group, user, "1", nowMS)
}

func (at site) peek(t *testing.T, group, user string) policy.Decision {
	t.Helper()
	return at.ask(t, "message", group, user, "0", 0)
}
