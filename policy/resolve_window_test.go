package policy_test

import (
	"testing"

	"github.com/pacekeeper/pacekeeper/policy"
)

func TestBucketsObeyTheWindowsBounds(t *testing.T) {
	t.Parallel()
	b := policy.ShippedBounds() // message: 3–50 per 5–300 s
	own := b.Actions["message"]
	own.LeakMS, own.Capacity = policy.Range{Min: 500, Max: 900}, policy.Range{Min: 5, Max: 100}
	own.Algorithms = []policy.Algorithm{policy.FixedWindow, policy.TokenBucket, policy.LeakyBucket}
	b.Actions["message"] = own
	s := systemOf(t, b, policy.ShippedDefaults())
	clamp := func(key string, requested, effective int64, bound string) policy.Clamp {
		return policy.Clamp{Path: "/actions/message/window/" + key, Requested: requested, Effective: effective, Bound: bound, Limit: effective}
	}
	minute := clamp("period_ms", 3_600_000, 60_000, "max")
	minute.Limit = int64(300_000)
	for window, want := range map[string][]policy.Clamp{
		`"algorithm":"token_bucket","capacity":5,"refill_ms":100`:                     nil,
		`"algorithm":"token_bucket","capacity":4,"refill_ms":99`:                      {clamp("capacity", 4, 5, "min"), clamp("refill_ms", 99, 100, "min")},
		`"algorithm":"token_bucket","capacity":51,"refill_ms":100001`:                 {clamp("capacity", 51, 50, "max"), clamp("refill_ms", 100_001, 100_000, "max")},
		`"algorithm":"leaky_bucket","capacity":5,"leak_ms":499`:                       {clamp("leak_ms", 499, 500, "min")},
		`"algorithm":"fixed_window","limit":5,"period_ms":3600000,"align":"calendar"`: {minute},
		`"algorithm":"fixed_window","limit":5,"period_ms":3600000`:                    {clamp("period_ms", 3_600_000, 300_000, "max")},
		`"algorithm":"sliding_window","limit":5,"period_ms":30000`: {{
			Path: "/actions/message/window/algorithm", Requested: "sliding_window", Effective: "fixed_window", Bound: "forbidden",
		}},
	} {
		_, clamps := s.Resolve(parsed(t, messageWindow(window)))
		equal(t, want, clamps)
	}
}

func TestCalendarOutsideTheBoundsIsForbidden(t *testing.T) {
	t.Parallel()
	b := policy.ShippedBounds()
	own := b.Actions["message"]
	own.WindowPeriodMS = policy.Range{Min: 5_000, Max: 30_000}
	b.Actions["message"] = own
	e, clamps := systemOf(t, b, policy.ShippedDefaults()).Resolve(parsed(t, messageWindow(`"algorithm":"fixed_window","limit":5,"period_ms":60000,"align":"calendar"`)))
	equal(t, policy.SlidingWindow, e.Actions["message"].Window.Algorithm)
	if len(clamps) != 1 || clamps[0].Path != "/actions/message/window/align" || clamps[0].Bound != policy.BoundForbidden {
		t.Errorf("%+v", clamps)
	}
}

// TestTheGroupsLimitObeysTheWindowsBounds: but for how many may pass, of which a group has more than a member.
func TestTheGroupsLimitObeysTheWindowsBounds(t *testing.T) {
	t.Parallel()
	s := shippedSystem(t) // message: 3–50 per 5–300 s
	group := func(window string) string { return message(`"group":{"window":{` + window + `}}`) }
	at := func(key string, requested, effective int64, bound string) []policy.Clamp {
		return []policy.Clamp{{Path: "/actions/message/group/window/" + key, Requested: requested, Effective: effective, Bound: bound, Limit: effective}}
	}
	for window, want := range map[string][]policy.Clamp{
		slidingWindow + `,"limit":500,"period_ms":30000`:           nil,
		slidingWindow + `,"limit":2,"period_ms":30000`:             at("limit", 2, 3, "min"),
		slidingWindow + `,"limit":20000,"period_ms":30000`:         at("limit", 20_000, policy.MaxLimit, "max"),
		slidingWindow + `,"limit":500,"period_ms":1`:               at("period_ms", 1, 5_000, "min"),
		`"algorithm":"token_bucket","capacity":500,"refill_ms":20`: nil,
	} {
		e, clamps := s.Resolve(parsed(t, group(window)))
		equal(t, want, clamps)
		if e.Actions["message"].Group == nil || e.Actions["message"].Window.Limit != 8 {
			t.Errorf("%s: in force is %+v", window, e.Actions["message"])
		}
	}
	e, _ := s.Resolve(parsed(t, message(`"group":null`)))
	if e.Actions["message"].Group != nil {
		t.Error("null is no limit")
	}
}

func TestDefaultsOfAForbiddenAlgorithmKeepTheirFigures(t *testing.T) {
	t.Parallel()
	b := policy.ShippedBounds()
	own := b.Actions["upload"]
	own.Algorithms = []policy.Algorithm{policy.SlidingWindow}
	b.Actions["upload"] = own
	e := systemOf(t, b, policy.Document{}).DefaultsEffective()
	equal(t, &policy.Window{Algorithm: policy.SlidingWindow, Limit: 100, PeriodMS: 86_400_000}, e.Actions["upload"].Window)
}
