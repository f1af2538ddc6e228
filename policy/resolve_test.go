package policy_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/pacekeeper/pacekeeper/policy"
)

func TestShippedDefaultsAreInForce(t *testing.T) {
	t.Parallel()
	s := shippedSystem(t)
	e, clamps := s.Resolve(policy.Document{})
	equal(t, []policy.Clamp(nil), clamps)
	equal(t, []policy.Clamp(nil), s.DefaultsClamped)
	action := func(interval, limit, period int64, ban *policy.Ban, f policy.OnFailure) policy.Action {
		return policy.Action{
			Enabled: true, Mode: policy.Hard, MinIntervalMS: interval, Ban: ban, OnFailure: f,
			Window: &policy.Window{Algorithm: policy.SlidingWindow, Limit: limit, PeriodMS: period},
		}
	}
	equal(t, policy.Effective{
		TimeZone: "UTC",
		Actions: map[string]policy.Action{
			"message": action(2_000, 8, 30_000, nil, policy.Allow),
			"comment": action(0, 10, 30_000, nil, policy.Allow),
			"like":    action(0, 10, 10_000, &policy.Ban{ForMS: 3_600_000}, policy.Allow),
			"upload": {
				Enabled: true, Mode: policy.Hard, Ban: &policy.Ban{EndOfDay: true}, OnFailure: policy.Allow,
				Window: &policy.Window{Algorithm: policy.FixedWindow, Align: policy.AlignCalendar, Limit: 100, PeriodMS: 86_400_000},
			},
			"sms":    action(0, 3, 300_000, nil, policy.Refuse),
			"login":  action(0, 5, 600_000, nil, policy.Refuse),
			"coupon": action(0, 2, 60_000, nil, policy.Refuse),
		},
		ExemptRoles: []string{"admin", "bot", "owner"},
		Ladder: []policy.Step{
			{After: 3, Do: policy.Mute, ForMS: 60_000},
			{After: 4, Do: policy.Mute, ForMS: 300_000},
			{After: 5, Do: policy.Mute, ForMS: 3_600_000},
			{After: 6, Do: policy.Review},
		},
		ForgiveOneEveryMS: 600_000,
	}, e)
}

