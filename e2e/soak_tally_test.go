package e2e_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// tally is what a soak did and saw. Safe for concurrent use.
type tally struct {
	mu       sync.Mutex
	counts   map[string]map[string]int
	faults   []string
	versions map[string]int64           // the highest that was answered, by group
	exempt   map[exemptUser]bool        // whether the last answer left the user exempt; absent = not known
	healed   map[string][]time.Duration // by kind of damage
	open     map[string]int             // damage that has not healed
}

type exemptUser struct{ group, user string }

func newTally() *tally {
	return &tally{
		counts: map[string]map[string]int{}, versions: map[string]int64{}, exempt: map[exemptUser]bool{},
		healed: map[string][]time.Duration{}, open: map[string]int{},
	}
}

// count counts an answer; an error is one that was cut off.
func (t *tally) count(what string, status int, err error) {
	outcome := strconv.Itoa(status)
	switch {
	case err != nil:
		outcome = "cut off"
	case status/100 == 2:
		outcome = "ok"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts[what] == nil {
		t.counts[what] = map[string]int{}
	}
	t.counts[what][outcome]++
}

const faultsKept = 20

func (t *tally) fault(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.faults) < faultsKept {
		t.faults = append(t.faults, fmt.Sprintf(format, args...))
	}
}

func (t *tally) answered(group string, version int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.versions[group] = max(t.versions[group], version)
}

// exempted takes in an answer about a user that one writer alone changes.
func (t *tally) exempted(group, user string, put bool, status int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := exemptUser{group, user}
	switch {
	case err != nil || status == http.StatusServiceUnavailable:
		delete(t.exempt, at)
	case status/100 == 2:
		t.exempt[at] = put
	case status == http.StatusNotFound && !put && t.exempt[at]:
		t.faults = append(t.faults, fmt.Sprintf("the exemption of %s in %s was answered, and is gone", user, group))
	}
}

func (t *tally) hurt(kind string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open[kind]++
}

func (t *tally) heal(kind string, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open[kind]--
	t.healed[kind] = append(t.healed[kind], took)
}

// String is the report for people.
func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(t.counts)) {
		fmt.Fprintf(&b, "  %-36s", what)
		for _, outcome := range slices.Sorted(maps.Keys(t.counts[what])) {
			fmt.Fprintf(&b, " %s %d", outcome, t.counts[what][outcome])
		}
		b.WriteByte('\n')
	}
	for _, kind := range slices.Sorted(maps.Keys(t.open)) {
		all := t.healed[kind]
		fmt.Fprintf(&b, "  damage: %-28s %d times", kind, len(all)+t.open[kind])
		if len(all) > 0 {
			slices.Sort(all)
			fmt.Fprintf(&b, ", whole after %v at most, %v in the middle", all[len(all)-1].Round(time.Millisecond), all[len(all)/2].Round(time.Millisecond))
		}
		if t.open[kind] > 0 {
			fmt.Fprintf(&b, ", NOT HEALED %d", t.open[kind])
		}
		b.WriteByte('\n')
	}
	return b.String()
}
