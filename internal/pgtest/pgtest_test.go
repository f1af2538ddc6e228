package pgtest_test

import (
	"testing"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
)

func TestEachIsMigrated(t *testing.T) {
	t.Parallel()
	pgtest.Each(t, func(t *testing.T, url string) {
		t.Helper()
		s := pgtest.Open(t, url)
		if current, err := s.MigrationsCurrent(t.Context()); err != nil || !current {
			t.Fatalf("current = %v, %v", current, err)
		}
	})
}

func TestServerSurvivesKill(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{TCP: true, Fsync: true})
	s := pgtest.Open(t, server.Database(t))
	server.Kill(t)
	if err := s.Ready(t.Context()); err == nil {
		t.Fatal("a killed server answers")
	}
	server.Restart(t)
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
}
