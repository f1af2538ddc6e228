package ui

import (
	"sync"
	"time"
)

// The limit of sign-ins: after maxTries wrong ones within tryPeriod an address waits until the oldest is that old.
const (
	maxTries     = 5
	tryPeriod    = 10 * time.Minute
	maxAddresses = 10_000 // remembered at once; beyond that the stale are dropped, then all
)

// tries counts wrong sign-ins by address. It is safe for concurrent use.
type tries struct {
	mu    sync.Mutex
	wrong map[string][]time.Time
}

func newTries() *tries { return &tries{wrong: map[string][]time.Time{}} }

// wait tells how long the address has to wait before its next try; 0 = not at all.
func (t *tries) wait(address string, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	recent := recentTries(t.wrong[address], now)
	if len(recent) < maxTries {
		return 0
	}
	return recent[0].Add(tryPeriod).Sub(now)
}

// failed counts one wrong try.
func (t *tries) failed(address string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.wrong) >= maxAddresses {
		t.drop(now)
	}
	t.wrong[address] = append(recentTries(t.wrong[address], now), now)
}

// succeeded forgets the wrong tries of the address.
func (t *tries) succeeded(address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.wrong, address)
}

func (t *tries) drop(now time.Time) {
	for address, moments := range t.wrong {
		if len(recentTries(moments, now)) == 0 {
			delete(t.wrong, address)
		}
	}
	if len(t.wrong) >= maxAddresses {
		clear(t.wrong)
	}
}

func recentTries(moments []time.Time, now time.Time) []time.Time {
	for len(moments) > 0 && now.Sub(moments[0]) >= tryPeriod {
		moments = moments[1:]
	}
	return moments
}
