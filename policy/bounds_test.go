package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/pacekeeper/pacekeeper/policy"
)

func TestShippedBoundsAreReadBack(t *testing.T) {
	t.Parallel()
	shipped := policy.ShippedBounds()
	text := shipped.JSON([]string{"message", "shout"})
	got, err := policy.ParseBounds(text)
	if err != nil {
		t.Fatal(err)
	}
	shipped.Actions["shout"] = shipped.Actions["*"] // every registered action is listed in full
	if diff := cmp.Diff(shipped, got, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	equal(t, string(text), string(got.JSON(nil)))
}

func TestPropertyBoundsAreReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := genBounds().Draw(t, "bounds")
		got, err := policy.ParseBounds(b.JSON(nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestShippedBoundsHoldTheReferenceScenes(t *testing.T) {
	t.Parallel()
	for text := range strings.SplitSeq(`{"actions":{"comment":{"window":{"algorithm":"sliding_window","limit":10,"period_ms":30000}}}}
{"actions":{"like":{"window":{"algorithm":"sliding_window","limit":10,"period_ms":10000},"ban":{"for_ms":3600000}}}}
{"actions":{"upload":{"window":{"algorithm":"sliding_window","limit":100,"period_ms":86400000},"ban":{"for_ms":86400000}}}}
{"actions":{"upload":{"window":{"algorithm":"fixed_window","limit":100,"period_ms":86400000,"align":"calendar"},"ban":{"until":"end_of_day"}}}}
{"actions":{"sms":{"window":{"algorithm":"sliding_window","limit":3,"period_ms":300000}}}}
{"actions":{"login":{"window":{"algorithm":"sliding_window","limit":5,"period_ms":600000}}}}
{"actions":{"coupon":{"window":{"algorithm":"sliding_window","limit":2,"period_ms":60000}}}}`, "\n") {
		_, clamps := shippedSystem(t).Resolve(parsed(t, text))
		equal(t, []policy.Clamp(nil), clamps)
	}
}

func TestParseBoundsFaults(t *testing.T) {
	t.Parallel()
	shipped := string(policy.ShippedBounds().JSON(nil))
	for name, c := range map[string]struct {
		old, new string
		faults   []string
	}{
		"not an object":        {shipped, `[]`, []string{" type"}},
		"nothing":              {shipped, `{}`, []string{"/actions required", "/exemptions_max required", "/forgive_one_every_ms required", "/ladder_steps_max required", "/mute_ms required", "/roles required"}},
		"a version":            {`{"actions":{"*"`, `{"version":3,"actions":{"*"`, []string{"/version unknown"}},
		"no *":                 {`"*":`, `"any":`, []string{"/actions/* required"}},
		"action name":          {`"login":`, `"Login":`, []string{"/actions/Login format"}},
		"backwards":            {`"mute_ms":{"min":10000,`, `"mute_ms":{"min":604800001,`, []string{"/mute_ms order"}},
		"zero":                 {`"mute_ms":{"min":10000,`, `"mute_ms":{"min":0,`, []string{"/mute_ms/min range"}},
		"above what is packed": {`"ladder_steps_max":6`, `"ladder_steps_max":7`, []string{"/ladder_steps_max range"}},
		"text":                 {`"ladder_steps_max":6`, `"ladder_steps_max":"6"`, []string{"/ladder_steps_max type"}},
		"fraction":             {`"exemptions_max":10000`, `"exemptions_max":1.5`, []string{"/exemptions_max type"}},
		"no min":               {`"mute_ms":{"min":10000,`, `"mute_ms":{`, []string{"/mute_ms/min required"}},
		"a third":              {`"mute_ms":{"min":10000,`, `"mute_ms":{"min":10000,"usual":1,`, []string{"/mute_ms/usual unknown"}},
		"null":                 {`"roles":[]`, `"roles":null`, []string{"/roles type"}},
		"known role":           {`"roles":[]`, `"roles":["host","vip","host","X",1]`, []string{"/roles/1 duplicate", "/roles/2 duplicate", "/roles/3 format", "/roles/4 format"}},
		"28 roles":             {`"roles":[]`, `"roles":["a"` + strings.Repeat(`,"b"`, 27) + `]`, []string{"/roles range"}},
		"limit above 10,000":   {`"window_limit":{"min":3,"max":50}`, `"window_limit":{"min":3,"max":10001}`, []string{"/actions/comment/window_limit/max range", "/actions/message/window_limit/max range"}},
		"no limit":             {`"login":{"min_interval_ms":{"min":1,"max":86400000},`, `"login":{`, []string{"/actions/login/min_interval_ms required"}},
		"unknown range":        {`"login":{`, `"login":{"window":{},`, []string{"/actions/login/window unknown"}},
		"buckets":              {`"buckets":{"min":2,"max":60},"ban_ms":{"min":1000,`, `"buckets":{"min":1,"max":1001},"ban_ms":{"min":1000,`, []string{"/actions/coupon/buckets/max range", "/actions/login/buckets/max range", "/actions/sms/buckets/max range"}},
		"edited_by":            {`"edited_by":"group"},"coupon"`, `"edited_by":"nobody"},"coupon"`, []string{"/actions/comment/edited_by unknown"}},
		"switches":             {`"may_disable":["interval","window","soft"],"edited_by":"group"},"coupon"`, `"may_disable":["soft","ban","soft",1],"edited_by":"group"},"coupon"`, []string{"/actions/comment/may_disable/1 unknown", "/actions/comment/may_disable/2 duplicate", "/actions/comment/may_disable/3 unknown"}},
		"no algorithms":        {`"algorithms":["sliding_window","fixed_window","sliding_counter","token_bucket","leaky_bucket"],"may_disable":["interval","window","soft"],"edited_by":"group"},"coupon"`, `"algorithms":[],"may_disable":["interval","window","soft"],"edited_by":"group"},"coupon"`, []string{"/actions/comment/algorithms range"}},
		"algorithms":           {`"algorithms":["sliding_window",`, `"algorithms":["gcra",`, []string{"/actions/*/algorithms/0 unknown", "/actions/comment/algorithms/0 unknown", "/actions/coupon/algorithms/0 unknown", "/actions/like/algorithms/0 unknown", "/actions/login/algorithms/0 unknown", "/actions/message/algorithms/0 unknown", "/actions/sms/algorithms/0 unknown", "/actions/upload/algorithms/0 unknown"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.ReplaceAll(shipped, c.old, c.new)
			if text == shipped {
				t.Fatalf("%q is not in %s", c.old, shipped)
			}
			_, err := policy.ParseBounds([]byte(text))
			equal(t, c.faults, faultsOf(t, err, policy.CodeInvalid))
		})
	}
	_, err := policy.ParseBounds([]byte(`{"roles":[],"roles":[]}`))
	equal(t, []string{"/roles duplicate"}, faultsOf(t, err, policy.CodeMalformed))
}
