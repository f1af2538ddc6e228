//nolint:thelper // the functions given to Each are the tests themselves; as helpers they would hide the failing line
package enforce_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/policy"
)

func compiled(order, limit int64) policy.Compiled {
	p := p0()
	p.Order, p.Version, p.Limit = order, order, limit
	return p
}

func TestPublishNeverGoesBackwards(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		keys := enforce.NewKeys("")
		pub, key := enforce.NewPublisher(rdb, keys), keys.Policy("message", group)
		publish := func(p enforce.Publication) enforce.Result {
			p.Key = key
			results, err := pub.Publish(t.Context(), enforce.Shard(group), []enforce.Publication{p})
			if err != nil || len(results) != 1 {
				t.Fatalf("publish: %v, %v", results, err)
			}
			return results[0]
		}
		hash := func(order, limit int64) enforce.Publication {
			return enforce.Publication{Order: order, Hash: enforce.PolicyHash(compiled(order, limit))}
		}
		zoned := func(order, nextAt int64) enforce.Publication {
			p := compiled(order, 8)
			p.TimeZone, p.BanToEndOfDay, p.Offsets = "Europe/Berlin", true, policy.Offsets{UTCOffsetMS: 1, NextOffsetAtMS: nextAt}
			return enforce.Publication{Order: order, Hash: enforce.PolicyHash(p)}
		}
		newer := hash(6, 9)
		newer.Hash = append(enforce.Hash{}, newer.Hash...)
		for i := range newer.Hash {
			if newer.Hash[i] == "format" {
				newer.Hash[i+1] = strconv.Itoa(enforce.HashFormat + 1)
			}
		}
		repair := func(p enforce.Publication, seen int64) enforce.Publication {
			p.Repair, p.Seen = true, seen
			return p
		}
		tests := []struct {
			name string
			pub  enforce.Publication
			want enforce.Result
		}{
			{"first", hash(5, 8), enforce.Written},
			{"again", hash(5, 8), enforce.Same},
			{"older", hash(4, 8), enforce.Older},
			{"equal order, other digest", hash(5, 9), enforce.Written},
			{"newer", hash(6, 8), enforce.Written},
			{"withdrawn late", enforce.Publication{Order: 5, Delete: true}, enforce.Older},
			{"newer format", repair(newer, 6), enforce.Written},
			{"older format", hash(6, 7), enforce.Older},
			{"repair of another order", repair(hash(6, 8), 5), enforce.Older},
			{"repair", repair(hash(6, 8), 6), enforce.Written},
			{"drift ahead", hash(3, 8), enforce.Older},
			{"drift ahead, compared", repair(hash(3, 8), 6), enforce.Written},
			{"withdrawn", enforce.Publication{Order: 7, Delete: true}, enforce.Written},
			{"withdrawn again", enforce.Publication{Order: 7, Delete: true}, enforce.Same},
			{"late write", hash(6, 8), enforce.Older},
			{"back again", hash(8, 8), enforce.Written},
			{"knows its zone to the spring", zoned(9, 5000), enforce.Written},
			{"compiled by a clock behind", zoned(9, 4000), enforce.Older},
			{"knows its zone to the autumn", zoned(9, 6000), enforce.Written},
			{"needs no zone any more", hash(9, 8), enforce.Written},
		}
		for _, tt := range tests {
			if got := publish(tt.pub); got != tt.want {
				t.Fatalf("%s: %d, want %d", tt.name, got, tt.want)
			}
			if tt.want == enforce.Written && tt.pub.Delete {
				same(t, tt.name, map[string]string{"order": "7", "deleted": "1"}, rdb.HGetAll(t.Context(), key).Val())
			} else if tt.want == enforce.Written {
				same(t, tt.name, tt.pub.Hash.Map(), rdb.HGetAll(t.Context(), key).Val())
			}
		}
	})
}

func TestPublishReplacesWhatIsDamaged(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		keys := enforce.NewKeys("")
		pub, key := enforce.NewPublisher(rdb, keys), keys.Policy("message", group)
		hash := enforce.PolicyHash(compiled(5, 8))
		for name, spoil := range map[string]func(){
			"wrong type":  func() { rdb.Set(t.Context(), key, "x", 0) },
			"order abc":   func() { rdb.HSet(t.Context(), key, "order", "abc") },
			"extra field": func() { rdb.HSet(t.Context(), key, "order", "1", "extra", "1") },
			"no fields":   func() {},
		} {
			rdb.Del(t.Context(), key)
			spoil()
			results, err := pub.Publish(t.Context(), enforce.Shard(group), []enforce.Publication{{Key: key, Order: 5, Hash: hash}})
			if err != nil || results[0] != enforce.Written {
				t.Fatalf("%s: %v, %v", name, results, err)
			}
			same(t, name, hash.Map(), rdb.HGetAll(t.Context(), key).Val())
		}
	})
}

