package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

func configOf(tb testing.TB, text string) policy.Config {
	tb.Helper()
	c, err := policy.ParseConfig([]byte(text), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func applier() store.Actor {
	a := actor()
	a.Channel = store.ChannelApply
	return a
}

// lines is a plan as a test reads it.
func lines(p policy.ConfigPlan) (out []string) {
	for _, c := range p.Changes {
		words := []string{string(c.Op), string(c.Kind), c.GroupID, c.Target}
		if c.Loosens {
			words = append(words, "loosens")
		}
		if c.Tightens {
			words = append(words, "tightens")
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

func noAnswer(policy.ConfigPlan) (json.RawMessage, error) { return json.RawMessage(`{}`), nil }

// applyAll plans and applies, and returns what it did.
func applyAll(tb testing.TB, s *store.Store, in store.ConfigInput) []string {
	tb.Helper()
	p := must(s.PlanConfig(tb.Context(), in))(tb)
	var did policy.ConfigPlan
	_, err := s.ApplyConfig(tb.Context(), applier(), store.Once{}, in, p.Token, func(p policy.ConfigPlan) (json.RawMessage, error) {
		did = p
		return json.RawMessage(`{}`), nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	if diff := cmp.Diff(lines(p.ConfigPlan), lines(did)); diff != "" {
		tb.Errorf("apply did something else than planned (-plan +apply)\n%s", diff)
	}
	return lines(did)
}

const wholeConfig = `{
	"actions": {"gift": {"speech": false}},
	"defaults": {"time_zone": "Asia/Shanghai", "actions": {"message": {"min_interval_ms": 3000}}},
	"groups": {
		"coffee": {"name": "Coffee", "locale": "zh", "policy": {"actions": {"gift": {"mode": "soft"}}}},
		"tea": {"name": "Tea house", "policy": {"actions": {"message": {"min_interval_ms": 5000}}},
			"exemptions": {"mei": {"note": "host"}, "lin": {"expires_at": "2030-01-01T00:00:00Z"}}}
	}}`

func TestApplyConfig(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		s := b.store()
		register(t, s, "tea")
		in := store.ConfigInput{Config: configOf(t, wholeConfig)}
		before := len(auditActions(t, s))
		got := applyAll(t, s, in)
		want := []string{
			"create action  gift", "update defaults   tightens", "create group coffee ", "create policy coffee  loosens",
			"update group tea ", "create policy tea  tightens", "create exemption tea lin loosens", "create exemption tea mei loosens",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		actions := auditActions(t, s)[before:]
		wantActions := []string{
			"action.put", "defaults.update", "group.create", "policy.update", "group.update", "policy.update", "exemption.add", "exemption.add",
		}
		if diff := cmp.Diff(wantActions, actions); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if got := applyAll(t, s, in); slices.ContainsFunc(got, func(line string) bool { return !strings.HasPrefix(line, "unchanged") }) {
			t.Errorf("the second apply: %q", got)
		}
		if again := len(auditActions(t, s)) - before; again != len(wantActions) {
			t.Errorf("%d entries after the second apply", again)
		}
		checkApplied(t, s)
	})
}

// checkApplied reads back what wholeConfig states.
func checkApplied(t *testing.T, s *store.Store) {
	t.Helper()
	r := must(s.Policy(t.Context(), "tea"))(t)
	if r.Version != 1 || r.Group.Name != "Tea house" || r.Group.Locale != "en" || string(r.Document.JSON()) != `{"actions":{"message":{"min_interval_ms":5000}}}` {
		t.Errorf("tea is %+v", r)
	}
	v := must(s.Version(t.Context(), "coffee", 1))(t)
	if v.Kind != "update" || v.Channel != "apply" || v.Reason != "quieter nights" || v.Actor != "Mei" {
		t.Errorf("coffee's version is %+v", v)
	}
	page := must(s.ListExemptions(t.Context(), "tea", store.ExemptionQuery{}))(t)
	if len(page.Items) != 2 || page.Version != 1 || page.Items[1].Note != "host" || page.Items[1].GrantedBy != "Mei" {
		t.Errorf("exemptions are %+v", page)
	}
	found := must(s.VersionsIn(t.Context(), []store.VersionSpan{{GroupID: "tea", From: 1, To: 1}, {GroupID: "coffee", From: 1, To: 3}, {GroupID: "none", From: 1, To: 1}}))(t)
	if len(found) != 2 || len(found["tea"]) != 1 || string(found["tea"][0].JSON()) != string(r.Document.JSON()) || len(found["coffee"]) != 1 {
		t.Errorf("versions are %+v", found)
	}
	d := must(s.Defaults(t.Context()))(t)
	if d.Version != 1 || !d.System.Registered("gift") {
		t.Errorf("defaults are %+v", d)
	}
	entries := must(s.ListAudit(t.Context(), store.AuditQuery{Channel: "apply", Action: "exemption.add"}))(t)
	if len(entries.Items) != 2 || entries.Items[0].Reason != "quieter nights" || entries.Items[0].Target != "mei" ||
		!strings.Contains(entries.Items[0].After, `"note":"host"`) || entries.Items[0].Before != "" {
		t.Errorf("entries are %+v", entries.Items)
	}
}

func TestApplyPrunesOnlyWhereAsked(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		s := b.store()
		applyAll(t, s, store.ConfigInput{Config: configOf(t, wholeConfig)})
		less := configOf(t, `{"groups":{"tea":{"exemptions":{"mei":{"note":"host"}}}}}`)
		for _, test := range []struct {
			prune policy.ConfigPrune
			want  []string
		}{
			{policy.ConfigPrune{}, []string{"unchanged exemption tea mei"}},
			{policy.ConfigPrune{Exemptions: true}, []string{"unchanged exemption tea mei"}},
			{policy.ConfigPrune{Exemptions: true, Policies: true, Groups: []string{"coffee"}}, []string{"remove policy coffee  tightens", "unchanged exemption tea mei"}},
			{policy.ConfigPrune{Exemptions: true, Files: true}, []string{"unchanged exemption tea mei", "remove exemption tea lin tightens"}},
			{policy.ConfigPrune{Exemptions: true, Policies: true, All: true}, []string{
				"remove policy coffee  tightens", "remove policy tea  loosens", "unchanged exemption tea mei", "remove exemption tea lin tightens",
			}},
		} {
			p := must(s.PlanConfig(t.Context(), store.ConfigInput{Config: less, Prune: test.prune}))(t)
			if diff := cmp.Diff(test.want, lines(p.ConfigPlan)); diff != "" {
				t.Errorf("%+v (-want +got)\n%s", test.prune, diff)
			}
		}
		applyAll(t, s, store.ConfigInput{Config: less, Prune: policy.ConfigPrune{Exemptions: true, Policies: true, All: true}})
		page := must(s.ListExemptions(t.Context(), "tea", store.ExemptionQuery{}))(t)
		r := must(s.Policy(t.Context(), "tea"))(t)
		if len(page.Items) != 1 || page.Version != 2 || string(r.Document.JSON()) != "{}" || r.Version != 2 {
			t.Errorf("%+v, %+v", page, r)
		}
		if v := must(s.Version(t.Context(), "tea", 2))(t); v.Kind != "delete" {
			t.Errorf("the version is %+v", v)
		}
	})
}

// A token holds for the files and the state that were planned, and for nothing else.
func TestApplyRefusesAPlanThatMoved(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		s := b.store()
		register(t, s, "tea", "coffee", "other")
		in := store.ConfigInput{Config: configOf(t, `{"groups":{"tea":{"policy":{"actions":{"like":{"mode":"soft"}}}},"coffee":{"policy":{}},"new":{"name":"New"}}}`)}
		move := map[string]func(){
			"a policy that changes":  func() { save(t, s, "tea", interval("2000")) },
			"a policy that does not": func() { save(t, s, "coffee", interval("2000")) },
			"a name":                 func() { must1(t)(s.PutGroup(t.Context(), actor(), store.Anything(), "tea", "Other", "en")) },
			"a registration":         func() { register(t, s, "new") },
			"an exemption": func() {
				must(s.PutExemption(t.Context(), actor(), "tea", store.Anything(), store.Exemption{UserID: "u"}))(t)
			},
			"the defaults":      func() { must1(t)(s.UpdateDefaults(t.Context(), actor(), store.Anything(), parse(t, interval("4000")))) },
			"the bounds":        func() { must1(t)(s.UpdateBounds(t.Context(), actor(), store.Anything(), narrower())) },
			"an archived group": func() { must(s.ArchiveGroup(t.Context(), actor(), store.Anything(), "coffee"))(t) },
		}
		for _, name := range []string{
			"a policy that changes", "a policy that does not", "a name", "a registration", "an exemption", "the defaults", "the bounds", "an archived group",
		} {
			p := must(s.PlanConfig(t.Context(), in))(t)
			move[name]()
			entries := len(auditActions(t, s))
			_, err := s.ApplyConfig(t.Context(), applier(), store.Once{}, in, p.Token, noAnswer)
			if name == "an archived group" {
				wantCode(t, err, policy.CodeConflict)
			} else {
				wantCode(t, err, policy.CodeStale)
			}
			if got := len(auditActions(t, s)); got != entries {
				t.Errorf("%s: a refused apply wrote %d entries", name, got-entries)
			}
		}
		must(s.ArchiveGroup(t.Context(), actor(), store.Anything(), "other"))(t) // nothing that the plan looks at
		_, _, err := s.PutGroup(t.Context(), actor(), store.Anything(), "coffee", "Coffee", "en")
		if err != nil {
			t.Fatal(err)
		}
		p := must(s.PlanConfig(t.Context(), in))(t)
		other := store.ConfigInput{Config: configOf(t, `{"groups":{"tea":{"policy":{}}}}`)}
		_, err = s.ApplyConfig(t.Context(), applier(), store.Once{}, other, p.Token, noAnswer)
		wantCode(t, err, policy.CodeInvalid)
	})
}

// must1 is must for calls with a further answer that a test does not look at.
func must1(t *testing.T) func(_, _ any, err error) {
	t.Helper()
	return func(_, _ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func narrower() policy.Bounds {
	b := policy.ShippedBounds()
	b.LadderStepsMax = 5
	return b
}

// Of applies from two instances at once with one token, one wins and the others are told; forced ones all pass, and the
// versions have no gap.
func TestTwoInstancesApplyAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		stores := []*store.Store{b.store(), b.store()}
		var groups []string
		for i := range 80 {
			groups = append(groups, `"g`+strconv.Itoa(i)+`":{"name":"G","policy":{"actions":{"message":{"min_interval_ms":N}}}}`)
		}
		text := `{"groups":{` + strings.Join(groups, ",") + `}}`
		input := func(ms int) store.ConfigInput {
			return store.ConfigInput{Config: configOf(t, strings.ReplaceAll(text, "N", strconv.Itoa(ms)))}
		}
		token := must(stores[0].PlanConfig(t.Context(), input(2000)))(t).Token
		if wins := race(t, stores, func(s *store.Store, _ int) error {
			_, err := s.ApplyConfig(t.Context(), applier(), store.Once{}, input(2000), token, noAnswer)
			return err
		}); wins != 1 {
			t.Errorf("%d of the applies with one token won", wins)
		}
		if wins := race(t, stores, func(s *store.Store, n int) error {
			_, err := s.ApplyConfig(context.WithoutCancel(t.Context()), applier(), store.Once{}, input(3000+n), store.AnyToken, noAnswer)
			return err
		}); wins != 4 {
			t.Errorf("%d of the forced applies passed", wins)
		}
		r := must(stores[0].Policy(t.Context(), "g0"))(t)
		for i := range 80 {
			other := must(stores[1].Policy(t.Context(), "g"+strconv.Itoa(i)))(t)
			if string(other.Document.JSON()) != string(r.Document.JSON()) || other.Version != 5 {
				t.Fatalf("g%d has version %d, %s; g0 %s", i, other.Version, other.Document.JSON(), r.Document.JSON())
			}
		}
		if n := len(auditActions(t, stores[0])); n != 80+5*80 {
			t.Errorf("%d entries", n)
		}
	})
}

// race runs four calls at once, two on each store, and counts those that pass; the others must be stale.
func race(t *testing.T, stores []*store.Store, call func(s *store.Store, n int) error) (wins int) {
	t.Helper()
	var mu sync.Mutex
	var running sync.WaitGroup
	for n := range 4 {
		running.Go(func() {
			err := call(stores[n%2], n)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				wins++
			} else if codeOf(err) != policy.CodeStale {
				t.Error(err)
			}
		})
	}
	running.Wait()
	return wins
}

