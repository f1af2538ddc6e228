package store_test

import (
	"errors"
	"testing"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// each runs a test on both dialects with a store of its own.
func each(t *testing.T, test func(t *testing.T, s *store.Store)) {
	t.Helper()
	pgtest.Each(t, func(t *testing.T, url string) {
		t.Helper()
		test(t, pgtest.Open(t, url))
	})
}

func actor() store.Actor {
	return store.Actor{
		Name: "Mei", Role: store.RoleOperator, Channel: store.ChannelAPI, RequestID: "req-1", Address: "192.0.2.7",
		Reason: "quieter nights",
	}
}

func register(t testing.TB, s *store.Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if _, _, err := s.PutGroup(t.Context(), actor(), store.Anything(), id, "Group "+id, "en"); err != nil {
			t.Fatal(err)
		}
	}
}

// parse reads a document that is known to be valid.
func parse(t testing.TB, text string) policy.Document {
	t.Helper()
	doc, err := policy.ParseDocument([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// replace makes an Edit that ignores what stands.
func replace(doc policy.Document) store.Edit {
	return func(*policy.System, policy.Document) (policy.Document, error) { return doc, nil }
}

// save saves the document over whatever stands and returns the record.
func save(t testing.TB, s *store.Store, id, text string) store.PolicyRecord {
	t.Helper()
	r, _, err := s.UpdatePolicy(t.Context(), actor(), id, store.Anything(), replace(parse(t, text)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// interval is a document that states the message interval alone.
func interval(ms string) string { return `{"actions":{"message":{"min_interval_ms":` + ms + `}}}` }

func codeOf(err error) policy.Code {
	var e *policy.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func wantCode(t *testing.T, err error, want policy.Code) {
	t.Helper()
	if got := codeOf(err); err == nil || got != want {
		t.Fatalf("error = %v (code %q), want code %q", err, got, want)
	}
}

// must(f())(t) is f's value; the test ends on its error.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// auditActions lists the actions of all entries, oldest first.
func auditActions(t testing.TB, s *store.Store) []string {
	t.Helper()
	var out []string
	q := store.AuditQuery{Limit: 500}
	for {
		p, err := s.ListAudit(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range p.Items {
			out = append([]string{e.Action}, out...)
		}
		if p.Next == "" {
			return out
		}
		q.Cursor = p.Next
	}
}

func outboxDepth(t testing.TB, s *store.Store) int64 {
	t.Helper()
	st, err := s.SyncStatus(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return st.OutboxDepth
}
