package policy_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/policy"
)

func shippedSystem(tb testing.TB) *policy.System {
	tb.Helper()
	return systemOf(tb, policy.ShippedBounds(), policy.ShippedDefaults())
}

func systemOf(tb testing.TB, b policy.Bounds, defaults policy.Document) *policy.System {
	tb.Helper()
	s, err := policy.NewSystem(policy.SystemConfig{
		Generation: 1, Bounds: b, Defaults: defaults, Actions: policy.ShippedActions(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func parsed(tb testing.TB, text string) policy.Document {
	tb.Helper()
	d, err := policy.ParseDocument([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// faultsOf are the pointers and codes that an error names, "pointer code", sorted.
func faultsOf(tb testing.TB, err error, want policy.Code) []string {
	tb.Helper()
	var e *policy.Error
	if !errors.As(err, &e) {
		tb.Fatalf("error is %v, want a policy.Error", err)
	}
	if e.Code != want {
		tb.Fatalf("code is %q, want %q: %v", e.Code, want, err)
	}
	faults := make([]string, 0, len(e.Fields))
	for _, f := range e.Fields {
		if f.Detail == "" {
			tb.Errorf("the fault at %q has no detail", f.Pointer)
		}
		faults = append(faults, f.Pointer+" "+f.Code)
	}
	slices.Sort(faults)
	return faults
}

func equal(tb testing.TB, want, got any) {
	tb.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("(-want +got)\n%s", diff)
	}
}
