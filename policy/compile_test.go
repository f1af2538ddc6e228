package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestCompilerCompilesWhatResolveMakes holds the short way of the publisher against the one that reports.
func TestCompilerCompilesWhatResolveMakes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := system(t, genBounds().Draw(t, "bounds"), genDocument().Draw(t, "defaults"))
		d := genDocument().Draw(t, "document")
		e, _ := s.Resolve(d)
		c := s.Compiler(d)
		for _, action := range append(s.ActionNames(), "unheard_of") {
			if diff := cmp.Diff(s.Compile(e, action, 3, 9), c.Compile(action, 3, 9)); diff != "" {
				t.Fatalf("%s (- Resolve, + Compiler):\n%s", action, diff)
			}
		}
		if diff := cmp.Diff(e.Notices, c.Notices()); diff != "" {
			t.Fatal(diff)
		}
	})
}
