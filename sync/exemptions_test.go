package sync_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
	policysync "github.com/pacekeeper/pacekeeper/sync"
)

// tally counts what publishing writes into one key of Redis.
type tally struct {
	key   string
	bytes atomic.Int64
}

func (t *tally) DialHook(next redis.DialHook) redis.DialHook { return next }
func (t *tally) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (t *tally) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		size, names := 0, false
		for _, arg := range cmd.Args() {
			text := fmt.Sprint(arg)
			size, names = size+len(text), names || text == t.key
		}
		if names && strings.HasPrefix(cmd.Name(), "eval") {
			t.bytes.Add(int64(size))
		}
		return next(ctx, cmd)
	}
}

// counted is a client of the site's Redis with a tally of g1's exemptions.
func (at site) counted(tb testing.TB) (redis.UniversalClient, *tally) {
	tb.Helper()
	options := *at.rdb.(*redis.Client).Options()
	rdb, count := redis.NewClient(&options), &tally{key: at.keys.Exempt("g1")}
	tb.Cleanup(func() { _ = rdb.Close() })
	rdb.AddHook(count)
	return rdb, count
}

func (i *instance) exempt(tb testing.TB, user string) {
	tb.Helper()
	_, err := i.store.PutExemption(context.WithoutCancel(tb.Context()), operator, "g1", store.Anything(), store.Exemption{UserID: user})
	if err != nil {
		tb.Fatal(err)
	}
}

func (i *instance) unexempt(tb testing.TB, user string) {
	tb.Helper()
	if _, err := i.store.RemoveExemption(tb.Context(), operator, "g1", store.Anything(), user); err != nil {
		tb.Fatal(err)
	}
}

// exemptMany imports the users u0 to un-1 into g1, a thousand at a time: SQLite under the race detector is slow.
func (i *instance) exemptMany(tb testing.TB, n int, note string) {
	tb.Helper()
	var entries []store.Exemption
	for k := range n {
		entries = append(entries, store.Exemption{UserID: "u" + strconv.Itoa(k), Note: note})
	}
	for part := range slices.Chunk(entries, 1000) {
		r, err := i.store.ImportExemptions(tb.Context(), operator, "g1", store.ExemptionImport{
			Match: store.Anything(),
			Read:  func() ([]store.Exemption, []policy.FieldError, error) { return part, nil, nil },
		})
		if err != nil || r.Added+r.Updated != int64(len(part)) {
			tb.Fatalf("%+v, %v", r, err)
		}
	}
}

// asInDatabase waits until Redis has g1's exemptions exactly as the database has them.
func (at site) asInDatabase(tb testing.TB, inst *instance) {
	tb.Helper()
	eventually(tb, "exemptions as in the database", func() bool {
		set, err := inst.store.ExemptionsForPublish(tb.Context(), "g1")
		if err != nil {
			tb.Fatal(err)
		}
		var entries []enforce.ExemptEntry
		for _, e := range set.Entries {
			entries = append(entries, enforce.ExemptEntry{User: e.UserID, ExpiresMS: e.ExpiresMS})
		}
		stored, err := inst.pub.ReadExemptions(tb.Context(), []string{"g1"})
		return err == nil && stored[0].Order == set.Order && stored[0].Holds(entries)
	})
}

// TestC37_OneOfTenThousandIsPublishedAlone adds, changes and removes one of 10,000: what goes to Redis is that one.
func TestC37_OneOfTenThousandIsPublishedAlone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, at site) {
		t.Helper()
		rdb, count := at.counted(t)
		a := prepare(t, at, rdb, rarely, alone).run(t).ready(t).walked(t)
		a.group(t, "g1")
		many := 10_000
		if !strings.HasPrefix(at.url, "postgres") {
			many = 1000 // SQLite under the race detector takes minutes for more
		}
		a.exemptMany(t, many, "guest")
		at.asInDatabase(t, a)
		if count.bytes.Load() < 4*int64(many) {
			t.Fatalf("the whole set is %d bytes", count.bytes.Load())
		}
		later := store.Exemption{UserID: "u8", ExpiresAt: time.Now().Add(time.Hour)}
		for _, tt := range []struct {
			name string
			edit func()
		}{
			{"first change, which brings the script", func() { a.unexempt(t, "u7") }},
			{"add", func() { a.exempt(t, "one-more") }},
			{"remove", func() { a.unexempt(t, "one-more") }},
			{"change", func() {
				if _, err := a.store.PutExemption(t.Context(), operator, "g1", store.Anything(), later); err != nil {
					t.Fatal(err)
				}
			}},
			{"import of 100", func() { a.exemptMany(t, 100, "again") }},
		} {
			a.drained(t)
			count.bytes.Store(0)
			tt.edit()
			at.asInDatabase(t, a)
			if size := count.bytes.Load(); size > 4000 {
				t.Errorf("%s: %d bytes", tt.name, size)
			}
		}
	})
}