func TestPolicyHashIsAListpack(t *testing.T) {
	t.Parallel()
	rdb := redistest.Real(t)
	k := newKit(t, rdb, p0())
	key := k.keys.Policy("message", group)
	same(t, "encoding", "listpack", rdb.ObjectEncoding(t.Context(), key).Val())
	same(t, "ladder", "3m60,4m300,5m3600,6r", rdb.HGet(t.Context(), key, "ladder").Val())
	for _, value := range rdb.HVals(t.Context(), key).Val() {
		if len(value) > 64 {
			t.Errorf("%q is longer than 64 bytes", value)
		}
	}
}

func TestExemptionsAreGuarded(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		pub, keys := enforce.NewPublisher(rdb, enforce.NewKeys("")), enforce.NewKeys("")
		publish := func(order int64, want enforce.Result, users ...string) {
			t.Helper()
			var entries []enforce.ExemptEntry
			for i, u := range users {
				entries = append(entries, enforce.ExemptEntry{User: u, ExpiresMS: int64(i) * base})
			}
			if got, err := pub.PublishExemptions(t.Context(), group, order, entries); err != nil || got != want {
				t.Fatalf("order %d: %d, %v; want %d", order, got, err, want)
			}
		}
		publish(2, enforce.Written, "a", "b")
		publish(2, enforce.Same, "a", "b")
		publish(1, enforce.Older, "c")
		same(t, "entries", []string{"b", "a"}, rdb.ZRange(t.Context(), keys.Exempt(group), 0, -1).Val())
		publish(3, enforce.Written)
		same(t, "order of the empty set", "3", rdb.Get(t.Context(), keys.ExemptV(group)).Val())
		publish(2, enforce.Older, "a")
		if got, err := pub.RepairExemptions(t.Context(), group, 2, 3, []enforce.ExemptEntry{{User: "z"}}); err != nil || got != enforce.Written {
			t.Fatalf("repair: %d, %v", got, err)
		}
		rdb.Del(t.Context(), keys.Exempt(group))
		publish(2, enforce.Written, "z")
	})
}

func TestC37_TenThousandExemptions(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		k := newKit(t, rdb, p0())
		entries := make([]enforce.ExemptEntry, 10_000)
		for i := range entries {
			entries[i].User = name(i)
		}
		start := time.Now()
		if got, err := k.pub.PublishExemptions(t.Context(), group, 1, entries); err != nil || got != enforce.Written {
			t.Fatalf("publish: %d, %v", got, err)
		}
		t.Logf("10,000 entries in %v", time.Since(start))
		same(t, "entries", int64(10_000), rdb.ZCard(t.Context(), k.keys.Exempt(group)).Val())
		k.want(0, policy.Allowed)
		k.want(1, policy.AllowedExempt) // u1 is among them
	})
}

func TestLiftTakesTheStrikeBack(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		p := p0()
		p.MinIntervalMS = policy.MaxIntervalMS
		p.Ladder = []policy.Step{{After: 1, Do: policy.Mute, ForMS: 600_000}}
		k := newKit(t, rdb, p)
		client := enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
		check(t, client, "message", group, user)
		same(t, "step", int64(1), check(t, client, "message", group, user).Step)
		start := k.member().MuteStartMS
		lift := func(at, want int64) {
			t.Helper()
			if got, err := k.pub.LiftMute(t.Context(), group, user, at); err != nil || got != want {
				t.Fatalf("lift = %d, %v; want %d", got, err, want)
			}
		}
		lift(start-1, 0)
		lift(start, start)
		lift(start, 0)
		same(t, "strikes", int64(0), k.member().Strikes)
		same(t, "muted", int64(0), rdb.ZCard(t.Context(), k.keys.Muted(group)).Val())
		late := enforce.MuteRecord{StartMS: start, EndMS: start + 600_000, Cause: policy.CauseLadder, Step: 1}
		if err := k.pub.PutMute(t.Context(), group, user, late); err != nil {
			t.Fatal(err)
		}
		same(t, "cause after a late put", policy.CauseLifted, k.member().Cause)
		same(t, "code", policy.RefusedInterval, check(t, client, "message", group, user).Code)
		k.ttls(k.scriptKeys()[2:4]...)
	})
}

