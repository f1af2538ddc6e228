package policy_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pacekeeper/pacekeeper/policy"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	b := policy.ShippedBounds()
	b.Roles = []string{"host"}
	s := systemOf(t, b, policy.ShippedDefaults())
	if err := s.Validate(parsed(t, `{"time_zone":"Asia/Shanghai","exempt_roles":["host","member","vip"],"actions":{"coupon":{}}}`)); err != nil {
		t.Error(err)
	}
	err := s.Validate(parsed(t, `{"time_zone":"Mars/Olympus","exempt_roles":["admin","chef"],"actions":{"shout":{},"like":{}}}`))
	equal(t, []string{"/actions/shout unknown", "/exempt_roles/1 unknown", "/time_zone unknown"}, faultsOf(t, err, policy.CodeInvalid))
	for _, zone := range []string{"../etc/passwd", "/etc/localtime", "local", "utc+8", "Asia/Shanghai\n", "Local", "localtime", "posixrules", "posix/UTC", "right/Asia/Shanghai"} {
		err = s.Validate(policy.Document{TimeZone: policy.State(zone)})
		equal(t, []string{"/time_zone unknown"}, faultsOf(t, err, policy.CodeInvalid))
	}
	made := policy.Document{Actions: map[string]policy.ActionDocument{"like": {MinIntervalMS: policy.State[int64](-1)}}}
	equal(t, []string{"/actions/like/min_interval_ms range"}, faultsOf(t, s.Validate(made), policy.CodeInvalid))
}

// TestRemovedRoleIsHeldBackUntilItReturns: operators remove a role that documents state. It exempts nobody, says so, does
// not stand in the way of other saves, and counts again when it is back.
func TestRemovedRoleIsHeldBackUntilItReturns(t *testing.T) {
	t.Parallel()
	with := policy.ShippedBounds()
	with.Roles = []string{"host"}
	d := parsed(t, `{"exempt_roles":["admin","host"]}`)
	before := systemOf(t, with, policy.ShippedDefaults())
	without := systemOf(t, policy.ShippedBounds(), policy.ShippedDefaults())
	e, clamps := without.Resolve(d)
	equal(t, []string{"admin", "owner"}, e.ExemptRoles)
	equal(t, []policy.Clamp{{Path: "/exempt_roles/1", Requested: "host", Bound: policy.BoundForbidden}}, clamps)
	changed := parsed(t, `{"exempt_roles":["admin","host"],"actions":{"message":{"min_interval_ms":3000}}}`)
	if err := without.ValidateChange(d, changed); err != nil {
		t.Errorf("a save of something else: %v", err)
	}
	equal(t, []string{"/exempt_roles/1 unknown"}, faultsOf(t, without.ValidateChange(policy.Document{}, d), policy.CodeInvalid))
	if e, clamps = before.Resolve(d); len(clamps) > 0 {
		t.Errorf("the role is back, yet %v", clamps)
	}
	equal(t, []string{"admin", "host", "owner"}, e.ExemptRoles)
}

func TestValidateBounds(t *testing.T) {
	t.Parallel()
	b := policy.ShippedBounds()
	s := systemOf(t, b, policy.ShippedDefaults())
	if err := s.ValidateBounds(b); err != nil {
		t.Error(err)
	}
	b.Actions = map[string]policy.ActionBounds{"*": {}, "like": {}, "shout": {}, "dance": {}}
	equal(t, []string{"/actions/dance unknown", "/actions/shout unknown"}, faultsOf(t, s.ValidateBounds(b), policy.CodeInvalid))
}

func TestGroupAdminsLeaveOperatorActionsAlone(t *testing.T) {
	t.Parallel()
	s := shippedSystem(t)
	before := parsed(t, `{"actions":{"sms":{"min_interval_ms":5000,"mode":"soft"},"like":{}}}`)
	for text, faults := range map[string][]string{
		`{}`: nil,
		`{"actions":{"like":{"enabled":false},"sms":{}}}`:                                 nil,
		`{"actions":{"sms":{"mode":"soft"}}}`:                                             nil,
		`{"actions":{"sms":{"min_interval_ms":5000,"mode":"soft"}}}`:                      nil,
		`{"actions":{"sms":{"min_interval_ms":5001,"mode":"hard"}}}`:                      {"/actions/sms/min_interval_ms forbidden", "/actions/sms/mode forbidden"},
		`{"actions":{"sms":{"min_interval_ms":null}}}`:                                    {"/actions/sms/min_interval_ms forbidden"},
		`{"actions":{"login":{"ban":{"for_ms":1},"on_failure":"allow","enabled":false}}}`: {"/actions/login/ban forbidden", "/actions/login/enabled forbidden", "/actions/login/on_failure forbidden"},
	} {
		err := s.OperatorOnly(before, parsed(t, text))
		switch {
		case faults == nil && err != nil:
			t.Errorf("%s: %v", text, err)
		case faults != nil:
			equal(t, faults, faultsOf(t, err, policy.CodeForbidden))
		}
	}
	kept := s.KeepOperatorActions(before, parsed(t, `{"actions":{"comment":{},"login":{"mode":"soft"}},"exempt_roles":[]}`))
	equal(t, `{"actions":{"comment":{},"sms":{"mode":"soft","min_interval_ms":5000}},"exempt_roles":[]}`, string(kept.JSON()))
	equal(t, `{}`, string(s.KeepOperatorActions(policy.Document{}, parsed(t, `{"actions":{"sms":{}}}`)).JSON()))
}

