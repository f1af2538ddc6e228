package policy

import "slices"

// logTally counts by a log of attempts: exact, 4 bytes for each.
type logTally struct {
	log                []uint32 // inside the window, oldest first
	limit, period, now int64
}

// logOf repairs the entries later than now, which are the newest, and drops those that have left the window. It looks
// for the former only where the newest may be one of them.
func logOf(p Compiled, st *ActionState, now int64, suspect bool) (t *logTally, repaired bool) {
	log := st.Log
	for i := len(log) - 1; suspect && i >= 0 && age(log[i], now) >= futureAgeMS; i-- {
		if !repaired {
			log = slices.Clone(log)
		}
		log[i], repaired = uint32(now), true //nolint:gosec // mod 2^32 is the format
	}
	for len(log) > 0 && age(log[0], now) >= p.PeriodMS {
		log = log[1:]
	}
	return &logTally{log, p.Limit, p.PeriodMS, now}, repaired
}

// age is how long ago a moment mod 2^32 ms was.
func age(entry uint32, now int64) int64 {
	return int64(uint32(now) - entry) //nolint:gosec // mod 2^32 is the format
}

func (t *logTally) used() int64 { return int64(len(t.log)) }

// waitFor answers when enough of the oldest entries have left.
func (t *logTally) waitFor(cost int64) int64 {
	over := t.used() + cost - t.limit
	if over <= 0 {
		return 0
	}
	return t.period - age(t.log[over-1], t.now)
}

// charge keeps the newest limit of the entries.
func (t *logTally) charge(cost int64) {
	log := slices.Clone(t.log)
	for range min(cost, t.limit) {
		log = append(log, uint32(t.now)) //nolint:gosec // mod 2^32 is the format
	}
	t.log = log[max(0, int64(len(log))-t.limit):]
}

func (t *logTally) write(st *ActionState) { st.Log = t.log }

func (t *logTally) needMS() int64 { return t.period }
