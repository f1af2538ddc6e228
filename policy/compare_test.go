package policy_test

import (
	"cmp"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pacekeeper/pacekeeper/policy"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	window := func(limit, period, more string) string {
		return message(`"window":{"algorithm":"sliding_window","limit":` + limit + `,"period_ms":` + period + more + `}`)
	}
	groupOf := func(limit string) string {
		return message(`"group":{"window":{"algorithm":"sliding_window","limit":` + limit + `,"period_ms":30000}}`)
	}
	ladder := func(steps string) string { return `{"penalties":{"ladder":[` + steps + `]}}` }
	at := func(key string) []string { return []string{"/actions/message/" + key} }
	steps := []string{"/penalties/ladder"}
	for name, c := range map[string]struct {
		before, after   string
		looser, tighter []string
	}{
		"same":                     {window("8", "30000", ""), window("8", "30000", ""), nil, nil},
		"shorter interval":         {message(`"min_interval_ms":3000`), message(`"min_interval_ms":2000`), at("min_interval_ms"), nil},
		"no interval":              {message(`"min_interval_ms":3000`), message(`"min_interval_ms":null`), at("min_interval_ms"), nil},
		"more":                     {window("8", "30000", ""), window("9", "30000", ""), at("window"), nil},
		"longer period":            {window("8", "30000", ""), window("8", "30001", ""), nil, at("window")},
		"twice as many in twice":   {window("8", "30000", ""), window("16", "60000", ""), at("window"), nil},
		"15 in twice":              {window("8", "30000", ""), window("15", "60000", ""), at("window"), at("window")},
		"no window":                {window("8", "30000", ""), message(`"window":null`), at("window"), nil},
		"more of the group":        {groupOf("90"), groupOf("100"), at("group"), nil},
		"the group has a limit":    {`{}`, groupOf("100"), nil, at("group")},
		"refused count":            {window("8", "30000", ""), window("8", "30000", `,"count_refused":true`), nil, at("window")},
		"soft":                     {message(`"mode":"hard"`), message(`"mode":"soft","min_interval_ms":9000`), at("mode"), nil},
		"limits of soft":           {message(`"mode":"soft"`), message(`"mode":"soft","min_interval_ms":9000`), nil, nil},
		"ban":                      {message(`"ban":null`), message(`"ban":{"for_ms":60000}`), nil, at("ban")},
		"role more":                {`{"exempt_roles":["owner"]}`, `{"exempt_roles":["owner","vip"]}`, []string{"/exempt_roles"}, nil},
		"one role for another":     {`{"exempt_roles":["bot"]}`, `{"exempt_roles":["vip"]}`, []string{"/exempt_roles"}, []string{"/exempt_roles"}},
		"quicker forgiveness":      {`{}`, `{"penalties":{"forgive_one_every_ms":60000}}`, []string{"/penalties/forgive_one_every_ms"}, nil},
		"no ladder":                {`{}`, ladder(``), steps, nil},
		"later step":               {ladder(`{"after":3,"do":"review"}`), ladder(`{"after":4,"do":"review"}`), steps, nil},
		"longer mute":              {ladder(`{"after":3,"do":"mute","for_ms":60000}`), ladder(`{"after":3,"do":"mute","for_ms":70000}`), nil, steps},
		"the same in two steps":    {ladder(`{"after":3,"do":"review"}`), ladder(`{"after":3,"do":"review"},{"after":9,"do":"review"}`), nil, nil},
		"removal after review":     {ladder(`{"after":3,"do":"review"}`), ladder(`{"after":3,"do":"remove"}`), nil, steps},
		"milder first, harsh then": {ladder(`{"after":3,"do":"mute","for_ms":60000}`), ladder(`{"after":4,"do":"remove"}`), steps, steps},
		"zone and notices":         {`{}`, `{"time_zone":"Asia/Shanghai","notices":{"en":{"too_soon":"Wait."}}}`, nil, nil},
		"on_failure of sms":        {`{}`, `{"actions":{"sms":{"on_failure":"allow"}}}`, []string{"/actions/sms/on_failure"}, nil},
		"switched off, other limits": {
			`{}`, `{"actions":{"sms":{"enabled":false,"min_interval_ms":9000}}}`, []string{"/actions/sms/enabled"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, _ := shippedSystem(t).Resolve(parsed(t, c.before))
			after, _ := shippedSystem(t).Resolve(parsed(t, c.after))
			equal(t, policy.Comparison{Looser: c.looser, Tighter: c.tighter}, policy.Compare(before, after))
			equal(t, policy.Comparison{Looser: c.tighter, Tighter: c.looser}, policy.Compare(after, before))
		})
	}
}

// TestCompare_OtherAlgorithmsAreBoth: nothing is known of how a window that does not slide compares with another.
func TestCompare_OtherAlgorithmsAreBoth(t *testing.T) {
	t.Parallel()
	with := func(w policy.Window) policy.Effective {
		return policy.Effective{Actions: map[string]policy.Action{"like": {Enabled: true, Mode: policy.Hard, Window: &w}}}
	}
	fixed := with(policy.Window{Algorithm: policy.FixedWindow, Limit: 8, PeriodMS: 30_000})
	sliding := with(policy.Window{Algorithm: policy.SlidingWindow, Limit: 8, PeriodMS: 30_000})
	both := []string{"/actions/like/window"}
	equal(t, policy.Comparison{Looser: both, Tighter: both}, policy.Compare(fixed, sliding))
	equal(t, policy.Comparison{}, policy.Compare(fixed, fixed))
}

