package policy_test

import (
	"testing"

	"github.com/pacekeeper/pacekeeper/policy"
)

// The first part is the table of RFC 7396, appendix A, but for targets and results of other order.
func TestMergePatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ target, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},

		{``, `{"a":{"b":1,"c":null}}`, `{"a":{"b":1}}`},
		{`{"a":1}`, `{}`, `{"a":1}`},
		{`{"a":{"x":1},"b":2}`, `{"a":{"y":2},"c":3}`, `{"a":{"x":1,"y":2},"b":2,"c":3}`},
		{`{"a":1}`, `{"\u0061":2}`, `{"a":2}`},
		{`{"a":1}`, `{"a":1.50,"b":"\u00e9"}`, `{"a":1.50,"b":"\u00e9"}`},
		{`{"a":0,"b":false,"c":"","d":[]}`, `{"a":null}`, `{"b":false,"c":"","d":[]}`},
	} {
		got, err := policy.MergePatch([]byte(c.target), []byte(c.patch))
		if err != nil {
			t.Errorf("%s with %s: %v", c.target, c.patch, err)
		}
		equal(t, c.want, string(got))
	}
}

func TestMergePatchOfWhatIsNoJSON(t *testing.T) {
	t.Parallel()
	_, err := policy.MergePatch([]byte(`{}`), []byte(`{"a":1,"a":2}`))
	equal(t, []string{"/a duplicate"}, faultsOf(t, err, policy.CodeMalformed))
}

func TestPatchedNullFollowsTheDefaultsAgain(t *testing.T) {
	t.Parallel()
	before := parsed(t, `{"actions":{"message":{"min_interval_ms":null,"enabled":false}}}`).JSON()
	after, err := policy.MergePatch(before, []byte(`{"actions":{"message":{"min_interval_ms":null}}}`))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, `{"actions":{"message":{"enabled":false}}}`, string(parsed(t, string(after)).JSON()))
}