func TestClamps(t *testing.T) {
	t.Parallel()
	window := func(limit, period string) string {
		return message(`"window":{"algorithm":"sliding_window","limit":` + limit + `,"period_ms":` + period + `}`)
	}
	for name, c := range map[string]struct {
		text string
		want []policy.Clamp
	}{
		"inside":         {message(`"min_interval_ms":1000`), nil},
		"C16 too small":  {message(`"min_interval_ms":2`), []policy.Clamp{{"/actions/message/min_interval_ms", int64(2), int64(1000), "min", int64(1000)}}},
		"C16 too large":  {message(`"min_interval_ms":1e9`), []policy.Clamp{{"/actions/message/min_interval_ms", int64(1e9), int64(10_000), "max", int64(10_000)}}},
		"limit":          {window("51", "30000"), []policy.Clamp{{"/actions/message/window/limit", int64(51), int64(50), "max", int64(50)}}},
		"limit, period":  {window("2", "1"), []policy.Clamp{{"/actions/message/window/limit", int64(2), int64(3), "min", int64(3)}, {"/actions/message/window/period_ms", int64(1), int64(5000), "min", int64(5000)}}},
		"ban":            {message(`"ban":{"for_ms":1}`), []policy.Clamp{{"/actions/message/ban/for_ms", int64(1), int64(10_000), "min", int64(10_000)}}},
		"off":            {message(`"enabled":false`), []policy.Clamp{{"/actions/message/enabled", false, true, "forbidden", nil}}},
		"interval off":   {message(`"min_interval_ms":null`), nil},
		"window off":     {message(`"window":null`), nil},
		"both off":       {message(`"min_interval_ms":null,"window":null`), []policy.Clamp{{"/actions/message/window", nil, json.RawMessage(`{"algorithm":"sliding_window","limit":8,"period_ms":30000,"count_refused":false}`), "forbidden", nil}}},
		"soft":           {message(`"mode":"soft"`), nil},
		"forgive":        {`{"penalties":{"forgive_one_every_ms":1}}`, []policy.Clamp{{"/penalties/forgive_one_every_ms", int64(1), int64(60_000), "min", int64(60_000)}}},
		"mute":           {`{"penalties":{"ladder":[{"after":2,"do":"review"},{"after":3,"do":"mute","for_ms":5}]}}`, []policy.Clamp{{"/penalties/ladder/1/for_ms", int64(5), int64(10_000), "min", int64(10_000)}}},
		"seven steps":    {`{"penalties":{"ladder":[{"after":2,"do":"review"},{"after":3,"do":"review"},{"after":4,"do":"review"},{"after":5,"do":"review"},{"after":6,"do":"review"},{"after":7,"do":"review"},{"after":8,"do":"mute","for_ms":1}]}}`, []policy.Clamp{{"/penalties/ladder", int64(7), int64(6), "max", int64(6)}}},
		"not registered": {`{"actions":{"shout":{"min_interval_ms":1}}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, clamps := shippedSystem(t).Resolve(parsed(t, c.text))
			equal(t, c.want, clamps)
		})
	}
}

func TestForbiddenSwitchesLeaveTheDefaultsInForce(t *testing.T) {
	t.Parallel()
	b := policy.ShippedBounds()
	strict := b.Actions["message"]
	strict.MayDisable = nil
	b.Actions["message"] = strict
	s := systemOf(t, b, parsed(t, message(`"min_interval_ms":5000,"mode":"hard"`)))
	e, clamps := s.Resolve(parsed(t, message(`"min_interval_ms":null,"window":null,"mode":"soft","enabled":false`)))
	equal(t, []policy.Clamp{
		{"/actions/message/enabled", false, true, "forbidden", nil},
		{"/actions/message/mode", "soft", "hard", "forbidden", nil},
		{"/actions/message/min_interval_ms", nil, int64(5000), "forbidden", nil},
		{"/actions/message/window", nil, json.RawMessage(`{"algorithm":"sliding_window","limit":8,"period_ms":30000,"count_refused":false}`), "forbidden", nil},
	}, clamps)
	got := e.Actions["message"]
	if got.MinIntervalMS != 5000 || got.Window == nil || got.Window.Limit != 8 || got.Mode != policy.Hard || !got.Enabled {
		t.Errorf("in force is %+v", got)
	}
}

func TestDefaultsAreClampedToo(t *testing.T) {
	t.Parallel()
	s := systemOf(t, policy.ShippedBounds(), parsed(t, `{"actions":{"message":{"min_interval_ms":1},"like":{"enabled":false}},"penalties":{"forgive_one_every_ms":1}}`))
	equal(t, []policy.Clamp{
		{"/actions/like/enabled", false, true, "forbidden", nil},
		{"/actions/message/min_interval_ms", int64(1), int64(1000), "min", int64(1000)},
		{"/penalties/forgive_one_every_ms", int64(1), int64(60_000), "min", int64(60_000)},
	}, s.DefaultsClamped)
	e, clamps := s.Resolve(parsed(t, message(`"window":null`)))
	equal(t, []policy.Clamp(nil), clamps) // the group has asked for nothing that is held back
	equal(t, int64(1000), e.Actions["message"].MinIntervalMS)
	equal(t, int64(1000), s.CompileDefault("message").MinIntervalMS)
}

func TestOverlayTakesArraysWindowAndBanWhole(t *testing.T) {
	t.Parallel()
	s := systemOf(t, policy.ShippedBounds(), parsed(t, `{"time_zone":"Asia/Shanghai","actions":{"like":{
		"window":{"algorithm":"sliding_window","limit":5,"period_ms":5000,"count_refused":true}}},
		"exempt_roles":["bot","vip"],"notices":{"en":{"too_soon":"a","too_many":"b"}}}`))
	e, _ := s.Resolve(parsed(t, `{"actions":{"like":{"window":{"algorithm":"sliding_window","limit":9,"period_ms":9000},"ban":null}},
		"exempt_roles":["member"],"notices":{"en":{"too_soon":"c"},"zh":{"too_soon":"d"}}}`))
	equal(t, policy.Action{
		Enabled: true, Mode: policy.Hard, OnFailure: policy.Allow, FromGroup: true,
		Window: &policy.Window{Algorithm: policy.SlidingWindow, Limit: 9, PeriodMS: 9000},
	}, e.Actions["like"])
	equal(t, []string{"member", "owner"}, e.ExemptRoles)
	equal(t, "Asia/Shanghai", e.TimeZone)
	equal(t, map[string]map[string]string{"en": {"too_soon": "c", "too_many": "b"}, "zh": {"too_soon": "d"}}, e.Notices)
	equal(t, "group", e.Sources()["like"])
	equal(t, "default", e.Sources()["message"])
}

func TestC52_EmptyListsNeverMeanRefuseAll(t *testing.T) {
	t.Parallel()
	s := shippedSystem(t)
	d := parsed(t, `{"exempt_roles":[],"penalties":{"ladder":[]}}`)
	e, clamps := s.Resolve(d)
	equal(t, []policy.Clamp(nil), clamps)
	equal(t, []string{"owner"}, e.ExemptRoles)
	equal(t, []policy.Step{}, e.Ladder)
	c := s.Compile(e, "message", 1, 1)
	got, _, _, _ := policy.Decide(c, policy.ActionState{}, policy.MemberRecord{}, policy.Attempt{NowMS: 1e12, Cost: 1})
	equal(t, policy.Allowed, got.Code)
}

func TestCustomActionWithoutDefaults(t *testing.T) {
	t.Parallel()
	s, err := policy.NewSystem(policy.SystemConfig{
		Generation: 1, Bounds: policy.ShippedBounds(), Actions: append(policy.ShippedActions(), policy.ActionSpec{Name: "shout", Speech: true}),
	})
	if err != nil {
		t.Fatal(err)
	}
	c := s.CompileDefault("shout")
	equal(t, []int64{0, 10, 30_000}, []int64{c.MinIntervalMS, c.Limit, c.PeriodMS})
	if !c.Enabled || !c.Speech || c.OnFailure != policy.Allow || len(c.Ladder) != 4 {
		t.Errorf("%+v", c)
	}
}

func TestNewSystemRefusesWhatIsNoSystem(t *testing.T) {
	t.Parallel()
	backwards := policy.ShippedBounds()
	backwards.MuteMS = policy.Range{Min: 5, Max: 4}
	for name, cfg := range map[string]policy.SystemConfig{
		"no bounds":  {},
		"backwards":  {Bounds: backwards},
		"name":       {Bounds: policy.ShippedBounds(), Actions: []policy.ActionSpec{{Name: "X"}}},
		"same twice": {Bounds: policy.ShippedBounds(), Actions: []policy.ActionSpec{{Name: "x"}, {Name: "x"}}},
	} {
		if _, err := policy.NewSystem(cfg); err == nil {
			t.Errorf("%s: no error", name)
		} else {
			faultsOf(t, err, policy.CodeInvalid)
		}
	}
}

// within fails where an effective policy holds a value outside the bounds.
func within(t *rapid.T, s *policy.System, e policy.Effective) {
	inside := func(what string, v int64, r policy.Range) {
		if v < r.Min || v > r.Max {
			t.Fatalf("%s is %d, outside %v", what, v, r)
		}
	}
	for name, a := range e.Actions {
		b := s.Bounds.For(name)
		may := func(what string) bool { return slices.Contains(b.MayDisable, what) }
		if a.MinIntervalMS != 0 {
			inside(name+" interval", a.MinIntervalMS, b.MinIntervalMS)
		}
		if a.Window != nil {
			windowWithin(inside, name, *a.Window, b)
			if !slices.Contains(b.Algorithms, a.Window.Algorithm) {
				t.Fatalf("%s counts by %s, allowed are %v", name, a.Window.Algorithm, b.Algorithms)
			}
		}
		if a.Group != nil {
			wide := b
			wide.WindowLimit.Max = policy.MaxLimit // a group is larger than a member
			windowWithin(inside, name+" group", *a.Group, wide)
		}
		if a.Ban != nil && !a.Ban.EndOfDay {
			inside(name+" ban", a.Ban.ForMS, b.BanMS)
		}
		if a.MinIntervalMS == 0 && !may("interval") || a.Window == nil && !may("window") || !a.Enabled && !may("action") ||
			a.Mode == policy.Soft && !may("soft") || a.MinIntervalMS == 0 && a.Window == nil && !may("action") {
			t.Fatalf("%s is %+v, may disable %v", name, a, b.MayDisable)
		}
	}
	inside("forgiveness", e.ForgiveOneEveryMS, s.Bounds.ForgiveOneEveryMS)
	inside("steps", int64(len(e.Ladder)), policy.Range{Max: s.Bounds.LadderStepsMax})
	for _, step := range e.Ladder {
		if step.Do == policy.Mute {
			inside("mute", step.ForMS, s.Bounds.MuteMS)
		}
	}
}

// windowWithin holds a window's numbers to the bounds as the contract derives them (design: bounds).
func windowWithin(inside func(string, int64, policy.Range), name string, w policy.Window, b policy.ActionBounds) {
	derived := func(own policy.Range) policy.Range {
		low := (b.WindowPeriodMS.Min + b.WindowLimit.Max - 1) / b.WindowLimit.Max
		r := policy.Range{Min: low, Max: max(low, b.WindowPeriodMS.Max/b.WindowLimit.Min)}
		if own == (policy.Range{}) {
			return r
		}
		if low, high := max(r.Min, own.Min), min(r.Max, own.Max); low <= high {
			return policy.Range{Min: low, Max: high}
		}
		return own
	}
	switch w.Algorithm {
	case policy.TokenBucket:
		inside(name+" capacity", w.Capacity, b.WindowLimit)
		inside(name+" refill", w.RefillMS, derived(b.RefillMS))
	case policy.LeakyBucket:
		inside(name+" capacity", w.Capacity, b.WindowLimit)
		inside(name+" leak", w.LeakMS, derived(b.LeakMS))
	case policy.SlidingCounter:
		inside(name+" buckets", w.Buckets, policy.Range{Min: 1, Max: policy.MaxBuckets})
		fallthrough
	case policy.SlidingWindow, policy.FixedWindow:
		inside(name+" limit", w.Limit, b.WindowLimit)
		inside(name+" period", w.PeriodMS, b.WindowPeriodMS)
	}
}

func TestPropertyEffectiveIsWithinBoundsAndIdempotent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := system(t, genBounds().Draw(t, "bounds"), genDocument().Draw(t, "defaults"))
		d := genDocument().Draw(t, "document")
		if err := s.Validate(d); err != nil {
			t.Fatal(err)
		}
		e, clamps := s.Resolve(d)
		within(t, s, e)
		within(t, s, s.DefaultsEffective())
		again, none := s.Resolve(e.Document())
		if len(none) > 0 {
			t.Fatalf("what is in force is clamped again: %v", none)
		}
		if diff := cmp.Diff(e, again, cmpopts.IgnoreFields(policy.Action{}, "FromGroup"), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		for _, c := range clamps {
			if cmp.Equal(c.Requested, c.Effective) {
				t.Fatalf("%+v reports what is in force", c)
			}
		}
	})
}

// TestPropertyClampsReportExactlyTheDifference compares the document laid over itself in force: what is stated and
// unreported is in force as stated; what is reported is not.
func TestPropertyClampsReportExactlyTheDifference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := system(t, genBounds().Draw(t, "bounds"), genDocument().Draw(t, "defaults"))
		d := genDocument().Draw(t, "document")
		e, clamps := s.Resolve(d)
		reported := map[string]bool{}
		for _, c := range clamps {
			if reported[c.Path] {
				t.Fatalf("%s is reported twice", c.Path)
			}
			reported[c.Path] = true
		}
		check := func(path string, same bool) {
			if same == reported[path] {
				t.Fatalf("%s: in force as requested: %v, reported: %v (%v)", path, same, reported[path], clamps)
			}
		}
		for name, stated := range d.Actions {
			a, at := e.Actions[name], "/actions/"+name
			check(at+"/enabled", !stated.Enabled.Set || a.Enabled == stated.Enabled.Value)
			check(at+"/mode", !stated.Mode.Set || a.Mode == stated.Mode.Value)
			check(at+"/min_interval_ms", !stated.MinIntervalMS.Set || a.MinIntervalMS == stated.MinIntervalMS.Value)
			check(at+"/window", !stated.Window.Null || a.Window == nil)
			if w := stated.Window; w.Set && !w.Null {
				checkWindow(check, reported, at+"/window", w.Value, a.Window)
			}
			check(at+"/group", !stated.Group.Null || a.Group == nil)
			if g := stated.Group; g.Set && !g.Null {
				checkWindow(check, reported, at+"/group/window", g.Value.Window, a.Group)
			}
			if b := stated.Ban; b.Set && !b.Null {
				check(at+"/ban/for_ms", a.Ban.ForMS == b.Value.ForMS)
			}
		}
		check("/penalties/ladder", !d.Penalties.Ladder.Set || len(e.Ladder) == len(d.Penalties.Ladder.Value))
		check("/penalties/forgive_one_every_ms", !d.Penalties.ForgiveOneEveryMS.Set || e.ForgiveOneEveryMS == d.Penalties.ForgiveOneEveryMS.Value)
	})
}

// checkWindow compares a window number by number; one that is held back as a whole is reported by its algorithm or align.
func checkWindow(check func(string, bool), reported map[string]bool, path string, stated policy.Window, inForce *policy.Window) {
	if reported[path+"/algorithm"] || reported[path+"/align"] {
		check(path, true)
		return
	}
	check(path+"/algorithm", inForce.Algorithm == stated.Algorithm)
	check(path+"/limit", inForce.Limit == stated.Limit)
	check(path+"/period_ms", inForce.PeriodMS == stated.PeriodMS)
	check(path+"/align", inForce.Align == stated.Align)
	check(path+"/buckets", inForce.Buckets == stated.Buckets)
	check(path+"/capacity", inForce.Capacity == stated.Capacity)
	check(path+"/refill_ms", inForce.RefillMS == stated.RefillMS)
	check(path+"/leak_ms", inForce.LeakMS == stated.LeakMS)
}

func TestPropertyRelaxedBoundsGiveBackWhatWasRequested(t *testing.T) {
	t.Parallel()
	wide := policy.ActionBounds{
		MinIntervalMS: policy.Range{Min: 1, Max: policy.MaxIntervalMS}, WindowLimit: policy.Range{Min: 1, Max: policy.MaxLimit},
		WindowPeriodMS: policy.Range{Min: 1, Max: policy.MaxPeriodMS}, BanMS: policy.Range{Min: 1, Max: policy.MaxBanMS},
		Algorithms: policy.Algorithms(), MayDisable: []string{"interval", "window", "action", "soft"}, EditedBy: "group",
	}
	relaxed := policy.Bounds{
		Actions: map[string]policy.ActionBounds{"*": wide}, MuteMS: policy.Range{Min: 1, Max: policy.MaxMuteMS},
		ForgiveOneEveryMS: policy.Range{Min: 1, Max: policy.MaxForgiveMS}, LadderStepsMax: policy.MaxSteps, ExemptionsMax: 1,
	}
	rapid.Check(t, func(t *rapid.T) {
		defaults, d := genDocument().Draw(t, "defaults"), genDocument().Draw(t, "document")
		tight := system(t, genBounds().Draw(t, "bounds"), defaults)
		stored := d.JSON()
		tight.Resolve(d)
		if string(stored) != string(d.JSON()) {
			t.Fatal("resolving changed what is stored")
		}
		e, _ := system(t, relaxed, defaults).Resolve(d)
		for name, stated := range d.Actions {
			v := stated.MinIntervalMS
			if v.Set && v.Value <= policy.MaxIntervalMS && e.Actions[name].MinIntervalMS != v.Value {
				t.Fatalf("%s: %d is in force, %d was requested", name, e.Actions[name].MinIntervalMS, v.Value)
			}
		}
	})
}
