package policy_test

import (
	"testing"

	"github.com/pacekeeper/pacekeeper/policy"
)

func preview(t *testing.T, document, action, traffic string) []policy.Tried {
	t.Helper()
	s := shippedSystem(t)
	d, err := s.ParseDocument([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	e, _ := s.Resolve(d)
	tries, ok := policy.Traffic(traffic)
	if !ok {
		t.Fatalf("no traffic %s", traffic)
	}
	return s.Preview(e, action, tries)
}

func tally(tried []policy.Tried) map[policy.DecisionCode]int {
	codes := map[policy.DecisionCode]int{}
	for _, one := range tried {
		codes[one.Code]++
	}
	return codes
}

func TestPreviewDecidesAsTheCheck(t *testing.T) {
	t.Parallel()
	if got := tally(preview(t, `{}`, "message", policy.TrafficCalm)); got[policy.Allowed] != 10 {
		t.Errorf("calm: %v", got)
	}
	if got := tally(preview(t, `{}`, "like", policy.TrafficSpammer)); got[policy.RefusedMuted] != 0 || got[policy.RefusedBanned] == 0 {
		t.Errorf("likes are banned, not muted: %v", got)
	}
	spam := preview(t, `{}`, "message", policy.TrafficSpammer)
	held := false
	for _, one := range spam {
		held = held || one.HeldMS == 60_000 && one.Step == 1
	}
	if !held {
		t.Error("no try took the first step of the ladder")
	}
	if got := tally(spam); got[policy.RefusedMuted] == 0 || got[policy.Allowed] == 0 || len(spam) != 85 {
		t.Errorf("spammer: %v of %d", got, len(spam))
	}
	burst := tally(preview(t, `{"actions":{"message":{"min_interval_ms":5000}}}`, "message", policy.TrafficBurst))
	if calm := tally(preview(t, `{}`, "message", policy.TrafficBurst)); burst[policy.Allowed] >= calm[policy.Allowed] {
		t.Errorf("a longer gap let %d pass, a shorter %d", burst[policy.Allowed], calm[policy.Allowed])
	}
}

func TestPreviewKeepsMembersApartAndSortsTries(t *testing.T) {
	t.Parallel()
	s := shippedSystem(t)
	tried := s.Preview(s.DefaultsEffective(), "message", []policy.Try{
		{AtMS: 1000, UserID: "a", Cost: 1}, {AtMS: 0, UserID: "a", Cost: 1}, {AtMS: 1000, UserID: "b", Cost: 1}, {AtMS: 1000, UserID: "b"},
	})
	want := []policy.DecisionCode{policy.Allowed, policy.RefusedInterval, policy.Allowed, policy.RefusedInterval}
	for i, one := range tried {
		if one.Code != want[i] {
			t.Errorf("%d: %+v, want %v", i, one, want[i])
		}
	}
	if tried[3].Strikes != 0 {
		t.Error("a peek took a strike")
	}
}
