package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pacekeeper/pacekeeper/policy"
)

// told is a Change as a test reads it; "-" stands for absent.
func told(changes []policy.Change) (lines []string) {
	text := func(value []byte) string {
		if value == nil {
			return "-"
		}
		return string(value)
	}
	for _, c := range changes {
		lines = append(lines, c.Path+" "+text(c.Before)+" → "+text(c.After))
	}
	return lines
}

func TestDiffJSON(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, before, after string
		want                []string
	}{
		{"nothing at all", ``, ``, nil},
		{"equal", `{"a":1,"b":[1]}`, `{"b":[1],"a":1.0}`, nil},
		{"a number", `{"a":{"b":1}}`, `{"a":{"b":2}}`, []string{"/a/b 1 → 2"}},
		{"null is not absent", `{"a":null}`, `{}`, []string{"/a null → -"}},
		{"stated", `{}`, `{"a":null}`, []string{"/a - → null"}},
		{
			"an action is told by its settings", `{}`, `{"actions":{"like":{"mode":"soft","ban":{"for_ms":5}}}}`,
			[]string{`/actions/like/mode - → "soft"`, `/actions/like/ban - → {"for_ms":5}`},
		},
		{"an empty object is one thing", `{}`, `{"actions":{"like":{}}}`, []string{`/actions/like - → {}`}},
		{
			"a window both have is looked into", `{"window":{"limit":8,"period_ms":1}}`, `{"window":{"limit":9,"period_ms":1}}`,
			[]string{"/window/limit 8 → 9"},
		},
		{"a window that goes is one thing", `{"window":{"limit":8}}`, `{"window":null}`, []string{`/window {"limit":8} → null`}},
		{"a list is one thing", `{"r":["a","b"]}`, `{"r":["a"]}`, []string{`/r ["a","b"] → ["a"]`}},
		{
			"in the order of the texts", `{"b":1,"d":1,"e":1}`, `{"a":1,"b":2,"c":1,"d":2,"f":1}`,
			[]string{"/a - → 1", "/b 1 → 2", "/c - → 1", "/d 1 → 2", "/f - → 1", "/e 1 → -"},
		},
		{"in another order", `{"a":1,"b":1}`, `{"b":2,"x":1,"a":2}`, []string{"/a 1 → 2", "/b 1 → 2", "/x - → 1"}},
		{"pointers are escaped", `{"a/b":1}`, `{"a/b":2}`, []string{"/a~1b 1 → 2"}},
		{"texts by what they spell", `{"a":"\u0041"}`, `{"a":"A"}`, nil},
		{"created", ``, `{"name":"x"}`, []string{`/name - → "x"`}},
		{"of another kind", `{"a":{"b":1}}`, `{"a":3}`, []string{`/a {"b":1} → 3`}},
		{"a whole text", `1`, `2`, []string{" 1 → 2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got, err := policy.DiffJSON([]byte(test.before), []byte(test.after))
			if diff := cmp.Diff(test.want, told(got)); err != nil || diff != "" {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
	if _, err := policy.DiffJSON([]byte(`{}`), []byte(`{`)); err == nil {
		t.Error("a broken text has a diff")
	}
}

// A diff is empty exactly where the documents are equal, and turned round it says the same backwards.
func TestDiffOfDocuments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := genDocument().Draw(t, "a"), genDocument().Draw(t, "b")
		there, back := policy.Diff(a, b), policy.Diff(b, a)
		if (len(there) == 0) != (string(a.JSON()) == string(b.JSON())) || len(policy.Diff(a, a)) != 0 {
			t.Fatalf("%q\n%s\n%s", told(there), a.JSON(), b.JSON())
		}
		turned := make(map[string]policy.Change, len(back))
		for _, c := range back {
			turned[c.Path] = policy.Change{Path: c.Path, Before: c.After, After: c.Before}
		}
		for _, c := range there {
			if diff := cmp.Diff(c, turned[c.Path]); diff != "" || len(there) != len(back) {
				t.Fatal(diff)
			}
		}
	})
}
