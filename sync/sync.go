// Package sync moves what people decide from the database into Redis, and what the check script decided back. Import it
// as policysync.
//
// Three lanes carry a change, so that each failure of one is caught by the next: a wake in the process that committed it,
// a notification to the other instances, and a poll of the outbox each second. Besides them run the workers of the job that republishes
// the whole fleet, which all instances share, a watch over the epochs that asks it for what Redis lost, a reconciler that compares everything over and
// over and mends drift, the consumer of the script's events, and the sealing of the audit. Every write into Redis is guarded by its order, so any of them may run twice, late or on several
// instances at once.
package sync

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// Config is what New needs. Store, Publisher, Logger, Now and NewID are required; a zero interval is its default.
type Config struct {
	Store     *store.Store
	Publisher *enforce.Publisher
	Logger    *slog.Logger
	// Now is the clock of reports and deadlines.
	Now func() time.Time
	// NewID makes unguessable ids without spaces: the name of this instance and the nonces of rebuilds.
	NewID func() string
	// SingleNode says that Redis is one server, not a cluster: keys of several shards may then share a call, which makes
	// the first start and rebuilds faster. False is right for both.
	SingleNode bool
	// FleetPublisher has connections of its own, so that the fleet job is never in the way of single edits: two are enough.
	// Nil = Publisher.
	FleetPublisher *enforce.Publisher
	// Registerer receives the metrics. Nil = they are kept but not registered.
	Registerer prometheus.Registerer

	Workers     int           // of lane 1; zero = 2
	PollEvery   time.Duration // outbox poll; zero = 1 s
	EpochEvery  time.Duration // watch over the epochs; zero = 1 s
	FleetEvery  time.Duration // looking for a fleet job, besides being told; zero = 1 s
	EventsEvery time.Duration // reading the script's events; zero = 200 ms
	SealEvery   time.Duration // sealing the audit; zero = 0.2 s
	ProbeEvery  time.Duration // asking for Redis while it is away; zero = 250 ms
	Lease       time.Duration // of a claimed outbox row; zero = 15 s
	OrphanAfter time.Duration // a rebuild that nobody asked the fleet job for is taken over then; zero = 10 s
	FleetLease  time.Duration // of shards claimed for the fleet job, renewed while they are worked on; zero = 3 s
	CallTimeout time.Duration // of one call to Redis; zero = 2 s
	// ReconcileEvery is from the end of one pass of the reconciler to the start of the next; zero = 10 s.
	ReconcileEvery time.Duration
	// KeysEvery is from the end of one look for keys without a time to live to the start of the next; zero = 1 h.
	KeysEvery time.Duration
}

// Sync runs the lanes. Make it with New, hand Wake to store.Config.OnCommit, and call Run once. All other methods are
// safe for concurrent use, before, during and after Run.
type Sync struct {
	cfg       Config
	store     *store.Store
	publisher *enforce.Publisher
	// fleetPublisher is publisher, but perhaps on other connections.
	fleetPublisher *enforce.Publisher
	keys           enforce.Keys
	log            *slog.Logger
	instance       string // names this process in notifications

	queue      *queue        // lane 1 and 2: groups to publish
	outgoing   *outgoing     // lane 2: changes to announce
	completer  *completer    // outbox rows to delete
	board      *board        // who waits for which version
	ledger     *ledger       // what earlier versions published
	breaker    *breaker      // whether Redis answers
	fleet      *fleetRows    // claimed rows that ask for a fleet job
	pass       pass          // what this instance needs published wholly
	pollNow    chan struct{} // wakes lane 3
	fleetLook  chan struct{} // wakes who asks for fleet jobs and follows them
	fleetWork  chan struct{} // wakes the first worker of the fleet job
	fleetHelp  chan struct{} // wakes another one
	epochsNow  chan struct{} // wakes the watch over the epochs
	consuming  chan struct{} // held by who reads events
	cursors    cursors
	held       held // by the poll
	epochs     epochs
	servers    [enforce.Shards]string // the masters as seen last; only the watch touches it
	reconciler reconciler
	metrics    *metrics
	report     *report
	polled     atomic.Bool // a first poll of the outbox is done
	passed     atomic.Bool // a first complete pass is done
}

