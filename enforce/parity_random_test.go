package enforce_test

import (
	"math/rand/v2"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
)

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func randomPolicy(r *rand.Rand) policy.Compiled {
	p := policy.Compiled{
		Enabled: r.IntN(20) > 0, Speech: r.IntN(5) > 0, Mode: policy.Hard, Version: pick[int64](r, 0, 7, 1<<40-1),
		MinIntervalMS: pick[int64](r, 0, 0, 1, 500, 2000, 10_000, policy.MaxIntervalMS),
		Limit:         pick[int64](r, 0, 1, 2, 3, 8, 8, 50, 300),
		PeriodMS:      pick[int64](r, 1, 1000, 5000, 30_000, 30_000, 300_000, policy.MaxPeriodMS),
		CountRefused:  r.IntN(5) == 0,
		BanForMS:      pick[int64](r, 0, 0, 0, 1, 5000, 3_600_000, policy.MaxBanMS),
		BanToEndOfDay: r.IntN(8) == 0,

		ForgiveOneEveryMS: pick[int64](r, 0, 1, 500, 5000, 600_000, policy.MaxForgiveMS),
	}
	if r.IntN(8) == 0 {
		p.Mode = policy.Soft
	}
	randomAlgorithm(r, &p)
	if r.IntN(3) == 0 {
		g := policy.Compiled{Limit: pick[int64](r, 1, 2, 3, 8, 50), PeriodMS: pick[int64](r, 1, 1000, 5000, 30_000)}
		randomAlgorithm(r, &g)
		p.Group = policy.CompiledWindow{
			Algorithm: g.Algorithm, Align: g.Align, Limit: g.Limit, PeriodMS: g.PeriodMS, Buckets: g.Buckets, Queue: g.Queue,
			CountRefused: r.IntN(4) == 0,
		}
	}
	after := int64(0)
	for range r.IntN(policy.MaxSteps + 1) {
		after += 1 + r.Int64N(2)
		step := policy.Step{After: after, Do: pick(r, policy.Mute, policy.Mute, policy.Review, policy.Remove)}
		if step.Do == policy.Mute {
			step.ForMS = pick[int64](r, 1, 3000, 60_000, policy.MaxMuteMS)
		}
		p.Ladder = append(p.Ladder, step)
	}
	return p
}

// randomAlgorithm leaves one policy in three with a sliding window.
func randomAlgorithm(r *rand.Rand, p *policy.Compiled) {
	p.Algorithm = pick(r, policy.Algorithms()...)
	switch p.Algorithm {
	case policy.FixedWindow:
		p.Align = policy.AlignFirst
		if r.IntN(3) > 0 {
			p.Align = policy.AlignCalendar
			p.PeriodMS = pick[int64](r, 60_000, 3_600_000, 86_400_000, 7)
		}
	case policy.SlidingCounter:
		p.Buckets = pick[int64](r, 0, 1, 2, 3, 10, 60, 5000)
	case policy.TokenBucket, policy.LeakyBucket:
		p.PeriodMS = pick[int64](r, 0, 1, 40, 500, 1000, 4000, policy.MaxPeriodMS)
		p.Queue = p.Algorithm == policy.LeakyBucket && r.IntN(2) == 0
	case policy.SlidingWindow:
	}
}

// encoded are the programs of a random policy; the group's is now and then missing or broken.
func encoded(r *rand.Rand) (program, group []byte) {
	p := randomPolicy(r)
	group = enforce.EncodeGroupProgram(p)
	switch k := r.IntN(20); {
	case k == 0:
		group = nil
	case k == 1 && group != nil:
		group = group[:r.IntN(len(group))]
	case k == 2 && group != nil:
		group[r.IntN(len(group))] = byte(r.IntN(256))
	}
	return enforce.EncodeProgram(p), group
}

func randomBytes(r *rand.Rand) []byte {
	b := make([]byte, r.IntN(64))
	for i := range b {
		b[i] = byte(r.IntN(256))
	}
	if len(b) > 1 && r.IntN(2) == 0 {
		b[0] = byte(r.IntN(9))
	}
	return b
}
