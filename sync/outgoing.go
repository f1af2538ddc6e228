package sync

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pacekeeper/pacekeeper/store"
)

const (
	maxPayload  = 7000 // bytes; Postgres takes < 8,000
	maxAnnounce = 500  // changes; more are announced as "poll", the outbox has them
)

// outgoing gathers changes that the other instances must hear of. Safe for concurrent use.
type outgoing struct {
	mu      sync.Mutex
	changes []store.Change
	ready   chan struct{}
}

func newOutgoing() *outgoing { return &outgoing{ready: make(chan struct{}, 1)} }

func (o *outgoing) add(c store.Change) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.changes) <= maxAnnounce {
		o.changes = append(o.changes, c)
	}
	poke(o.ready)
}

func (o *outgoing) take() []store.Change {
	o.mu.Lock()
	defer o.mu.Unlock()
	changes := o.changes
	o.changes = nil
	return changes
}

// runNotifier announces changes after their commit, outside of its transaction: a NOTIFY inside would serialise all
// commits. While one notification is under way the next gathers.
func (s *Sync) runNotifier(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.outgoing.ready:
		}
		changes := s.outgoing.take()
		for _, payload := range payloads(s.instance, changes) {
			if err := s.store.Notify(ctx, payload); err != nil {
				s.noteError(ctx, laneNotify, err) // the poll of the others finds the rows
				break
			}
			s.noteError(ctx, laneNotify, nil)
		}
	}
}

// runListener hears the other instances. After each (re)connection it polls at once, for what was missed meanwhile.
func (s *Sync) runListener(ctx context.Context) {
	const least, most = 50 * time.Millisecond, 2 * time.Second
	wait := least
	for ctx.Err() == nil {
		err := s.store.Listen(ctx, func(payload string) {
			wait = least
			s.hear(ctx, payload)
		})
		if ctx.Err() != nil {
			return
		}
		s.noteError(ctx, laneListen, err)
		if !pause(ctx, wait) {
			return
		}
		wait = min(2*wait, most)
	}
}

// fleetWord is what an instance that asked for a fleet job tells the others behind its name.
const fleetWord = "|fleet"

// hear takes a notification. The empty one says that listening is in force.
func (s *Sync) hear(ctx context.Context, payload string) {
	if payload == "" {
		s.noteError(ctx, laneListen, nil)
		poke(s.pollNow)
		return
	}
	instance, changes, ok := parsePayload(payload)
	if instance == s.instance {
		return
	}
	if payload == instance+fleetWord {
		poke(s.fleetWork)
		poke(s.fleetLook)
		return
	}
	if !ok {
		poke(s.pollNow)
		return
	}
	for _, c := range changes {
		s.enqueue(c, false)
	}
}

// payloads encodes changes as "instance|kind id version at group action user|…": ids hold neither spaces nor bars. Too
// many changes become the single word poll.
func payloads(instance string, changes []store.Change) []string {
	if len(changes) > maxAnnounce {
		return []string{instance + "|poll"}
	}
	var (
		list []string
		b    strings.Builder
	)
	flush := func() {
		if b.Len() > 0 {
			list = append(list, instance+b.String())
			b.Reset()
		}
	}
	for _, c := range changes {
		entry := "|" + strings.Join([]string{
			string(c.Kind), c.OutboxID, strconv.FormatInt(c.Version, 10), strconv.FormatInt(c.At.UnixMicro(), 10),
			c.GroupID, c.Action, c.UserID,
		}, " ")
		if len(instance)+b.Len()+len(entry) > maxPayload {
			flush()
		}
		b.WriteString(entry)
	}
	flush()
	return list
}

// parsePayload is the inverse of payloads; ok is false for what it does not understand.
func parsePayload(payload string) (instance string, changes []store.Change, ok bool) {
	instance, rest, ok := strings.Cut(payload, "|")
	if !ok {
		return instance, nil, false
	}
	for entry := range strings.SplitSeq(rest, "|") {
		f := strings.Split(entry, " ")
		if len(f) != 7 {
			return instance, nil, false
		}
		version, err1 := strconv.ParseInt(f[2], 10, 64)
		at, err2 := strconv.ParseInt(f[3], 10, 64)
		if err1 != nil || err2 != nil {
			return instance, nil, false
		}
		changes = append(changes, store.Change{
			Kind: store.Kind(f[0]), OutboxID: f[1], Version: version, At: time.UnixMicro(at).UTC(),
			GroupID: f[4], Action: f[5], UserID: f[6],
		})
	}
	return instance, changes, true
}
