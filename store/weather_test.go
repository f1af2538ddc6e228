package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// patience is what a caller waits at most while the database is away (issue 2: 503 within 2 s).
const patience = 2 * time.Second

// production is the timeout that runs in production.
func production(c *store.Config) { c.Timeout = 0 }

// calls are the kinds of calls: a read, a save, a transaction, an advisory lock.
func calls(s *store.Store) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"policy": func(ctx context.Context) error { _, err := s.Policy(ctx, "g1"); return err },
		"group": func(ctx context.Context) error {
			_, _, err := s.PutGroup(ctx, actor(), store.Anything(), "g1", "n", "")
			return err
		},
		"system":     func(ctx context.Context) error { _, err := s.System(ctx); return err },
		"claim":      func(ctx context.Context) error { _, err := s.ClaimOutbox(ctx, 1, time.Second); return err },
		"seal":       func(ctx context.Context) error { _, err := s.SealAudit(ctx); return err },
		"migrations": func(ctx context.Context) error { _, err := s.MigrationsCurrent(ctx); return err },
		"ready":      s.Ready,
		"session":    func(ctx context.Context) error { _, _, err := s.Sessions().FindCtx(ctx, "x"); return err },
		"stranger":   func(ctx context.Context) error { _, err := s.Authenticate(ctx, "nobody"); return err },
		"save": func(ctx context.Context) error {
			_, _, err := s.UpdatePolicy(ctx, actor(), "g1", store.Anything(), replace(policy.Document{}))
			return err
		},
	}
}

func expectAway(t *testing.T, s *store.Store) {
	t.Helper()
	for name, call := range calls(s) {
		begin := time.Now()
		err := call(t.Context())
		if took := time.Since(begin); codeOf(err) != policy.CodeUnavailable || took > patience {
			t.Errorf("%s: %v after %v", name, err, took)
		}
	}
}

// expectBack polls until the database answers.
func expectBack(t *testing.T, s *store.Store) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for s.Ready(t.Context()) != nil {
		if time.Now().After(deadline) {
			t.Fatal("the store does not come back")
		}
	}
}

func TestKilledPostgresIsUnavailableWithin2s(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	s := pgtest.Open(t, server.Database(t), production)
	register(t, s, "g1")
	save(t, s, "g1", interval("3000"))
	server.Kill(t)
	expectAway(t, s)
	server.Restart(t)
	expectBack(t, s)
	if r := must(s.Policy(t.Context(), "g1"))(t); r.Version != 1 {
		t.Errorf("version = %d", r.Version)
	}
}

func TestFrozenPostgresIsUnavailableWithin2s(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	s := pgtest.Open(t, server.Database(t), production)
	register(t, s, "g1")
	server.Freeze(t)
	expectAway(t, s)
	server.Thaw(t)
	expectBack(t, s)
}

func TestVerifiedTokensAreTrustedWhilePostgresIsAway(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	c := newClock()
	s := pgtest.Open(t, server.Database(t), production, c.set)
	_, secret, err := s.CreateToken(t.Context(), actor(), store.TokenInput{Name: "gw", Role: store.RoleGateway})
	if err != nil {
		t.Fatal(err)
	}
	must(s.Authenticate(t.Context(), secret))(t)
	server.Freeze(t)
	c.advance(5 * time.Minute)
	begin := time.Now()
	must(s.Authenticate(t.Context(), secret))(t)
	if took := time.Since(begin); took > time.Second {
		t.Errorf("the check path waited %v for a database that is away", took)
	}
	begin = time.Now()
	for range 20 {
		must(s.Authenticate(t.Context(), secret))(t)
	}
	if took := time.Since(begin); took > time.Second {
		t.Errorf("20 checks waited %v for a database that is known to be away", took)
	}
	c.advance(5 * time.Minute)
	_, err = s.Authenticate(t.Context(), secret)
	wantCode(t, err, policy.CodeUnavailable)
	server.Thaw(t)
	expectBack(t, s)
	must(s.Authenticate(t.Context(), secret))(t)
}

func TestUnreachablePostgresIsUnavailable(t *testing.T) {
	t.Parallel()
	s := pgtest.Open(t, "postgres://nobody@/none?host="+t.TempDir(), production)
	expectAway(t, s)
	if err := s.Listen(t.Context(), func(string) {}); codeOf(err) != policy.CodeUnavailable {
		t.Errorf("listen: %v", err)
	}
}

// TestKillBetweenCommitAndPublish: what was answered waits in the outbox for whoever comes next.
func TestKillBetweenCommitAndPublish(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		c := newClock()
		dying := b.store(c.set, func(cfg *store.Config) { cfg.OnCommit = func(store.Change) {} })
		register(t, dying, "g1")
		save(t, dying, "g1", interval("3000"))
		_ = dying.Close()
		c.advance(time.Second)
		next := b.store(c.set)
		rows := must(next.ClaimOutbox(t.Context(), 10, time.Minute))(t)
		if len(rows) != 1 || rows[0].GroupID != "g1" || rows[0].Version != 1 {
			t.Errorf("rows = %+v", rows)
		}
	})
}

func TestListenHearsNotify(t *testing.T) {
	t.Parallel()
	url := pgtest.Postgres(t)
	here, there := pgtest.Open(t, url), pgtest.Open(t, url)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var heard []string
	err := there.Listen(ctx, func(payload string) {
		heard = append(heard, payload)
		if payload == "" {
			if err := here.Notify(ctx, "g1"); err != nil {
				t.Error(err)
			}
			return
		}
		if _, err := pgtest.SQL(t, url).ExecContext(ctx, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"); err != nil {
			t.Error(err)
		}
	})
	wantCode(t, err, policy.CodeUnavailable)
	if len(heard) != 2 || heard[1] != "g1" || ctx.Err() != nil {
		t.Errorf("heard %q, %v", heard, ctx.Err())
	}
}

func TestSessions(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t := b.t
		c := newClock()
		s := b.store(c.set)
		sessions := s.Sessions()
		for _, data := range []string{"one", "two\x00\xff"} {
			if err := sessions.Commit("secret", []byte(data), c.now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			got, found, err := sessions.Find("secret")
			if err != nil || !found || string(got) != data {
				t.Fatalf("%q, %v, %v", got, found, err)
			}
		}
		c.advance(time.Minute)
		if _, found, err := sessions.Find("secret"); err != nil || found {
			t.Errorf("a session that is over: %v, %v", found, err)
		}
		if err := s.Cleanup(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := sessions.Delete("secret"); err != nil {
			t.Fatal(err)
		}
	})
}