// TestCompare_SaysWhatMessagesMeet holds the judgement of limits against the evaluator: where nothing is tighter, every
// series of attempts that passes before passes after; where a window is tighter, its worst bursts do not.
func TestCompare_SaysWhatMessagesMeet(t *testing.T) {
	t.Parallel()
	small := rapid.Custom(func(t *rapid.T) policy.Action {
		a := policy.Action{
			Enabled: rapid.IntRange(0, 9).Draw(t, "enabled") > 0, Mode: policy.Hard, OnFailure: policy.Allow,
			MinIntervalMS: rapid.Int64Range(0, 3).Draw(t, "interval"),
		}
		if rapid.IntRange(0, 9).Draw(t, "soft") == 0 {
			a.Mode = policy.Soft
		}
		if rapid.IntRange(0, 5).Draw(t, "window") > 0 {
			a.Window = &policy.Window{
				Algorithm: policy.SlidingWindow, Limit: rapid.Int64Range(1, 6).Draw(t, "limit"),
				PeriodMS: rapid.Int64Range(1, 12).Draw(t, "period"),
			}
		}
		return a
	})
	s := shippedSystem(t)
	rapid.Check(t, func(t *rapid.T) {
		with := func(a policy.Action) policy.Effective {
			return policy.Effective{Actions: map[string]policy.Action{"message": a}}
		}
		before, after := with(small.Draw(t, "before")), with(small.Draw(t, "after"))
		c := policy.Compare(before, after)
		p, q := s.Compile(before, "message", 0, 0), s.Compile(after, "message", 0, 0)
		if !c.Tightens() {
			gaps := rapid.SliceOfN(rapid.Int64Range(0, 6), 1, 60).Draw(t, "gaps")
			costs := rapid.SliceOfN(rapid.Int64Range(1, 3), 1, 60).Draw(t, "costs")
			if q.Mode == policy.Soft {
				costs = []int64{1} // a call dearer than the limit is a fault of the caller, soft or not
			}
			if trace := passing(p, gaps, costs); !passes(q, trace) {
				t.Fatalf("%v passes %+v but not %+v", trace, p, q)
			}
		}
		if slices.Contains(c.Tighter, "/actions/message/window") {
			p.MinIntervalMS, q.MinIntervalMS = 0, 0
			bursts := slices.Repeat([]int64{max(p.PeriodMS, 1)}, 20)
			if trace := passing(p, bursts, []int64{cmp.Or(p.Limit, 7)}); passes(q, trace) {
				t.Fatalf("%+v lets %v pass as %+v does", q, trace, p)
			}
		}
	})
}

// passing are the attempts at the given gaps that a policy accepts when what it refuses is not tried.
func passing(p policy.Compiled, gaps, costs []int64) (trace []policy.Attempt) {
	var state policy.ActionState
	now := start
	for i, gap := range gaps {
		a := policy.Attempt{NowMS: now, Cost: costs[i%len(costs)]}
		if d, next, _, _ := policy.Decide(p, state, policy.MemberRecord{}, a); d.Allowed() {
			trace, state = append(trace, a), next
		}
		now += gap
	}
	return trace
}

// passes says whether a policy accepts all of a series.
func passes(p policy.Compiled, trace []policy.Attempt) bool {
	var state policy.ActionState
	var member policy.MemberRecord
	for _, a := range trace {
		var d policy.Decision
		if d, state, member, _ = policy.Decide(p, state, member, a); !d.Allowed() {
			return false
		}
	}
	return true
}

// TestCompare_LadderIsJudgedByWhatItDoes: it is tighter if and only if some number of strikes leads to a step that is
// graver or holds longer.
func TestCompare_LadderIsJudgedByWhatItDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, after := genLadder().Draw(t, "before"), genLadder().Draw(t, "after")
		c := policy.Compare(policy.Effective{Ladder: before}, policy.Effective{Ladder: after})
		gravest := []policy.Penalty{"", policy.Mute, policy.Review, policy.Remove}
		harsher := false
		for strikes := int64(1); strikes <= policy.MaxStrikes; strikes++ {
			a, b := stepAt(before, strikes), stepAt(after, strikes)
			harsher = harsher || slices.Index(gravest, b.Do) > slices.Index(gravest, a.Do) || holdOf(b) > holdOf(a)
		}
		if harsher != c.Tightens() {
			t.Fatalf("%v to %v: harsher %v, judged %+v", before, after, harsher, c)
		}
	})
}

func stepAt(ladder []policy.Step, strikes int64) (at policy.Step) {
	for _, s := range ladder {
		if s.After <= strikes {
			at = s
		}
	}
	return at
}

// holdOf is for how long a step holds, in ms; a removal is for good.
func holdOf(s policy.Step) int64 {
	switch s.Do { //nolint:exhaustive // the others hold for ForMS
	case policy.Review:
		return policy.ReviewHoldMS
	case policy.Remove:
		return math.MaxInt64
	}
	return s.ForMS
}

// TestCompare_IsAntisymmetric: what is looser one way is tighter the other way, and nothing differs from itself.
func TestCompare_IsAntisymmetric(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := system(t, genBounds().Draw(t, "bounds"), genDocument().Draw(t, "defaults"))
		before, _ := s.Resolve(genDocument().Draw(t, "before"))
		after, _ := s.Resolve(genDocument().Draw(t, "after"))
		there, back := policy.Compare(before, after), policy.Compare(after, before)
		if !slices.Equal(there.Looser, back.Tighter) || !slices.Equal(there.Tighter, back.Looser) {
			t.Fatalf("there %+v, back %+v", there, back)
		}
		if self := policy.Compare(after, after); self.Loosens() || self.Tightens() {
			t.Fatalf("it differs from itself: %+v", self)
		}
	})
}