// New checks cfg and makes a Sync that does nothing before Run.
func New(cfg Config) (*Sync, error) {
	if cfg.Store == nil || cfg.Publisher == nil || cfg.Logger == nil || cfg.Now == nil || cfg.NewID == nil {
		return nil, errors.New("sync: Store, Publisher, Logger, Now and NewID are required")
	}
	cfg.setDefaults()
	m := newMetrics()
	if cfg.Registerer != nil {
		if err := m.register(cfg.Registerer); err != nil {
			return nil, err
		}
	}
	s := &Sync{
		cfg: cfg, store: cfg.Store, publisher: cfg.Publisher, keys: cfg.Publisher.Keys(), log: cfg.Logger,
		instance:  cfg.NewID(),
		queue:     newQueue(),
		outgoing:  newOutgoing(),
		completer: newCompleter(),
		board:     newBoard(),
		ledger:    newLedger(),
		breaker:   newBreaker(cfg.SingleNode),
		fleet:     newFleetRows(),
		pollNow:   make(chan struct{}, 1),
		fleetLook: make(chan struct{}, 1),
		fleetWork: make(chan struct{}, 1),
		fleetHelp: make(chan struct{}, 1),
		epochsNow: make(chan struct{}, 1),
		consuming: make(chan struct{}, 1),
		metrics:   m,
		report:    newReport(),
	}
	s.fleetPublisher = cmp.Or(cfg.FleetPublisher, cfg.Publisher)
	s.pass.need(allShards())
	return s, nil
}

func (c *Config) setDefaults() {
	if c.Workers <= 0 {
		c.Workers = 2
	}
	for d, value := range map[*time.Duration]time.Duration{
		&c.PollEvery: time.Second, &c.EpochEvery: time.Second, &c.FleetEvery: time.Second, &c.EventsEvery: 200 * time.Millisecond,
		&c.SealEvery: 200 * time.Millisecond, &c.ProbeEvery: 250 * time.Millisecond, &c.Lease: 15 * time.Second,
		&c.OrphanAfter: 10 * time.Second, &c.FleetLease: 3 * time.Second, &c.CallTimeout: 2 * time.Second,
		&c.ReconcileEvery: 10 * time.Second, &c.KeysEvery: time.Hour,
	} {
		if *d <= 0 {
			*d = value
		}
	}
}

// Run runs all loops until ctx ends, and returns when they have stopped. Database and Redis may be away, at the start
// too: the loops keep trying. It returns nil when ctx was cancelled.
func (s *Sync) Run(ctx context.Context) error {
	loops := []func(context.Context){
		s.runNotifier, s.runListener, s.runPoll, s.runPasses, s.runEpochs, s.runEvents, s.runHousekeeping, s.runCompleter,
		s.runReconciler, s.runKeys,
	}
	for range s.cfg.Workers {
		loops = append(loops, s.runWorker)
	}
	for worker := range fleetWorkers {
		loops = append(loops, func(ctx context.Context) { s.runFleet(ctx, worker) })
	}
	var running sync.WaitGroup
	for _, loop := range loops {
		running.Go(func() { loop(ctx) })
	}
	running.Wait()
	s.board.close()
	return nil
}

// Ready returns nil when the first complete pass is done and Redis answers for every shard, else an Error of CodeUnavailable that says
// what is missing.
func (s *Sync) Ready() error {
	switch away := s.breaker.awayCount(); {
	case away == enforce.Shards:
		return policy.Errorf(policy.CodeUnavailable, "Redis does not answer")
	case away > 0:
		return policy.Errorf(policy.CodeUnavailable, "Redis does not answer for %d of %d shards", away, enforce.Shards)
	case !s.passed.Load():
		return policy.Errorf(policy.CodeUnavailable, "the first pass over all groups is not complete")
	case !s.epochs.whole.Load():
		return policy.Errorf(policy.CodeUnavailable, "Redis is not complete")
	case !s.polled.Load():
		return policy.Errorf(policy.CodeUnavailable, "the outbox was not read yet")
	case s.reconciler.restored.Load():
		return policy.Errorf(policy.CodeUnavailable, "Redis is ahead of the database, as after a restored backup")
	default:
		return nil
	}
}
