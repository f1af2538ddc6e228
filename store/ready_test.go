package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/policy"
)

// TestReady_NamesWhatIsWrong: the schema first, on both dialects.
func TestReady_NamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		db := pgtest.SQL(t, b.url)
		for _, change := range []string{
			"INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)",
			"DELETE FROM goose_db_version WHERE version_id IN (1, 99999)",
		} {
			if _, err := db.ExecContext(t.Context(), change); err != nil {
				t.Fatal(err)
			}
			err := s.Ready(t.Context())
			wantCode(t, err, policy.CodeUnavailable)
			if !strings.Contains(err.Error(), "schema") {
				t.Errorf("%s: %v", change, err)
			}
		}
	})
}

// TestC51_ReadyTellsThatPostgresTurnedReadOnly: at runtime, for connections that were open before, and back again.
func TestC51_ReadyTellsThatPostgresTurnedReadOnly(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	url := server.Database(t)
	s, db := pgtest.Open(t, url), pgtest.SQL(t, url)
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	turn := func(to string) {
		t.Helper()
		for _, statement := range []string{"ALTER SYSTEM SET default_transaction_read_only = " + to, "SELECT pg_reload_conf()"} {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
	}
	turn("on")
	becomes(t, "it is not ready", func() bool {
		err := s.Ready(t.Context())
		return codeOf(err) == policy.CodeUnavailable && strings.Contains(err.Error(), "read-only")
	})
	turn("off")
	becomes(t, "it is ready again", func() bool { return s.Ready(t.Context()) == nil })
}

// becomes polls until a condition holds.
func becomes(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			t.Fatalf("not in ten seconds: %s", what)
		}
	}
}
