package policy_test

import (
	"math/rand/v2"
	"testing"

	"github.com/pacekeeper/pacekeeper/policy"
)

// model is an algorithm written down from its definition alone, with a whole history instead of a packed state.
type model interface {
	// fits says whether cost more are accepted now, and how long a queue delays them; accept counts them.
	fits(now, cost int64) (ok bool, delay int64)
	accept(now, cost int64)
}

// history is every accepted attempt, each by its moment.
type history []int64

func (h *history) accept(now, cost int64) {
	for range cost {
		*h = append(*h, now)
	}
}

func (h *history) since(moment int64) (n int64) {
	for _, at := range *h {
		if at > moment {
			n++
		}
	}
	return n
}

type slidingModel struct {
	history
	p policy.Compiled
}

func (m *slidingModel) fits(now, cost int64) (bool, int64) {
	return m.since(now-m.p.PeriodMS)+cost <= m.p.Limit, 0
}

// fixedModel cuts time into windows: the calendar's of UTC, or one from each first attempt that no window holds.
type fixedModel struct {
	p      policy.Compiled
	id     int64
	counts map[int64]int64
}

func (m *fixedModel) window(now int64) int64 {
	switch {
	case m.p.Align == policy.AlignCalendar:
		return now / m.p.PeriodMS
	case now-m.id < m.p.PeriodMS:
		return m.id
	}
	return now
}

func (m *fixedModel) fits(now, cost int64) (bool, int64) {
	return m.counts[m.window(now)]+cost <= m.p.Limit, 0
}

func (m *fixedModel) accept(now, cost int64) {
	m.id = m.window(now)
	m.counts[m.id] += cost
}

// counterModel puts each attempt at the last moment that its bucket can hold.
type counterModel struct {
	history
	p policy.Compiled
}

func (m *counterModel) fits(now, cost int64) (bool, int64) {
	width := (m.p.PeriodMS + m.p.Buckets - 1) / m.p.Buckets
	used := int64(0)
	for _, at := range m.history {
		if at/width*width+width > now-m.p.PeriodMS {
			used++
		}
	}
	return used+cost <= m.p.Limit, 0
}

// bucketModel is filled and emptied continuously, in parts of a token: one part a millisecond.
type bucketModel struct {
	p           policy.Compiled
	parts, last int64 // missing tokens, or drops, times PeriodMS
}

func (m *bucketModel) at(now int64) int64 { return max(0, m.parts-(now-m.last)) }

func (m *bucketModel) fits(now, cost int64) (bool, int64) {
	ok := m.at(now)+cost*m.p.PeriodMS <= m.p.Limit*m.p.PeriodMS
	if m.p.Queue {
		return ok, m.at(now)
	}
	return ok, 0
}

func (m *bucketModel) accept(now, cost int64) {
	m.parts, m.last = m.at(now)+cost*m.p.PeriodMS, now
}

func modelOf(p policy.Compiled) model {
	switch p.Algorithm {
	case policy.FixedWindow:
		return &fixedModel{p: p, id: -p.PeriodMS, counts: map[int64]int64{}}
	case policy.SlidingCounter:
		return &counterModel{p: p}
	case policy.TokenBucket, policy.LeakyBucket:
		return &bucketModel{p: p}
	case policy.SlidingWindow:
	}
	return &slidingModel{p: p}
}

// TestEveryAlgorithmIsExactToItsDefinition runs each beside its model, on moments that step onto every wait and 1 ms
// beside it.
func TestEveryAlgorithmIsExactToItsDefinition(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(13, 14))
	codes := map[policy.Algorithm]map[policy.DecisionCode]int{}
	for range 1500 {
		p := randomLimits(r)
		p.MinIntervalMS, p.BanForMS, p.Speech, p.CountRefused, p.BanToEndOfDay, p.Limit = 0, 0, false, false, false, max(p.Limit, 1)
		if codes[p.Algorithm] == nil {
			codes[p.Algorithm] = map[policy.DecisionCode]int{}
		}
		m := modelOf(p)
		var st policy.ActionState
		now, wait := start+r.Int64N(1e9), int64(0)
		for range 120 {
			now += max(0, []int64{0, wait - 1, wait, wait + 1, r.Int64N(p.PeriodMS + 1), r.Int64N(50)}[r.IntN(6)])
			cost := 1 + r.Int64N(min(p.Limit, 3))
			ok, delay := m.fits(now, cost)
			var d policy.Decision
			d, st, _, _ = policy.Decide(p, st, policy.MemberRecord{}, policy.Attempt{NowMS: now, Cost: cost})
			if d.Allowed() != ok || ok && d.WaitMS != delay || ok && delay > 0 != (d.Code == policy.Delay) {
				t.Fatalf("%+v\nat %d cost %d: %+v, the model says %v, delay %d", p, now, cost, d, ok, delay)
			}
			if ok {
				m.accept(now, cost)
			}
			wait = d.WaitMS
			codes[p.Algorithm][d.Code]++
		}
	}
	for _, a := range policy.Algorithms() {
		if codes[a][policy.Allowed] < 1000 || codes[a][policy.RefusedLimit] < 1000 {
			t.Errorf("%s was hardly tried: %v", a, codes[a])
		}
	}
}