// alone leaves the outbox to others: on a busy machine the poll would publish again what was published late.
func alone(c *policysync.Config) { c.PollEvery = time.Hour }

// TestExemptionsPublishedByAnother lets an instance commit and die before it publishes: the next edit of another, or the
// poll of a third, brings its changes too, and not the whole set.
func TestExemptionsPublishedByAnother(t *testing.T) {
	t.Parallel()
	at := real(t)
	rdb, count := at.counted(t)
	a := prepare(t, at, rdb, rarely, alone).run(t).ready(t).walked(t)
	dead := prepare(t, at, nil) // never runs
	a.group(t, "g1")
	a.exemptMany(t, 1000, "guest")
	at.asInDatabase(t, a)
	a.drained(t)
	count.bytes.Store(0)
	dead.unexempt(t, "u7")
	a.exempt(t, "after")
	at.asInDatabase(t, a)
	if size := count.bytes.Load(); size > 4000 {
		t.Errorf("%d bytes for two changes", size)
	}
	rdb, count = at.counted(t)
	prepare(t, at, rdb, rarely).run(t).ready(t).walked(t)
	count.bytes.Store(0)
	dead.unexempt(t, "u8")
	at.asInDatabase(t, a)
	if size := count.bytes.Load(); size > 4000 {
		t.Errorf("%d bytes for a change that the poll found", size)
	}
}

// TestC31_RacingExemptions changes few users from two instances at once, by single edits and imports, while Redis is
// flushed and forgets its scripts: in between the order never goes back but for the flush, and at the end Redis is as the
// database.
func TestC31_RacingExemptions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, at site) {
		t.Helper()
		two := []*instance{start(t, at), start(t, at)}
		two[0].group(t, "g1")
		two[0].exemptMany(t, 20, "start")
		done := make(chan error, 4)
		for w := range 4 {
			go func() { done <- two[w%2].scribble(t.Context(), uint64(w)) }()
		}
		at.flush(t)
		last, running := int64(0), 4
		for running > 0 {
			select {
			case err := <-done:
				if running--; err != nil {
					t.Error(err)
				}
			default:
			}
			order, err := at.rdb.Get(t.Context(), at.keys.ExemptV("g1")).Int64()
			if err == nil && order < last {
				t.Errorf("the order went from %d back to %d", last, order)
			}
			last = max(last, order)
		}
		at.asInDatabase(t, two[1])
		if err := at.rdb.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		two[0].exempt(t, "the-last")
		at.asInDatabase(t, two[1])
	})
}

// scribble makes 60 edits of 20 users.
func (i *instance) scribble(ctx context.Context, seed uint64) error {
	random := rand.New(rand.NewPCG(seed, 3))
	for n := range 60 {
		user, err := fmt.Sprint("u", random.IntN(20)), error(nil)
		switch random.IntN(5) {
		case 0:
			_, err = i.store.ImportExemptions(ctx, operator, "g1", store.ExemptionImport{
				Match: store.Anything(),
				Read: func() ([]store.Exemption, []policy.FieldError, error) {
					return []store.Exemption{{UserID: user, Note: fmt.Sprint(seed, n)}, {UserID: user + "x"}}, nil, nil
				},
			})
		case 1, 2:
			_, err = i.store.RemoveExemption(ctx, operator, "g1", store.Anything(), user)
			if known, ok := errors.AsType[*policy.Error](err); ok && known.Code == policy.CodeNotFound {
				err = nil
			}
		default:
			end := time.UnixMilli(1_900_000_000_000 + random.Int64N(3))
			_, err = i.store.PutExemption(ctx, operator, "g1", store.Anything(), store.Exemption{UserID: user, ExpiresAt: end})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TestC37_ImportReachesRedisAndIsAsked checks a member of a full set while it is edited.
func TestC37_ImportReachesRedisAndIsAsked(t *testing.T) {
	t.Parallel()
	at := real(t)
	a := start(t, at)
	a.group(t, "g1")
	a.exemptMany(t, 1000, "guest")
	at.asInDatabase(t, a)
	var codes []policy.DecisionCode
	for _, user := range []string{"u999", "u999", "u999"} {
		codes = append(codes, at.check(t, user).Code)
	}
	a.unexempt(t, "u999")
	at.asInDatabase(t, a)
	codes = append(codes, at.check(t, "u999").Code)
	want := []policy.DecisionCode{policy.Allowed, policy.AllowedExempt, policy.AllowedExempt, policy.RefusedInterval}
	if diff := cmp.Diff(want, codes); diff != "" {
		t.Error(diff)
	}
}
