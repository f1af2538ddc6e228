package e2e_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/internal/pgtest"
)

const (
	soakFor     = 40 * time.Second // how long the damage goes on, unless SOAK says otherwise
	quietWithin = 90 * time.Second // how long all may take to be whole when it has ended
)

// The groups of a soak: watched ones are edited over and over and never damaged in Redis; sturdy ones keep their policy,
// notices and one exemption, so that damage to them can be seen to heal; free ones are archived and emptied as well.
const watched, sturdy, free = 3, 16, 12

func watchedGroup(n int) string { return fmt.Sprintf("watched-%d", n) }
func sturdyGroup(n int) string  { return fmt.Sprintf("sturdy-%d", n) }
func freeGroup(n int) string    { return fmt.Sprintf("free-%d", n) }

// keeper is exempt in every sturdy group from the start, and nobody removes it.
const keeper = "keeper"

// soak is a run of edits and damage on two servers, and a third instance whose clock steps.
type soak struct {
	*testing.T
	*stage
	keys  enforce.Keys
	db    *sql.DB
	seats [2]*seat
	third *stepper
	tally *tally

	begun  time.Time
	over   atomic.Bool  // the editing
	losses atomic.Int64 // moved before and after Redis is emptied
	rng    *rand.Rand   // of the damage; each writer has one of its own
	seed   uint64
}

// seat is a place for a server: one life after another.
type seat struct {
	life  atomic.Pointer[instance]
	lives int   // the test's goroutine alone touches it
	most  int64 // bytes that a life had resident; likewise
}

// TestSoak edits on two servers while everything is damaged that can be; then Redis equals Postgres, and the versions
// equal the audit (C50, C53–C55, C60). SOAK sets the length, SOAK_SEED repeats the edits and the damage.
func TestSoak(t *testing.T) {
	t.Parallel()
	k := newSoak(t)
	defer k.reported()
	k.populate()
	stop := k.work()
	for deck, until := k.damages(), time.Now().Add(soakLength(t)); time.Now().Before(until); {
		k.hurt(deck)
		waitFor(time.Duration(300+k.rng.IntN(900)) * time.Millisecond)
	}
	stop()
	k.calmDown()
	k.checkAll()
}

func soakLength(tb testing.TB) time.Duration {
	tb.Helper()
	text := os.Getenv("SOAK")
	if text == "" {
		return soakFor
	}
	length, err := time.ParseDuration(text)
	if err != nil || length <= 0 {
		tb.Fatalf("SOAK=%s: want a length as 10m", text)
	}
	return length
}

// soakSeed is SOAK_SEED, or the moment.
func soakSeed(tb testing.TB) uint64 {
	tb.Helper()
	text := os.Getenv("SOAK_SEED")
	if text == "" {
		return uint64(time.Now().UnixNano())
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		tb.Fatalf("SOAK_SEED=%s: want a whole number", text)
	}
	return seed
}

func newSoak(t *testing.T) *soak {
	t.Helper()
	k := &soak{T: t, stage: newStage(t, pgtest.Options{}), seed: soakSeed(t), tally: newTally(), begun: time.Now()}
	t.Logf("SOAK_SEED=%d repeats the edits and the damage", k.seed)
	k.rng, k.keys = rand.New(rand.NewPCG(k.seed, 0)), enforce.NewKeys("")
	k.db = pgtest.SQL(t, k.env["PACEKEEPER_DATABASE_URL"])
	for n := range k.seats {
		k.seats[n] = &seat{}
		k.sit(k.seats[n])
	}
	for _, s := range k.seats {
		s.life.Load().awaitReady(t)
	}
	k.third = startStepper(t, k.stage)
	return k
}

// sit starts the next life of a seat.
func (k *soak) sit(s *seat) {
	k.Helper()
	s.lives++
	s.life.Store(launch(k, k.env))
}

func (k *soak) populate() {
	k.Helper()
	i := k.seats[0].life.Load()
	for n := range watched {
		i.group(k, watchedGroup(n), document(k.rng))
	}
	for n := range sturdy {
		i.group(k, sturdyGroup(n), document(k.rng))
		i.call(k, http.MethodPut, "/v1/groups/"+sturdyGroup(n)+"/exemptions/"+keeper, `{}`).want(k, http.StatusCreated)
	}
	for n := range free {
		i.group(k, freeGroup(n), document(k.rng))
	}
}

// work lets everybody edit, ask and watch; stop ends it and waits for them.
func (k *soak) work() (stop func()) {
	var workers sync.WaitGroup
	for n := range 4 {
		w := &writer{soak: k, seat: k.seats[n%2], name: fmt.Sprintf("w%d", n), rng: rand.New(rand.NewPCG(k.seed, uint64(n+1)))}
		workers.Go(w.edit)
	}
	operators := &writer{soak: k, seat: k.seats[0], name: "op", rng: rand.New(rand.NewPCG(k.seed, 100))}
	workers.Go(operators.operate)
	members := &writer{soak: k, seat: k.seats[1], name: "m", rng: rand.New(rand.NewPCG(k.seed, 101))}
	workers.Go(members.speak)
	stepped := &writer{soak: k, name: "stepped", rng: rand.New(rand.NewPCG(k.seed, 102))}
	workers.Go(stepped.editDirectly)
	for n := range watched {
		workers.Go(func() { k.watch(watchedGroup(n)) })
	}
	return func() { k.over.Store(true); workers.Wait() }
}

// ready tells whether both servers are.
func (k *soak) ready() bool {
	for _, s := range k.seats {
		if s.life.Load().status("/readyz") != http.StatusOK {
			return false
		}
	}
	return true
}

// waitFor is the length of some weather, or the pace of a writer.
func waitFor(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}
