package policy

import "slices"

// counterTally counts by sub-buckets of the period. A bucket counts until the last attempt that it can hold is a period
// old: never more than the limit pass in any period, and an attempt is forgotten at most a bucket's width late.
type counterTally struct {
	buckets          []Bucket // oldest first, not yet forgotten
	limit, keep, now int64    // keep: ms from a bucket's start until it is forgotten
	start            int64    // of the bucket that holds now
}

func counterOf(p Compiled, st *ActionState, now int64) (t *counterTally, repaired bool) {
	width := (p.PeriodMS + p.Buckets - 1) / p.Buckets
	t = &counterTally{buckets: slices.Clone(st.Buckets), limit: p.Limit, keep: p.PeriodMS + width, now: now, start: now - now%width}
	future := int64(0)
	for n := len(t.buckets); n > 0 && age(t.buckets[n-1].Start, now) >= futureAgeMS; n-- {
		future += t.buckets[n-1].Count
		t.buckets, repaired = t.buckets[:n-1], true
	}
	if repaired {
		t.add(future)
	}
	for len(t.buckets) > 0 && age(t.buckets[0].Start, now) >= t.keep {
		t.buckets = t.buckets[1:]
	}
	return t, repaired
}

// add counts in the newest bucket if it began no earlier than the present one (another width may have been in force).
func (t *counterTally) add(count int64) {
	n := len(t.buckets)
	if n == 0 || age(t.buckets[n-1].Start, t.now) > t.now-t.start {
		t.buckets = append(t.buckets, Bucket{Start: uint32(t.start)}) //nolint:gosec // mod 2^32 is the format
		n++
	}
	t.buckets[n-1].Count = min(t.buckets[n-1].Count+count, maxCount)
}

func (t *counterTally) used() (sum int64) {
	for _, b := range t.buckets {
		sum += b.Count
	}
	return sum
}

func (t *counterTally) waitFor(cost int64) int64 {
	over := t.used() + cost - t.limit
	if over <= 0 {
		return 0
	}
	at := 0
	for over -= t.buckets[0].Count; over > 0; over -= t.buckets[at].Count {
		at++
	}
	return t.keep - age(t.buckets[at].Start, t.now)
}

// charge keeps the newest limit of the attempts.
func (t *counterTally) charge(cost int64) {
	if cost > 0 {
		t.add(min(cost, t.limit))
	}
	over := t.used() - t.limit
	for ; over > 0 && t.buckets[0].Count <= over; t.buckets = t.buckets[1:] {
		over -= t.buckets[0].Count
	}
	if over > 0 {
		t.buckets[0].Count -= over
	}
}

func (t *counterTally) write(st *ActionState) { st.Shape, st.Buckets = ShapeCounter, t.buckets }

func (t *counterTally) needMS() int64 {
	if n := len(t.buckets); n > 0 {
		return t.keep - age(t.buckets[n-1].Start, t.now)
	}
	return 0
}
