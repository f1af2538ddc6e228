package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/pacekeeper/pacekeeper/enforce"
)

// damage is one kind of harm. It is done by the test's goroutine and may last; healed says when its trace is gone, nil
// where none can be seen.
type damage struct {
	kind string
	do   func() (healed func() bool)
}

// deck deals the damages: each comes once before any comes again.
type deck struct {
	all  []damage
	left []damage
}

func (k *soak) damages() *deck {
	return &deck{all: []damage{
		{"server killed", k.killServer},
		{"FLUSHALL", k.flushAll},
		{"SCRIPT FLUSH", k.flushScripts},
		{"field deleted", k.deleteField},
		{"field changed", k.changeField},
		{"key deleted", k.deleteKey},
		{"key renamed", k.renameKey},
		{"exemptions damaged", k.damageExemptions},
		{"listeners ended", k.endListeners},
		{"clock stepped", k.stepClock},
		{"Postgres stopped", k.stopPostgres},
		{"Redis stopped", k.stopRedis},
		{"Redis restarted empty", k.restartRedis},
	}}
}

// hurt does the next damage and has somebody see when it has healed.
func (k *soak) hurt(d *deck) {
	k.Helper()
	if len(d.left) == 0 {
		d.left = append(d.left, d.all...)
		k.rng.Shuffle(len(d.left), func(i, j int) { d.left[i], d.left[j] = d.left[j], d.left[i] })
	}
	next := d.left[0]
	d.left = d.left[1:]
	k.tally.hurt(next.kind)
	begun := time.Now()
	healed := next.do()
	if healed == nil {
		k.tally.heal(next.kind, 0)
		return
	}
	go func() {
		for !healed() {
			if k.Context().Err() != nil {
				return
			}
			waitFor(20 * time.Millisecond)
		}
		k.tally.heal(next.kind, time.Since(begun))
	}()
}

func (k *soak) killServer() func() bool {
	s := k.seats[k.rng.IntN(len(k.seats))]
	k.measure(s)
	s.life.Load().kill(k)
	k.sit(s)
	life := s.life.Load()
	return func() bool { return s.life.Load() != life || life.status("/readyz") == http.StatusOK }
}

func (k *soak) flushAll() func() bool {
	k.losses.Add(1)
	defer k.losses.Add(1)
	k.redo("FLUSHALL")
	return k.whole
}

// whole tells whether every shard says that it is.
func (k *soak) whole() bool {
	keys := make([]string, enforce.Shards)
	for i := range keys {
		keys[i] = k.keys.Epoch(uint8(i))
	}
	values := k.redis.MGet(k.Context(), keys...).Val()
	for _, value := range values {
		if text, ok := value.(string); !ok || strings.HasPrefix(text, "~") {
			return false
		}
	}
	return len(values) == enforce.Shards
}

func (k *soak) flushScripts() func() bool {
	k.redo("SCRIPT", "FLUSH")
	return func() bool {
		got, err := k.seats[0].life.Load().try(http.MethodPost, "/v1/groups/"+sturdyGroup(0)+"/check", `{"user_id":"scripts","action":"message"}`)
		return err == nil && got.at("degraded") == false
	}
}

// hash is one that must be in Redis all the time: a sturdy group's, or a default.
func (k *soak) hash() string {
	if k.rng.IntN(3) == 0 {
		return k.keys.Default(uint8(k.rng.IntN(enforce.Shards)), "message")
	}
	return k.keys.Policy("message", sturdyGroup(k.rng.IntN(sturdy)))
}

func (k *soak) deleteField() func() bool {
	key, field := k.hash(), []string{"order", "digest", "format", "program", "min_interval_ms", "limit"}[k.rng.IntN(6)]
	k.redo("HDEL", key, field)
	return func() bool { return k.redis.HExists(k.Context(), key, field).Val() }
}

func (k *soak) changeField() func() bool {
	key, field := k.hash(), []string{"program", "min_interval_ms", "limit", "ladder"}[k.rng.IntN(4)]
	k.redo("HSET", key, field, "damaged")
	return func() bool {
		value, err := k.redis.HGet(k.Context(), key, field).Result()
		return err == nil && value != "damaged"
	}
}

