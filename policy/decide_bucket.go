package policy

// bucketTally counts the drops in a bucket, one of which leaves each pace. A token bucket is the same seen from the other
// side: its drops are the tokens that are missing. It remembers whole drops and since when the next one is on its way
// out, so that another capacity or pace binds at once.
type bucketTally struct {
	at, level           int64 // 0, 0 = empty
	capacity, pace, now int64
}

func bucketOf(p Compiled, st *ActionState, now int64) (t *bucketTally, repaired bool) {
	t = &bucketTally{at: st.AtMS, level: min(st.Count, p.Limit), capacity: p.Limit, pace: p.PeriodMS, now: now}
	if t.level > 0 && t.at > now {
		t.at, repaired = now, true
	}
	out := (now - t.at) / t.pace
	if t.level == 0 || out >= t.level {
		t.at, t.level = 0, 0
		return t, repaired
	}
	t.at, t.level = t.at+out*t.pace, t.level-out
	return t, repaired
}

func (t *bucketTally) used() int64 { return t.level }

func (t *bucketTally) waitFor(cost int64) int64 {
	over := t.level + cost - t.capacity
	if over <= 0 {
		return 0
	}
	return t.at + over*t.pace - t.now
}

// charge lets what does not fit run over.
func (t *bucketTally) charge(cost int64) {
	if t.level == 0 && cost > 0 {
		t.at = t.now
	}
	t.level = min(t.level+cost, t.capacity)
}

func (t *bucketTally) write(st *ActionState) {
	st.Shape, st.AtMS, st.Count = ShapeBucket, t.at, t.level
}

func (t *bucketTally) needMS() int64 {
	if t.level == 0 {
		return 0
	}
	return t.at + t.level*t.pace - t.now
}