func TestPublished(t *testing.T) {
	t.Parallel()
	s := shippedSystem(t)
	all := []string{"comment", "coupon", "like", "login", "message", "sms", "upload"}
	for text, want := range map[string][]string{
		`{}`:                                  nil,
		`{"notices":{"en":{"too_soon":"x"}}}`: nil,
		`{"time_zone":"UTC"}`:                 all,
		`{"actions":{"message":{},"like":{"mode":"hard"},"nosuch":{}}}`:      {"like", "message"},
		`{"penalties":{"ladder":[]}}`:                                        {"comment", "message"},
		`{"actions":{"sms":{}},"penalties":{"forgive_one_every_ms":600000}}`: {"comment", "message", "sms"},
		`{"exempt_roles":["owner"]}`:                                         all,
	} {
		equal(t, want, s.Published(parsed(t, text)))
	}
}

// TestPropertyWhatBindsIsPublished: an action whose compiled form differs from the defaults' is published, whatever the
// bounds and defaults are.
func TestPropertyWhatBindsIsPublished(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := system(t, genBounds().Draw(t, "bounds"), genDocument().Draw(t, "defaults"))
		d := genDocument().Draw(t, "document")
		e, _ := s.Resolve(d)
		published := map[string]bool{}
		for _, name := range s.Published(d) {
			published[name] = true
		}
		for _, name := range s.ActionNames() {
			own, standard := s.Compile(e, name, 0, s.Order(0)), s.CompileDefault(name)
			if !published[name] && !sameCompiled(own, standard) {
				t.Fatalf("%s differs from the defaults and is not published: %+v, %+v", name, own, standard)
			}
		}
	})
}

func TestCompile(t *testing.T) {
	t.Parallel()
	s, err := policy.NewSystem(policy.SystemConfig{
		Generation: 3, BoundsVersion: 5, DefaultsVersion: 7, Bounds: policy.ShippedBounds(), Actions: policy.ShippedActions(),
	})
	if err != nil {
		t.Fatal(err)
	}
	e, _ := s.Resolve(parsed(t, message(`"min_interval_ms":1,"window":null,"ban":{"for_ms":60000},"mode":"soft","on_failure":"refuse"`)))
	equal(t, policy.Compiled{
		Action: "message", Version: 4, Order: 3<<40 + 16, Enabled: true, Speech: true, Mode: policy.Soft, MinIntervalMS: 1000,
		BanForMS: 60_000, OnFailure: policy.Refuse, ExemptRoles: []string{"admin", "bot", "owner"}, ForgiveOneEveryMS: 600_000,
		Ladder: policy.FactoryPolicy("message").Ladder,
	}, s.Compile(e, "message", 4, s.Order(4)))
	equal(t, policy.Compiled{
		Action: "like", Order: 3<<40 + 12, Enabled: true, Mode: policy.Hard, Algorithm: policy.SlidingWindow, Limit: 10, PeriodMS: 10_000, BanForMS: 3_600_000,
		OnFailure: policy.Allow, ExemptRoles: []string{"admin", "bot", "owner"},
	}, s.CompileDefault("like"))
}

func TestUnregisteredActionHasTheFactorysPolicy(t *testing.T) {
	t.Parallel()
	s := shippedSystem(t)
	want := policy.FactoryPolicy("shout")
	want.Order = s.Order(0)
	equal(t, want, s.CompileDefault("shout"))
	equal(t, []int64{2_000, 8, 30_000, 600_000}, []int64{want.MinIntervalMS, want.Limit, want.PeriodMS, want.ForgiveOneEveryMS})
	equal(t, policy.Refuse, policy.FactoryPolicy("sms").OnFailure)
}

func TestFactoryIsTheShippedDefaultForMessages(t *testing.T) {
	t.Parallel()
	want := shippedSystem(t).CompileDefault("message")
	want.Order = 0
	equal(t, want, policy.FactoryPolicy("message"))
}

func TestEffectiveJSONIsComplete(t *testing.T) {
	t.Parallel()
	s, err := policy.NewSystem(policy.SystemConfig{
		Generation: 1, Bounds: policy.ShippedBounds(), Actions: []policy.ActionSpec{{Name: "message", Speech: true}, {Name: "like"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	e, _ := s.Resolve(parsed(t, message(`"window":null`)))
	equal(t, `{"time_zone":"UTC","actions":{"like":{"enabled":true,"mode":"hard","min_interval_ms":null,"window":{"algorithm":"sliding_window",`+
		`"limit":10,"period_ms":10000,"count_refused":false},"ban":{"for_ms":3600000},"on_failure":"allow","group":null},"message":{"enabled":true,`+
		`"mode":"hard","min_interval_ms":2000,"window":null,"ban":null,"on_failure":"allow","group":null}},"exempt_roles":["admin","bot","owner"],`+
		`"penalties":{"ladder":[{"after":3,"do":"mute","for_ms":60000},{"after":4,"do":"mute","for_ms":300000},{"after":5,"do":"mute",`+
		`"for_ms":3600000},{"after":6,"do":"review"}],"forgive_one_every_ms":600000}}`, string(e.JSON()))
}