// TestCounterErrsByAtMostOneBucket: it never lets more than the limit pass in any period, and it refuses nothing that a
// period longer by a bucket would let pass.
func TestCounterErrsByAtMostOneBucket(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(15, 16))
	for range 300 {
		p := policy.Compiled{
			Enabled: true, Algorithm: policy.SlidingCounter, Limit: 1 + r.Int64N(8), PeriodMS: 100 + r.Int64N(30_000), Buckets: 1 + r.Int64N(12),
		}
		width := (p.PeriodMS + p.Buckets - 1) / p.Buckets
		var st policy.ActionState
		var accepted history
		now := start
		for range 200 {
			now += r.Int64N(p.PeriodMS/2 + 1)
			exact, late := accepted.since(now-p.PeriodMS), accepted.since(now-p.PeriodMS-width)
			d, next, _, _ := policy.Decide(p, st, policy.MemberRecord{}, policy.Attempt{NowMS: now, Cost: 1})
			if d.Allowed() && exact >= p.Limit || !d.Allowed() && late < p.Limit {
				t.Fatalf("%+v: %d in the period, %d in a bucket more, decided %+v", p, exact, late, d)
			}
			if d.Allowed() {
				accepted.accept(now, 1)
			}
			st = next
		}
	}
}

// TestQueueLetsOutOneByOne: what a queue lets pass leaves at least leak_ms apart, in order, and nobody waits longer than
// the whole queue takes.
func TestQueueLetsOutOneByOne(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(17, 18))
	for range 200 {
		p := policy.Compiled{
			Enabled: true, Algorithm: policy.LeakyBucket, Queue: true, Limit: 1 + r.Int64N(9), PeriodMS: 1 + r.Int64N(5000),
		}
		var st policy.ActionState
		now, free := start, int64(0)
		for range 200 {
			now += r.Int64N(p.PeriodMS * 2)
			cost := 1 + r.Int64N(min(p.Limit, 2))
			d, next, _, _ := policy.Decide(p, st, policy.MemberRecord{}, policy.Attempt{NowMS: now, Cost: cost})
			if out := now + d.WaitMS; d.Allowed() {
				if out < free || d.WaitMS > p.Limit*p.PeriodMS || d.WaitMS > 0 && out != free {
					t.Fatalf("%+v: let out at %d, the way was free at %d: %+v", p, out, free, d)
				}
				free = out + cost*p.PeriodMS
			}
			st = next
		}
	}
}

// TestSwitchingTheAlgorithm: another algorithm begins its count anew, keeps interval, ban and strikes, and never makes
// anybody wait longer than its own time.
func TestSwitchingTheAlgorithm(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(19, 20))
	for range 2000 {
		from, to := randomLimits(r), randomLimits(r)
		from.Limit, to.Limit = max(from.Limit, 1), max(to.Limit, 1)
		to.BanForMS, to.BanToEndOfDay, to.Speech = 0, false, false
		var st policy.ActionState
		var m policy.MemberRecord
		now := start
		for range 12 {
			now += r.Int64N(500)
			_, st, m, _ = policy.Decide(from, st, m, policy.Attempt{NowMS: now, Cost: 1})
		}
		held := max(0, st.BanEndMS-now)
		longest := to.PeriodMS * 2 // a counter whose one bucket is as wide as its period
		if to.Algorithm == policy.TokenBucket || to.Algorithm == policy.LeakyBucket {
			longest = to.PeriodMS * to.Limit
		}
		longest = max(longest, to.MinIntervalMS, held)
		passed := int64(0)
		for range 2 * to.Limit {
			d, next, _, _ := policy.Decide(to, st, policy.MemberRecord{}, policy.Attempt{NowMS: now, Cost: 1})
			if d.WaitMS > longest {
				t.Fatalf("%+v\nto %+v: %+v, want to wait at most %d", from, to, d, longest)
			}
			if held > 0 && d.Code != policy.RefusedBanned {
				t.Fatalf("the ban is gone: %+v", d)
			}
			if d.Allowed() && d.Code != policy.AllowedWarned {
				passed++
			}
			st = next
		}
		if passed > to.Limit {
			t.Fatalf("%+v\nto %+v: %d passed at once", from, to, passed)
		}
	}
}

// TestStateIsBounded: a state never holds more than its limit asks for, whatever happens to clock and policy.
func TestStateIsBounded(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(21, 22))
	for range 300 {
		p := randomLimits(r)
		p.Limit = max(p.Limit, 1)
		var st policy.ActionState
		now := start
		for range 200 {
			now += r.Int64N(4000) - 1000
			_, st, _, _ = policy.Decide(p, st, policy.MemberRecord{}, policy.Attempt{NowMS: now, Cost: 1 + r.Int64N(2)})
			if n := int64(len(st.Log) + len(st.Buckets)); n > p.Limit || int64(len(st.Buckets)) > p.Buckets+2 {
				t.Fatalf("%d entries, %d buckets for %+v", len(st.Log), len(st.Buckets), p)
			}
		}
	}
}
