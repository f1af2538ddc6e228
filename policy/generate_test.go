package policy_test

import (
	"slices"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/pacekeeper/pacekeeper/policy"
)

// genRange draws a range within 1 to most, often narrow.
func genRange(most int64) *rapid.Generator[policy.Range] {
	return rapid.Custom(func(t *rapid.T) policy.Range {
		low := rapid.Int64Range(1, most).Draw(t, "min")
		return policy.Range{Min: low, Max: rapid.Int64Range(low, min(most, low*4)).Draw(t, "max")}
	})
}

func genActionBounds() *rapid.Generator[policy.ActionBounds] {
	return rapid.Custom(func(t *rapid.T) policy.ActionBounds {
		return policy.ActionBounds{
			MinIntervalMS:  genRange(policy.MaxIntervalMS).Draw(t, "min_interval_ms"),
			WindowLimit:    genRange(policy.MaxLimit).Draw(t, "window_limit"),
			WindowPeriodMS: genRange(policy.MaxPeriodMS).Draw(t, "window_period_ms"),
			BanMS:          genRange(policy.MaxBanMS).Draw(t, "ban_ms"),
			RefillMS:       rapid.OneOf(rapid.Just(policy.Range{}), genRange(policy.MaxPeriodMS)).Draw(t, "refill_ms"),
			Algorithms: rapid.SliceOfNDistinct(rapid.SampledFrom(policy.Algorithms()), 1, 5, rapid.ID[policy.Algorithm]).
				Draw(t, "algorithms"),
			MayDisable: rapid.SliceOfDistinct(rapid.SampledFrom([]string{"interval", "window", "action", "soft"}), rapid.ID[string]).
				Draw(t, "may_disable"),
			EditedBy: rapid.SampledFrom([]string{"group", "operator"}).Draw(t, "edited_by"),
		}
	})
}

func genBounds() *rapid.Generator[policy.Bounds] {
	return rapid.Custom(func(t *rapid.T) policy.Bounds {
		b := policy.Bounds{
			Actions:           map[string]policy.ActionBounds{"*": genActionBounds().Draw(t, "*")},
			MuteMS:            genRange(policy.MaxMuteMS).Draw(t, "mute_ms"),
			ForgiveOneEveryMS: genRange(policy.MaxForgiveMS).Draw(t, "forgive_one_every_ms"),
			LadderStepsMax:    rapid.Int64Range(1, policy.MaxSteps).Draw(t, "ladder_steps_max"),
			ExemptionsMax:     10_000,
			Roles:             []string{"host"},
		}
		for _, name := range []string{"message", "like"} {
			if rapid.Bool().Draw(t, "own") {
				b.Actions[name] = genActionBounds().Draw(t, name)
			}
		}
		return b
	})
}

// maybe draws a Setting: absent, stated or, where null is legal, null.
func maybe[T any](null bool, of *rapid.Generator[T]) *rapid.Generator[policy.Setting[T]] {
	return rapid.Custom(func(t *rapid.T) policy.Setting[T] {
		switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
		case kind == 0:
			return policy.Setting[T]{}
		case kind == 1 && null:
			return policy.None[T]()
		}
		return policy.State(of.Draw(t, "value"))
	})
}

// genNumber draws what documents hold: mostly near the ranges that bounds have, at times absurd.
func genNumber() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(1, 100), rapid.Int64Range(1, 100_000_000), rapid.Int64Range(1, 1<<53-1))
}

// genWindow draws windows of all algorithms.
func genWindow() *rapid.Generator[policy.Window] {
	return rapid.Custom(func(t *rapid.T) policy.Window {
		w := policy.Window{
			Algorithm:    rapid.SampledFrom(policy.Algorithms()).Draw(t, "algorithm"),
			CountRefused: rapid.Bool().Draw(t, "count_refused"),
		}
		most, pace := genNumber().Draw(t, "limit"), genNumber().Draw(t, "pace")
		switch w.Algorithm {
		case policy.TokenBucket:
			w.Capacity, w.RefillMS = most, pace
		case policy.LeakyBucket:
			w.Capacity, w.LeakMS, w.Queue = most, pace, rapid.Bool().Draw(t, "queue")
		case policy.SlidingCounter:
			w.Limit, w.PeriodMS, w.Buckets = most, pace, genNumber().Draw(t, "buckets")
		case policy.FixedWindow:
			w.Limit, w.PeriodMS, w.Align = most, pace, policy.AlignFirst
			if rapid.Bool().Draw(t, "calendar") {
				w.Align, w.PeriodMS = policy.AlignCalendar, rapid.SampledFrom([]int64{60_000, 3_600_000, 86_400_000}).Draw(t, "unit")
			}
		case policy.SlidingWindow:
			w.Limit, w.PeriodMS = most, pace
		}
		return w
	})
}

