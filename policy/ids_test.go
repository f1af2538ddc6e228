package policy_test

import (
	"strings"
	"testing"

	"github.com/pacekeeper/pacekeeper/policy"
)

func TestC15_IdsThatPlatformsUse(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"!a/b🐈:example.org", "-1002471352452", "!a:b", "user*", "007", "A", "9007199254740993", "群组", "a%2Fb", `"'<>&`,
		strings.Repeat("x", 128), "...", "a~", "Å",
	} {
		if err := policy.CheckID("", id); err != nil {
			t.Errorf("%q is refused: %v", id, err)
		}
	}
}

func TestC40_IdsThatAreRefused(t *testing.T) {
	t.Parallel()
	for id, code := range map[string]string{
		"":                              "required",
		strings.Repeat("x", 129):        "range",
		"a b":                           "format",
		"a\x00":                         "format",
		"a\nb":                          "format",
		"\x7f":                          "format",
		"a\u200bb":                      "format", // zero width space
		"a\u202eb":                      "format", // bidirectional override
		"a\u00a0b":                      "format", // no-break space
		"a\u3000b":                      "format", // ideographic space
		"\xff":                          "format",
		"\xed\xa0\x80":                  "format", // a surrogate in UTF-8
		"{a}":                           "format",
		"a|b":                           "format",
		".":                             "format",
		"..":                            "format",
		"~user":                         "format",
		strings.Repeat("\u0301", 5_000): "range", // a flood of combining marks
	} {
		err := policy.CheckID("/group_id", id)
		equal(t, []string{"/group_id " + code}, faultsOf(t, err, policy.CodeInvalid))
	}
}

func TestActionNames(t *testing.T) {
	t.Parallel()
	for name, valid := range map[string]bool{
		"message": true, "a": true, "x-1_y": true, strings.Repeat("a", 32): true,
		"": false, "Message": false, "1a": false, "_a": false, "a.b": false, "a b": false, "é": false, "*": false,
		strings.Repeat("a", 33): false,
	} {
		if got := policy.ValidActionName(name); got != valid {
			t.Errorf("%q: %v, want %v", name, got, valid)
		}
	}
}
