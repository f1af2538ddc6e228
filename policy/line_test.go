package policy_test

import (
	"testing"

	"github.com/pacekeeper/pacekeeper/policy"
)

func TestLinesShowAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	for _, fine := range []string{"", " ", "Mei's gateway", "茶馆 🐈\u200d⬛", "سلام", "שלום", "می\u200cخواهم", "a{b}|~", "\ufeffa"} {
		if err := policy.CheckLine("/name", fine); err != nil {
			t.Errorf("%q: %v", fine, err)
		}
	}
	for _, odd := range []string{
		"a\nb", "a\r", "\tb", "a\x00", "a\x1b[2J", "a\x7f", "a\u0085b", "a\u2028b", "a\u2029b", "\xff",
		"a\u202eb", "a\u202ab", "a\u2066b", "a\u2069", "\u200eb", "\u200fb", "\u061cb",
	} {
		err, ok := policy.CheckLine("/name", odd).(*policy.Error) //nolint:errorlint // it is made here
		if !ok || err.Code != policy.CodeInvalid || len(err.Fields) != 1 || err.Fields[0].Pointer != "/name" || err.Fields[0].Code != "format" {
			t.Errorf("%q: %+v", odd, err)
		}
	}
}
