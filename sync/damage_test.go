package sync_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/store"
)

// damage is a way in which Redis comes to differ from the database: commands, and the kind of drift that it counts as.
type damage struct {
	name, kind string
	commands   [][]any
}

// damages does everything to groups g1 and g2, which have policies, notices and exemptions, to g3, which has none, and to g4, which has
// a policy of one action.
func damages() []damage {
	const high = "99999999999999"
	k := enforce.NewKeys("")
	policy1, notice1, exempt1, order1 := k.Policy("message", "g1"), k.Notice("g1"), k.Exempt("g1"), k.ExemptV("g1")
	one := func(name, kind string, command ...any) damage { return damage{name, kind, [][]any{command}} }
	return []damage{
		one("hash deleted", "missing", "DEL", policy1),
		one("notices deleted", "missing", "DEL", notice1),
		one("field deleted", "fields", "HDEL", policy1, "program"),
		one("order deleted", "fields", "HDEL", policy1, "order"),
		one("field changed", "fields", "HSET", policy1, "min_interval_ms", "0"),
		one("format changed", "fields", "HSET", policy1, "format", "99"),
		one("field added", "fields", "HSET", notice1, "en.too_soon", "?"),
		one("order too low", "behind", "HSET", policy1, "order", "7"),
		one("order too high", "ahead", "HSET", policy1, "order", high, "min_interval_ms", "0"),
		one("renamed to an action without a policy", "stray", "RENAME", k.Policy("message", "g4"), k.Policy("like", "g4")),
		one("renamed over notices", "fields", "RENAME", policy1, notice1),
		one("copied to a group without policies", "ahead", "COPY", policy1, k.Policy("message", "g3")),
		one("withdrawn hash is back", "stray", "HSET", k.Policy("like", "g3"), "order", "1", "program", "x"),
		{"hash of another type", "type", [][]any{{"SET", policy1, "x"}}},
		{"notices of another type", "type", [][]any{{"SET", notice1, "x"}}},
		{"exemptions of another type", "type", [][]any{{"SET", exempt1, "x"}}},
		{"their order of another type", "type", [][]any{{"DEL", order1}, {"SADD", order1, "x"}}},
		one("stray exemption", "exemptions", "ZADD", exempt1, "+inf", "stray"),
		one("stray exemption where there are none", "exemptions", "ZADD", k.Exempt("g3"), "+inf", "stray"),
		one("exemption ends early", "exemptions", "ZADD", exempt1, "5", "g1"),
		one("exemption deleted", "exemptions", "ZREM", exempt1, "g1"),
		one("exemptions deleted", "exemptions", "DEL", exempt1),
		one("their order deleted", "exemptions", "DEL", order1),
		one("their order too high", "ahead", "SET", order1, high),
		one("default deleted", "missing", "DEL", k.Default(77, "sms")),
		one("default changed", "fields", "HSET", k.Default(255, "message"), "limit", "1"),
		one("default ahead", "ahead", "HSET", k.Default(0, "login"), "order", high),
		{"default of another type", "type", [][]any{{"SET", k.Default(3, "message"), "x"}}},
	}
}

// TestC54_EachDamageIsMended does one damage after the other to a fleet under a steady reconciler.
func TestC54_EachDamageIsMended(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, at site) {
		t.Helper()
		mendsAll(t, at, start(t, at, steadily), damages())
	})
}

func mendsAll(t *testing.T, at site, a *instance, list []damage) {
	t.Helper()
	a.furnish(t, []string{"g1", "g2"})
	a.group(t, "g3")
	a.group(t, "g4")
	a.save(t, "g4", `{"actions": {"message": {"min_interval_ms": 4000}}}`)
	eventually(t, "live", func() bool { return at.field(t, at.keys.Policy("message", "g4"), "min_interval_ms") == "4000" })
	a.reconciled(t)
	before := at.snapshot(t)
	for _, d := range list {
		counted := a.Drift(d.kind)
		for _, command := range d.commands {
			if err := at.rdb.Do(t.Context(), command...).Err(); err != nil {
				t.Fatalf("%s: %v", d.name, err)
			}
		}
		eventually(t, d.name+" counted as "+d.kind, func() bool { return a.Drift(d.kind) > counted })
		eventually(t, d.name+" mended", func() bool { return a.reconciled(t).Repaired == 0 })
	}
	after := at.snapshot(t)
	allowEmptyOrder(after, before)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	if err := a.Ready(); err != nil {
		t.Error(err)
	}
}

// allowEmptyOrder drops the order of exemptions that a mended group without any has since.
func allowEmptyOrder(after, before map[string]map[string]string) {
	key := enforce.NewKeys("").ExemptV("g3")
	if before[key] == nil {
		delete(after, key)
	}
}

// TestC54_LostHoldsReturn deletes the records of a muted and of a banned member.
func TestC54_LostHoldsReturn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, at site) {
		t.Helper()
		a := start(t, at, steadily)
		a.furnish(t, []string{"g2"})
		at.banFor(t, a, "g2", "liker")
		if _, err := a.store.PutMute(t.Context(), operator, "g2", "loud", store.Anything(), store.MuteInput{EndMS: hence()}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "muted", func() bool { return at.peek(t, "g2", "loud").Code == 12 })
		a.reconciled(t) // a pass may have been quicker than the mute's own way, and have counted it
		mutes, bans := a.Drift("mute"), a.Drift("ban")
		for _, key := range []string{at.keys.Member("g2", "loud"), at.keys.State("like", "g2", "liker")} {
			if n := at.rdb.Del(t.Context(), key).Val(); n != 1 {
				t.Fatalf("no key %s", key)
			}
		}
		eventually(t, "muted again", func() bool { return at.peek(t, "g2", "loud").Code == 12 })
		eventually(t, "banned again", func() bool { return at.ask(t, "like", "g2", "liker", "0", 0).Code == 13 })
		a.reconciled(t)
		if a.Drift("mute") != mutes+1 || a.Drift("ban") != bans+1 {
			t.Errorf("counted %v mutes and %v bans, before %v and %v", a.Drift("mute"), a.Drift("ban"), mutes, bans)
		}
	})
}
