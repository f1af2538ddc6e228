package policy

import (
	"cmp"
	"slices"
)

// The names of ready-made traffic: one member over 60 seconds.
const (
	TrafficCalm    = "calm"    // now and then
	TrafficBurst   = "burst"   // a conversation that gets lively for a while
	TrafficSpammer = "spammer" // without a pause
)

// PreviewSpanMS is how long ready-made traffic lasts.
const PreviewSpanMS = 60_000

// MaxPreview is the most tries that one preview takes.
const MaxPreview = 1_000

// Try is one attempt of a preview's traffic.
type Try struct {
	AtMS   int64  // since the preview's start, ≥ 0
	UserID string // tries of one member share strikes and limits; all share the limit of the whole group
	Cost   int64  // as of Attempt: 0 = a peek
}

// Tried is a Try with what was decided of it.
type Tried struct {
	Try
	Decision
	HeldMS int64 // how long the mute or ban lasts that this very try took; 0 = none
}

// Traffic is the ready-made traffic of that name; false where there is none.
func Traffic(name string) ([]Try, bool) {
	switch name {
	case TrafficCalm:
		return tries(2_000, 7_500, 11_000, 17_000, 24_000, 29_500, 36_000, 43_000, 48_500, 56_000), true
	case TrafficBurst:
		return tries(3_000, 9_000, 18_000, 19_000, 21_200, 23_400, 25_600, 27_800, 30_000, 32_100, 34_300, 36_400, 45_000,
			52_000, 58_000), true
	case TrafficSpammer:
		moments := make([]int64, 0, 85)
		for at := int64(600); at < PreviewSpanMS; at += 700 {
			moments = append(moments, at)
		}
		return tries(moments...), true
	}
	return nil, false
}

func tries(moments ...int64) []Try {
	all := make([]Try, 0, len(moments))
	for _, at := range moments {
		all = append(all, Try{AtMS: at, UserID: RoleMember, Cost: 1})
	}
	return all
}

// previewStart is a moment that a preview can be said to start at: a midnight, so that calendar windows show one whole
// unit. Decisions depend on distances, not on the day.
const previewStart = 1_767_225_600_000

// Preview decides traffic under an effective policy, as the check would, from nothing remembered. The tries are taken in
// the order of their moments, those of the same moment in the order given; the answer has them in that order.
func (s *System) Preview(e Effective, action string, traffic []Try) []Tried {
	p := s.Compile(e, action, 0, 0)
	states, members, all := map[string]ActionState{}, map[string]MemberRecord{}, ActionState{}
	ordered := slices.SortedStableFunc(slices.Values(traffic), func(a, b Try) int { return cmp.Compare(a.AtMS, b.AtMS) })
	out := make([]Tried, 0, len(ordered))
	for _, try := range ordered {
		now := previewStart + try.AtMS
		d, st, whole, m, event := DecideInGroup(p, states[try.UserID], all, members[try.UserID], Attempt{NowMS: now, Cost: try.Cost})
		states[try.UserID], members[try.UserID], all = st, m, whole
		held := int64(0)
		if event != nil {
			held = max(0, event.MuteEndMS-now, event.BanEndMS-now)
		}
		out = append(out, Tried{try, d, held})
	}
	return out
}
