package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
)

// calmDown waits until both servers are ready, nothing is on its way, every damage has healed, and each server has
// compared everything once since and found nothing to mend.
func (k *soak) calmDown() {
	k.Helper()
	begun := time.Now()
	k.within("all is whole", func() string {
		if !k.ready() {
			return "not ready"
		}
		if open := k.tally.unhealed(); open != "" {
			return "not healed: " + open
		}
		return k.onItsWay()
	})
	calm := time.Now()
	k.within("a comparison without a finding", func() string {
		for n, s := range k.seats {
			at, repaired := lastPass(s)
			if !at.After(calm) || repaired != 0.0 {
				return fmt.Sprintf("server %d compared last at %v and mended %v; calm since %v", n, at, repaired, calm)
			}
		}
		return k.onItsWay()
	})
	k.Logf("whole %v after the damage ended, compared %v after it", calm.Sub(begun).Round(time.Millisecond), time.Since(begun).Round(time.Millisecond))
}

func lastPass(s *seat) (at time.Time, repaired any) {
	got, err := s.life.Load().try(http.MethodGet, "/v1/system/sync", "")
	if err != nil {
		return at, nil
	}
	text, _ := got.at("reconcile", "at").(string)
	at, _ = time.Parse(time.RFC3339Nano, text)
	return at, got.at("reconcile", "repaired")
}

// within polls until missing says "".
func (k *soak) within(what string, missing func() string) {
	k.Helper()
	var last string
	deadline := time.Now().Add(quietWithin)
	for last = missing(); last != "" && time.Now().Before(deadline); last = missing() {
		waitFor(50 * time.Millisecond)
	}
	if last != "" {
		k.Fatalf("not within %v: %s: %s", quietWithin, what, last)
	}
}

// onItsWay says what the database still has to bring to Redis or to seal; "" = nothing.
func (k *soak) onItsWay() string { return onItsWay(k, k.db) }

func (t *tally) unhealed() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var kinds []string
	for kind, n := range t.open {
		if n > 0 {
			kinds = append(kinds, kind)
		}
	}
	return strings.Join(kinds, ", ")
}

// checkAll holds the end against what was promised.
func (k *soak) checkAll() {
	k.Helper()
	for _, fault := range k.tally.faults {
		k.Error(fault)
	}
	for _, s := range k.seats {
		k.measure(s)
		if trouble := laneTrouble(k, s.life.Load()); trouble != "" {
			k.Errorf("lanes in trouble: %s", trouble)
		}
	}
	wantAudited(k, k.db)
	wantChain(k, k.seats[0].life.Load())
	k.wantAnswered()
	wantTTLs(k, k.stage)
	wantVerified(k, k.stage)
	k.wantRebuilt()
	wantVerified(k, k.stage)
}

// wantAnswered holds that nothing answered was lost.
func (k *soak) wantAnswered() {
	k.Helper()
	for group, version := range k.tally.versions {
		var stands int64
		if err := k.db.QueryRowContext(k.Context(), "SELECT version FROM groups WHERE id = $1", group).Scan(&stands); err != nil {
			k.Fatal(err)
		}
		if stands < version {
			k.Errorf("%s: version %d was answered, the database has %d", group, version, stands)
		}
	}
	for at, exempt := range k.tally.exempt {
		var stands bool
		err := k.db.QueryRowContext(k.Context(), "SELECT EXISTS (SELECT 1 FROM exemptions WHERE group_id = $1 AND user_id = $2)",
			at.group, at.user).Scan(&stands)
		if err != nil || stands != exempt {
			k.Errorf("exemption of %s in %s: answered %v, the database says %v, %v", at.user, at.group, exempt, stands, err)
		}
	}
}

// wantRebuilt empties Redis once more: what the database makes of it anew is what was there.
func (k *soak) wantRebuilt() {
	k.Helper()
	before := contents(k, k.stage)
	k.redo("FLUSHALL")
	k.within("rebuilt", func() string {
		if !k.whole() || !k.ready() {
			return "not whole"
		}
		return k.onItsWay()
	})
	if diff := cmp.Diff(contents(k, k.stage), before); diff != "" {
		k.Errorf("Redis was not what a rebuild makes of the database (- rebuilt, + before):\n%s", diff)
	}
}