func TestBanPutAndLift(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		k := newKit(t, rdb, p0())
		client := enforce.New(enforce.Config{Redis: rdb, Timeout: time.Minute})
		now := k.now()
		put := func() {
			if err := k.pub.PutBan(t.Context(), "message", group, user, now, now+600_000); err != nil {
				t.Fatal(err)
			}
		}
		put()
		same(t, "banned", policy.RefusedBanned, check(t, client, "message", group, user).Code)
		if got, err := k.pub.LiftBan(t.Context(), "message", group, user, now); err != nil || got != now {
			t.Fatalf("lift = %d, %v", got, err)
		}
		put() // late
		same(t, "lifted", policy.Allowed, check(t, client, "message", group, user).Code)
		put() // later still
		st, err := k.pub.ReadState(t.Context(), "message", group, user)
		if err != nil || st.BanEndMS != 0 || st.BanStartMS != now || len(st.Log) != 1 {
			t.Fatalf("state = %+v, %v", st, err)
		}
		k.ttls(k.scriptKeys()[2:4]...)
	})
}

func TestEventsByCursor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		k := newKit(t, rdb, p0())
		shard := enforce.Shard(group)
		for ms := range int64(4) {
			k.at(ms * 1100)
		}
		rdb.XAdd(t.Context(), &redis.XAddArgs{Stream: k.keys.Events(shard), Values: []string{"k", "junk", "v", "junk"}})
		read := func(cursor string, count int64) []enforce.Event {
			events, err := k.pub.ReadEvents(t.Context(), map[uint8]string{shard: cursor, shard + 1: ""}, count)
			if err != nil {
				t.Fatal(err)
			}
			return events
		}
		all := read("", 10)
		first := read("", 1)
		same(t, "pages", all, append(first, read(first[0].ID, 10)...))
		last := all[len(all)-1]
		same(t, "junk only moves the cursor", enforce.Event{ID: last.ID, Shard: shard}, last)
		same(t, "behind the end", 0, len(read(last.ID, 10)))
		same(t, "the first strike", policy.Event{AtMS: base + 1100, Code: policy.RefusedInterval, Strikes: 1}, first[0].Event)
	})
}

func TestEpochsCompareAndSet(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		pub := enforce.NewPublisher(rdb, enforce.NewKeys(""))
		step := func(seen, next string, want ...bool) {
			t.Helper()
			got, err := pub.SwapEpochs(t.Context(), []uint8{31, 9}, []string{seen, ""}, next)
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("from %q to %q: got %v, %v; want %v", seen, next, got, err, want)
			}
		}
		step("", "~a", true, true) // each shard on its own terms
		step("", "~b", false, false)
		step("~a", "~b", true, false) // a was orphaned
		step("~a", "a", false, false)
		step("~b", "b", true, false)
		looks := pub.Look(t.Context())
		if looks[31].Err != nil || looks[31].Epoch != "b" || looks[30].Err != nil || looks[30].Epoch != "" {
			t.Fatalf("epochs = %+v", looks[30:32])
		}
	})
}

func TestNoticesRoundTrip(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, rdb redis.UniversalClient) {
		keys := enforce.NewKeys("")
		pub := enforce.NewPublisher(rdb, keys)
		texts := map[string]map[string]string{"en": {"too_soon": "Wait {wait}.", "too_many": "x"}, "zh": {"too_soon": "请等 {wait}"}}
		results, err := pub.Publish(t.Context(), enforce.Shard(group), []enforce.Publication{
			{Key: keys.Notice(group), Order: 1, Hash: enforce.NoticeHash(1, texts)},
		})
		if err != nil || results[0] != enforce.Written {
			t.Fatalf("publish: %v, %v", results, err)
		}
		same(t, "texts", texts, enforce.NoticeTexts(rdb.HGetAll(t.Context(), keys.Notice(group)).Val()))
	})
}

func TestShardSpread(t *testing.T) {
	t.Parallel()
	same(t, "tag", "{s1f}", enforce.ShardTag(0x1f))
	var counts [enforce.Shards]int
	const groups = 256 * 400
	for i := range groups {
		counts[enforce.Shard("group-"+strconv.Itoa(i))]++
	}
	for shard, n := range counts {
		if n < 200 || n > 600 {
			t.Errorf("shard %d holds %d of %d groups", shard, n, groups)
		}
	}
}

func TestPackedReplyReplacesOneLine(t *testing.T) {
	t.Parallel()
	sources := enforce.Sources()
	if sources["packed"] == sources["check"] {
		t.Fatal("check.lua no longer holds the line that the Go client packs")
	}
}
