package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// bed is what a test of both dialects stands on: a migrated database of its own.
type bed struct {
	t   *testing.T
	url string
}

// store opens a store on the database.
func (b bed) store(edits ...func(*store.Config)) *store.Store {
	b.t.Helper()
	return pgtest.Open(b.t, b.url, edits...)
}

// postgres says which of the two dialects it is.
func (b bed) postgres() bool { return !strings.HasPrefix(b.url, "sqlite:") }

// exec runs a statement behind the store's back, on Postgres.
func (b bed) exec(statement string) {
	b.t.Helper()
	if _, err := pgtest.SQL(b.t, b.url).ExecContext(b.t.Context(), statement); err != nil {
		b.t.Fatal(err)
	}
}

// each runs a test on both dialects, in parallel.
func each(t *testing.T, test func(b bed)) {
	t.Helper()
	pgtest.Each(t, func(t *testing.T, url string) {
		t.Helper()
		test(bed{t: t, url: url})
	})
}

func actor() store.Actor {
	return store.Actor{
		Name: "Mei", Role: store.RoleOperator, Channel: store.ChannelAPI, RequestID: "req-1", Address: "192.0.2.7",
		Reason: "quieter nights",
	}
}

func register(tb testing.TB, s *store.Store, ids ...string) {
	tb.Helper()
	for _, id := range ids {
		if _, _, err := s.PutGroup(tb.Context(), actor(), store.Anything(), id, "Group "+id, "en"); err != nil {
			tb.Fatal(err)
		}
	}
}

// parse reads a document that is known to be valid.
func parse(tb testing.TB, text string) policy.Document {
	tb.Helper()
	doc, err := policy.ParseDocument([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

// replace makes an Edit that ignores what stands.
func replace(doc policy.Document) store.Edit {
	return func(*policy.System, policy.Document) (policy.Document, error) { return doc, nil }
}

// save saves the document over whatever stands and returns the record.
func save(tb testing.TB, s *store.Store, id, text string) store.PolicyRecord {
	tb.Helper()
	r, _, err := s.UpdatePolicy(tb.Context(), actor(), id, store.Anything(), replace(parse(tb, text)))
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// interval is a document that states the message interval alone.
func interval(ms string) string { return `{"actions":{"message":{"min_interval_ms":` + ms + `}}}` }

func codeOf(err error) policy.Code {
	if e, ok := errors.AsType[*policy.Error](err); ok {
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
	return func(tb testing.TB) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

// auditActions lists the actions of all entries, oldest first.
func auditActions(tb testing.TB, s *store.Store) []string {
	tb.Helper()
	var out []string
	q := store.AuditQuery{Limit: 500}
	for {
		p, err := s.ListAudit(tb.Context(), q)
		if err != nil {
			tb.Fatal(err)
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

func outboxDepth(tb testing.TB, s *store.Store) int64 {
	tb.Helper()
	st, err := s.SyncStatus(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return st.OutboxDepth
}