func genGroup() *rapid.Generator[policy.GroupLimit] {
	return rapid.Custom(func(t *rapid.T) policy.GroupLimit { return policy.GroupLimit{Window: genWindow().Draw(t, "window")} })
}

func genAction() *rapid.Generator[policy.ActionDocument] {
	ban := rapid.Custom(func(t *rapid.T) policy.Ban {
		if rapid.IntRange(0, 3).Draw(t, "until") == 0 {
			return policy.Ban{EndOfDay: true}
		}
		return policy.Ban{ForMS: genNumber().Draw(t, "for_ms")}
	})
	return rapid.Custom(func(t *rapid.T) policy.ActionDocument {
		return policy.ActionDocument{
			Enabled:       maybe(false, rapid.Bool()).Draw(t, "enabled"),
			Mode:          maybe(false, rapid.SampledFrom([]policy.Mode{policy.Hard, policy.Soft})).Draw(t, "mode"),
			MinIntervalMS: maybe(true, genNumber()).Draw(t, "min_interval_ms"),
			Window:        maybe(true, genWindow()).Draw(t, "window"),
			Ban:           maybe(true, ban).Draw(t, "ban"),
			Group:         maybe(true, genGroup()).Draw(t, "group"),
			OnFailure:     maybe(false, rapid.SampledFrom([]policy.OnFailure{policy.Allow, policy.Refuse})).Draw(t, "on_failure"),
		}
	})
}

func genLadder() *rapid.Generator[[]policy.Step] {
	return rapid.Custom(func(t *rapid.T) []policy.Step {
		afters := rapid.SliceOfNDistinct(rapid.Int64Range(2, 255), 0, 10, rapid.ID[int64]).Draw(t, "after")
		slices.Sort(afters)
		steps := make([]policy.Step, 0, len(afters))
		for _, after := range afters {
			s := policy.Step{After: after, Do: rapid.SampledFrom([]policy.Penalty{policy.Mute, policy.Review, policy.Remove}).Draw(t, "do")}
			if s.Do == policy.Mute {
				s.ForMS = genNumber().Draw(t, "for_ms")
			}
			steps = append(steps, s)
		}
		return steps
	})
}

// genDocument draws documents that System.Validate accepts.
func genDocument() *rapid.Generator[policy.Document] {
	roles := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"owner", "admin", "bot", "vip", "member", "host"}), rapid.ID[string])
	texts := rapid.MapOfN(rapid.SampledFrom([]string{"too_soon", "too_many"}), rapid.StringMatching(`[a-z ]{0,9}(\{wait\})?`), 1, 2)
	return rapid.Custom(func(t *rapid.T) policy.Document {
		d := policy.Document{
			TimeZone:    maybe(false, rapid.SampledFrom([]string{"UTC", "Asia/Shanghai", "America/New_York"})).Draw(t, "time_zone"),
			ExemptRoles: maybe(false, roles).Draw(t, "exempt_roles"),
			Penalties: policy.PenaltiesDocument{
				Ladder:            maybe(false, genLadder()).Draw(t, "ladder"),
				ForgiveOneEveryMS: maybe(false, genNumber()).Draw(t, "forgive_one_every_ms"),
			},
		}
		for _, name := range []string{"message", "like", "sms"} {
			if rapid.Bool().Draw(t, "names") {
				if d.Actions == nil {
					d.Actions = map[string]policy.ActionDocument{}
				}
				d.Actions[name] = genAction().Draw(t, name)
			}
		}
		if rapid.Bool().Draw(t, "notices") {
			d.Notices = rapid.MapOfN(rapid.SampledFrom([]string{"en", "zh"}), texts, 1, 2).Draw(t, "texts")
		}
		return d
	})
}

// system makes a System of drawn bounds and defaults.
func system(t *rapid.T, b policy.Bounds, defaults policy.Document) *policy.System {
	s, err := policy.NewSystem(policy.SystemConfig{Generation: 1, Bounds: b, Defaults: defaults, Actions: policy.ShippedActions()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sameCompiled says whether two compiled policies bind alike; an empty ladder is an empty ladder.
func sameCompiled(a, b policy.Compiled) bool { return cmp.Equal(a, b, cmpopts.EquateEmpty()) }