func (k *soak) deleteKey() func() bool {
	key := k.hash()
	if k.rng.IntN(3) == 0 {
		key = k.keys.Notice(sturdyGroup(k.rng.IntN(sturdy)))
	}
	k.redo("DEL", key)
	return func() bool { return k.redis.Exists(k.Context(), key).Val() == 1 }
}

// renameKey moves a hash over that of another group, or to an action of which nothing is published.
func (k *soak) renameKey() func() bool {
	group := sturdyGroup(k.rng.IntN(sturdy))
	from, to := k.keys.Policy("message", group), k.keys.Policy("like", group)
	stray := k.rng.IntN(2) == 0
	if !stray {
		to = k.keys.Policy("message", sturdyGroup(k.rng.IntN(sturdy)))
	}
	k.redo("RENAME", from, to)
	return func() bool {
		there := k.redis.HExists(k.Context(), from, "program")
		return there.Val() && (!stray || !k.redis.HExists(k.Context(), to, "program").Val())
	}
}

func (k *soak) damageExemptions() func() bool {
	group := sturdyGroup(k.rng.IntN(sturdy))
	set := k.keys.Exempt(group)
	switch k.rng.IntN(3) {
	case 0:
		k.redo("DEL", set)
	case 1:
		k.redo("ZREM", set, keeper)
	default:
		k.redo("ZADD", set, "+inf", "stranger")
		return func() bool {
			scores, err := k.redis.ZMScore(k.Context(), set, keeper, "stranger").Result()
			return err == nil && len(scores) == 2 && scores[1] == 0
		}
	}
	return func() bool { return k.redis.ZScore(k.Context(), set, keeper).Err() == nil }
}

// redo does a command now; one that finds nothing to damage has done none.
func (k *soak) redo(command ...any) {
	k.Helper()
	err := k.redis.Do(k.Context(), command...).Err()
	if err != nil && !strings.Contains(err.Error(), "no such key") {
		k.Fatalf("%v: %v", command, err)
	}
}

const listeners = `FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'`

// instances is how many listen where all is well: two servers and the one whose clock steps.
const instances = 3

func (k *soak) endListeners() func() bool {
	if _, err := k.db.ExecContext(k.Context(), "SELECT pg_terminate_backend(pid) "+listeners); err != nil {
		k.Fatal(err)
	}
	return func() bool {
		var n int
		err := k.db.QueryRowContext(k.Context(), "SELECT count(*) "+listeners).Scan(&n)
		return err == nil && n >= instances
	}
}

func (k *soak) stepClock() func() bool {
	steps := []time.Duration{0, -2 * time.Second, 2 * time.Second, 45 * time.Second, -45 * time.Second, 10 * time.Minute, -10 * time.Minute}
	k.third.offset.Store(int64(steps[k.rng.IntN(len(steps))]))
	return nil
}

func (k *soak) someSeconds() { waitFor(time.Second + time.Duration(k.rng.IntN(2000))*time.Millisecond) }

func (k *soak) stopPostgres() func() bool {
	k.postgres.Freeze(k)
	k.someSeconds()
	k.postgres.Thaw(k)
	return k.ready
}

func (k *soak) stopRedis() func() bool {
	k.redis.signal(k, syscall.SIGSTOP)
	k.someSeconds()
	k.redis.signal(k, syscall.SIGCONT)
	return k.ready
}

func (k *soak) restartRedis() func() bool {
	k.losses.Add(1)
	defer k.losses.Add(1)
	k.redis.kill(k)
	k.redis.launch(k)
	return k.whole
}

// measure takes in how much memory the present life of a seat has had at most.
func (k *soak) measure(s *seat) {
	k.Helper()
	s.most = max(s.most, highestMemory(k, s.life.Load().cmd.Process.Pid))
}

func (k *soak) reported() {
	for n, s := range k.seats {
		k.Logf("server %d: %d lives, at most %s resident", n, s.lives, fmt.Sprintf("%d MB", s.most>>20))
	}
	k.Logf("in %v:\n%s", time.Since(k.begun).Round(time.Second), k.tally)
}
