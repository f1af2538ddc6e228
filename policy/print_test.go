package policy_test

import (
	"testing"

	"github.com/pacekeeper/pacekeeper/policy"
)

func TestC35_ZeroFalseAndEmptyAreReadBack(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`,
		`{"actions":{"message":{}}}`,
		`{"actions":{"message":{"enabled":false}}}`,
		`{"actions":{"message":{"min_interval_ms":null,"window":null,"ban":null,"group":null}}}`,
		`{"actions":{"like":{"window":{"algorithm":"sliding_window","limit":1,"period_ms":1,"count_refused":false}}}}`,
		`{"exempt_roles":[]}`,
		`{"penalties":{"ladder":[]}}`,
		`{"notices":{"en":{"too_soon":"","too_many":""},"zh":{"too_soon":""}}}`,
		`{"notices":{"en":{"too_soon":"\"\\é🐈<&>"}}}`,
	} {
		equal(t, text, string(parsed(t, text).JSON()))
	}
}

func TestCanonicalOrderDoesNotHangOnTheInput(t *testing.T) {
	t.Parallel()
	want := `{"time_zone":"UTC","actions":{"comment":{},"message":{"enabled":true,"mode":"soft"}},"exempt_roles":["vip","bot"],` +
		`"penalties":{"ladder":[{"after":2,"do":"remove"}],"forgive_one_every_ms":5},"notices":{"en":{"too_soon":"a","too_many":"b"},"zh":{"too_soon":"c"}}}`
	got := parsed(t, ` {"notices":{"zh":{"too_soon":"c"},"en":{"too_many":"b","too_soon":"a"}},"penalties":{"forgive_one_every_ms":5.0,
		"ladder":[{"do":"remove","after":2}]},"exempt_roles":["vip","bot"],"actions":{"message":{"mode":"soft","enabled":true},"comment":{}},"time_zone":"UTC"}`)
	equal(t, want, string(got.JSON()))
}

func TestWhatStatesNothingIsDropped(t *testing.T) {
	t.Parallel()
	equal(t, policy.Document{}, parsed(t, `{"actions":{},"penalties":{},"notices":{"en":{},"zh":{}}}`))
}

// FuzzParseDocument: never a panic; an error is malformed or invalid, with fields; what is accepted comes back as the
// same document, and can be resolved, compiled and said in words.
func FuzzParseDocument(f *testing.F) {
	for _, text := range []string{
		typicalDocument, `{}`, `{"actions":{"message":{"min_interval_ms":1e9,"group":null}}}`, `{"actions":{"like":{"min_interval_ms":NaN}}}`,
		`{"penalties":{"ladder":[{"after":3,"do":"mute","for_ms":1},{"after":2,"do":"x"}]}}`, `{"exempt_roles":["a","\u0061"]}`,
		`{"notices":{"en":{"too_soon":"{wait"}}}`, `{"time_zone":"\ud83d\udc08"}`, `{"a~b/c":[[{}]]}`,
	} {
		f.Add([]byte(text))
	}
	s := shippedSystem(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := policy.ParseDocument(data)
		if err != nil {
			code := policy.CodeInvalid
			if policy.CheckJSON(data) != nil && len(err.(*policy.Error).Fields) == 0 { //nolint:errorlint // it always is one
				code = policy.CodeMalformed
			}
			if got := err.(*policy.Error).Code; got != code && got != policy.CodeMalformed { //nolint:errorlint // see above
				t.Fatalf("%q: %v", data, err)
			}
			return
		}
		again, err := policy.ParseDocument(d.JSON())
		if err != nil {
			t.Fatalf("%q prints as %q: %v", data, d.JSON(), err)
		}
		equal(t, d, again)
		e, _ := s.Resolve(d)
		policy.Summary(e, "message", "zh")
		s.Compile(e, "message", 1, 1)
		if err := s.Validate(e.Document()); err != nil && s.Validate(d) == nil {
			t.Fatalf("%q: effective is not valid: %v", data, err)
		}
	})
}
