package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/policy"
)

// defaultsWith parses the defaults {"scopes": …}.
func defaultsWith(tb testing.TB, scopes string) policy.Document {
	tb.Helper()
	d, err := policy.ParseDefaults([]byte(`{"scopes":` + scopes + `}`))
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

const twenty = `{"window":{"algorithm":"sliding_window","limit":20,"period_ms":60000,"count_refused":false}}`

func TestScopesStandInTheDefaultsAlone(t *testing.T) {
	t.Parallel()
	text := `{"scopes":{"user":{"message":` + twenty + `},"ip":{"login":{"ban":{"for_ms":60000}}}}}`
	_, err := policy.ParseDocument([]byte(text))
	equal(t, "/scopes unknown", strings.Join(pointers(err), " "))
	d, err := policy.ParseDefaults([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, text, string(d.JSON()))
	equal(t, "/scopes unknown", strings.Join(pointers(shippedSystem(t).Validate(d)), " "))
	if err := shippedSystem(t).ValidateDefaults(policy.Document{}, d); err != nil {
		t.Error(err)
	}
}

func TestScopesFaults(t *testing.T) {
	t.Parallel()
	for scopes, want := range map[string]string{
		`[]`:                                  "/scopes type",
		`{"group":{}}`:                        "/scopes/group unknown",
		`{"users":{"message":{}}}`:            "/scopes/users unknown",
		`{"ip":1}`:                            "/scopes/ip type",
		`{"ip":{"Message":{}}}`:               "/scopes/ip/Message format",
		`{"ip":{"message":1}}`:                "/scopes/ip/message type",
		`{"peer":{"message":{"group":null}}}`: "/scopes/peer/message/group unknown",
		`{"peer":{"message":{"min_interval_ms":"2"}}}`: "/scopes/peer/message/min_interval_ms type",
	} {
		_, err := policy.ParseDefaults([]byte(`{"scopes":` + scopes + `}`))
		if diff := cmp.Diff(want, strings.Join(pointers(err), " ")); diff != "" {
			t.Errorf("%s: %s", scopes, diff)
		}
	}
	err := shippedSystem(t).ValidateDefaults(policy.Document{}, defaultsWith(t, `{"user":{"wave":{}}}`))
	equal(t, "/scopes/user/wave unknown", strings.Join(pointers(err), " "))
}

// pointers are those of an error's faults, each with its code.
func pointers(err error) (all []string) {
	if fault, ok := err.(*policy.Error); ok { //nolint:errorlint // ours are never wrapped
		for _, f := range fault.Fields {
			all = append(all, f.Pointer+" "+f.Code)
		}
	}
	return all
}

// TestScopesObeyTheWindowsBounds: but for how many may pass, and what groups may not switch off.
func TestScopesObeyTheWindowsBounds(t *testing.T) {
	t.Parallel()
	b := policy.ShippedBounds() // message: 3–50 per 5–300 s, intervals of 1–10 s
	message := b.Actions["message"]
	message.Algorithms, message.MayDisable = []policy.Algorithm{policy.SlidingWindow}, nil
	b.Actions["message"] = message
	s := systemOf(t, b, defaultsWith(t, `{
		"user":{"message":`+strings.NewReplacer("20", "500", "60000", "400000").Replace(twenty)+`},
		"peer":{"message":{"min_interval_ms":20000,"window":{"algorithm":"token_bucket","capacity":20,"refill_ms":2000},"mode":"soft"}},
		"ip":{"login":{"min_interval_ms":100,"ban":{"until":"end_of_day"}}}}`))
	equal(t, []policy.Clamp{
		{Path: "/scopes/user/message/window/period_ms", Requested: int64(400_000), Effective: int64(300_000), Bound: "max", Limit: int64(300_000)},
		{Path: "/scopes/peer/message/mode", Requested: "soft", Effective: "hard", Bound: "forbidden"},
		{Path: "/scopes/peer/message/min_interval_ms", Requested: int64(20_000), Effective: int64(10_000), Bound: "max", Limit: int64(10_000)},
		{Path: "/scopes/peer/message/window/algorithm", Requested: "token_bucket", Effective: "sliding_window", Bound: "forbidden"},
	}, s.DefaultsClamped)
	user, _ := s.Scoped(policy.ScopeUser, "message")
	equal(t, policy.Action{
		Enabled: true, Mode: policy.Hard, OnFailure: policy.Allow,
		Window: &policy.Window{Algorithm: policy.SlidingWindow, Limit: 500, PeriodMS: 300_000},
	}, user)
	peer, _ := s.Scoped(policy.ScopePeer, "message")
	equal(t, &policy.Window{Algorithm: policy.SlidingWindow, Limit: 20, PeriodMS: 40_000}, peer.Window)
	c, limited := s.CompileScope(policy.ScopeIP, "login")
	equal(t, true, limited)
	equal(t, policy.Compiled{
		Action: "login", Order: s.Order(0), Enabled: true, Mode: policy.Hard, MinIntervalMS: 100, BanToEndOfDay: true,
		OnFailure: policy.Refuse, ExemptRoles: []string{policy.NoRole}, TimeZone: "UTC",
	}, c)
	_, limited = s.CompileScope(policy.ScopeIP, "message")
	equal(t, false, limited)
}

func TestScopesOfSpeechTakeNoStrikes(t *testing.T) {
	t.Parallel()
	s := systemOf(t, policy.ShippedBounds(), defaultsWith(t, `{"user":{"message":`+twenty+`}}`))
	c, _ := s.CompileScope(policy.ScopeUser, "message")
	if c.Speech || c.Ladder != nil {
		t.Errorf("%+v", c)
	}
	equal(t, s.CompileDefault("message").Order, c.Order)
}

func TestCompareDefaultsLooksIntoScopes(t *testing.T) {
	t.Parallel()
	none, off := `{}`, `{"user":{"message":{"enabled":false}}}`
	some, more := `{"user":{"message":`+twenty+`}}`, `{"user":{"message":`+strings.ReplaceAll(twenty, "20", "30")+`}}`
	for _, test := range []struct{ before, after, looser, tighter string }{
		{none, none, "", ""},
		{none, off, "", ""},
		{none, some, "", "/scopes/user/message"},
		{some, none, "/scopes/user/message", ""},
		{some, more, "/scopes/user/message/window", ""},
		{more, some, "", "/scopes/user/message/window"},
		{some, off, "/scopes/user/message/enabled", ""},
	} {
		before := systemOf(t, policy.ShippedBounds(), defaultsWith(t, test.before))
		after := systemOf(t, policy.ShippedBounds(), defaultsWith(t, test.after))
		way := policy.CompareDefaults(before, after)
		equal(t, test.looser+"|"+test.tighter, strings.Join(way.Looser, " ")+"|"+strings.Join(way.Tighter, " "))
	}
}

func TestImpactTellsOfScopes(t *testing.T) {
	t.Parallel()
	before := systemOf(t, policy.ShippedBounds(), defaultsWith(t, `{"user":{"message":{"min_interval_ms":2000}}}`))
	after := systemOf(t, policy.ShippedBounds(), defaultsWith(t, `{"user":{"message":{"min_interval_ms":20000}}}`))
	equal(t, []policy.ImpactChange{{
		Path: "/scopes/user/message/min_interval_ms", Requested: []byte("20000"), Before: []byte("2000"), After: []byte("10000"),
		Bound: "max", Limit: int64(10_000),
	}}, policy.NewImpact(before, after, 0).Scopes)
}

func TestDiffWordsOfScopes(t *testing.T) {
	t.Parallel()
	const before = `{"scopes":{"ip":{"login":{"min_interval_ms":1000}}}}`
	const after = `{"scopes":{"user":{"message":` + twenty + `},"ip":{"login":{"min_interval_ms":2000}}}}`
	equal(t, "Messages of one member in all groups, most in one window: 20 in 1 min\n"+
		"Sign-ins from one address, shortest gap: 1 s → 2 s", sentences(t, before, after, policy.English))
	equal(t, "消息（同一成员，所有群组合计），窗口内上限：1 分钟内 20 次\n登录（同一 IP 地址合计），最短间隔：1 秒 → 2 秒",
		sentences(t, before, after, policy.Chinese))
	equal(t, "Messages between two members, most in one window: 20 in 1 min (removed)",
		sentences(t, `{"scopes":{"peer":{"message":`+twenty+`}}}`, `{}`, policy.English))
}

func TestConfigFilesStateScopes(t *testing.T) {
	t.Parallel()
	text := `{"defaults":{"scopes":{"user":{"message":` + twenty + `}}}}`
	c, err := policy.ParseConfig([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, text, string(c.JSON()))
	_, err = policy.ParseConfig([]byte(`{"groups":{"g1":{"policy":{"scopes":{}}}}}`), nil)
	equal(t, "/groups/g1/policy/scopes unknown", strings.Join(pointers(err), " "))
}

func TestSubjects(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64",
		"2001:DB8:1:2::": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64", "::1": "::/64",
		"": "required", "192.0.2.1:80": "format", "192.0.2.01": "format", "example.org": "format", "192.0.2.0/24": "format",
	} {
		id, err := policy.IPSubject("/subjects/ip", text)
		if err != nil {
			id = strings.TrimPrefix(strings.Join(pointers(err), " "), "/subjects/ip ")
		} else if err := policy.CheckID("", id); err != nil {
			t.Errorf("%s is no id: %v", id, err)
		}
		equal(t, want, id)
	}
	equal(t, "a|b", policy.PeerSubject("b", "a"))
	equal(t, policy.PeerSubject("a", "ab"), policy.PeerSubject("ab", "a"))
	if policy.PeerSubject("a", "bc") == policy.PeerSubject("ab", "c") {
		t.Error("two pairs have one id")
	}
}