// What an apply refuses, or breaks off at its last statement, leaves nothing behind.
func TestFailingApplyLeavesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		s := b.store()
		register(t, s, "tea")
		entries, depth := len(auditActions(t, s)), outboxDepth(t, s)
		for name, in := range map[string]store.ConfigInput{
			"invalid":  {Config: configOf(t, `{"groups":{"a":{"name":"A"},"tea":{"policy":{"actions":{"fly":{}}}}}}`)},
			"conflict": {Config: configOf(t, `{"groups":{"a":{"name":"A"},"b":{}}}`)},
			"accept": {Config: configOf(t, wholeConfig), Accept: func(policy.ConfigPlan) error {
				return policy.Errorf(policy.CodeInvalid, "no")
			}},
		} {
			if _, err := s.ApplyConfig(t.Context(), applier(), store.Once{}, in, store.AnyToken, noAnswer); codeOf(err) == "" {
				t.Errorf("%s: %v", name, err)
			}
		}
		broken := errors.New("broken off")
		_, err := s.ApplyConfig(t.Context(), applier(), store.Once{}, store.ConfigInput{Config: configOf(t, wholeConfig)}, store.AnyToken,
			func(policy.ConfigPlan) (json.RawMessage, error) { return nil, broken })
		if !errors.Is(err, broken) {
			t.Error(err)
		}
		if n := len(auditActions(t, s)) - entries; n != 0 {
			t.Errorf("%d entries", n)
		}
		if n := outboxDepth(t, s) - depth; n != 0 {
			t.Errorf("%d outbox rows", n)
		}
		page := must(s.ListGroups(t.Context(), store.GroupQuery{}))(t)
		if len(page.Items) != 1 || must(s.Defaults(t.Context()))(t).Version != 0 {
			t.Errorf("%+v", page)
		}
	})
}
