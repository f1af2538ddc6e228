package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

type eraseCmd struct {
	User   string `required:"" placeholder:"ID" help:"Whom to erase: the platform's id of the person, letter by letter."`
	Yes    bool   `help:"Erase. Without it the command only tells what it would erase."`
	DryRun bool   `help:"Only tell what would be erased, whatever else is asked."`
	Reason string `placeholder:"TEXT" help:"Why, for the audit log; it must not name the person."`
}

const (
	eraseTimeout = 10 * time.Minute // of one step: it reads whole tables
	eraseRounds  = 5                // servers that run may write of the person meanwhile
)

// traces is what both stores know of a person.
type traces struct {
	store store.Traces
	redis enforce.Traces
}

func (t traces) any() bool { return t.store.Any() || t.redis.Any() }

// eraser walks both stores. redis is nil in the embedded mode, whose Redis ended with its server.
type eraser struct {
	store *store.Store
	redis *enforce.Publisher
	user  string
}

// erase is the command: it removes a person from the database, the audit log's texts and Redis.
func erase(ctx context.Context, s Settings, w World, c eraseCmd) (err error) {
	if err := policy.CheckID("--user", c.User); err != nil {
		return err
	}
	if s.Embedded() {
		dir, err := dataDir(s.DataDir, w.Getenv)
		if err != nil {
			return err
		}
		release, err := lockDir(dir)
		if err != nil {
			return fmt.Errorf("stop the server first, its Redis holds the person too: %w", err)
		}
		defer func() { _ = release() }()
	}
	e, closers, err := newEraser(s, w, c.User)
	defer func() {
		for _, closer := range closers {
			err = errors.Join(err, closer())
		}
	}()
	if err != nil {
		return err
	}
	return e.run(ctx, w.Out, c)
}

func newEraser(s Settings, w World, user string) (e eraser, closers []func() error, err error) {
	databaseURL, key, err := databaseOf(s, w)
	if err != nil {
		return e, nil, err
	}
	cfg := storeConfig(databaseURL, key, w, nil)
	cfg.Timeout = eraseTimeout
	e.user = user
	if e.store, err = store.Open(cfg); err != nil {
		return e, nil, err
	}
	closers = append(closers, e.store.Close)
	if s.Embedded() {
		return e, closers, nil
	}
	target, err := parseRedisURL(s.RedisURL)
	if err != nil {
		return e, closers, err
	}
	client := target.client()
	e.redis = enforce.NewPublisher(client, enforce.NewKeys(s.RedisPrefix))
	return e, append(closers, client.Close), nil
}

func (e eraser) run(ctx context.Context, out io.Writer, c eraseCmd) error {
	if err := e.store.Migrate(ctx); err != nil {
		return err
	}
	found, err := e.look(ctx)
	if err != nil {
		return err
	}
	if !c.Yes || c.DryRun || !found.any() {
		fmt.Fprint(out, tally("found", found))
		if found.any() {
			fmt.Fprintln(out, "nothing was erased: that takes --yes")
		}
		return nil
	}
	erased, err := e.eraseAll(ctx, c.Reason)
	fmt.Fprint(out, tally("erased", erased))
	return err
}

func (e eraser) look(ctx context.Context) (found traces, err error) {
	if found.store, err = e.store.TracesOf(ctx, e.user); err != nil || e.redis == nil {
		return found, err
	}
	found.redis, err = e.redis.Person(ctx, e.user, false)
	return found, err
}

// eraseAll goes on until nothing is found: servers that run bring what they had read before into the database, and what
// the database held into Redis.
func (e eraser) eraseAll(ctx context.Context, reason string) (erased traces, err error) {
	if err := policy.CheckLine("/reason", reason); err != nil {
		return erased, err
	}
	actor := store.Actor{Name: "console", Role: store.RoleOperator, Channel: store.ChannelSystem, Reason: reason}
	for range eraseRounds {
		for _, step := range []func() error{e.forget(ctx, &erased), func() error {
			part, err := e.store.ErasePerson(ctx, actor, e.user)
			erased.store.Add(part)
			return err
		}, e.forget(ctx, &erased)} {
			if err := step(); err != nil {
				return erased, err
			}
		}
		left, err := e.look(ctx)
		if err != nil || !left.any() {
			return erased, err
		}
	}
	return erased, errors.New("servers still write of the person: keep him away, then erase him again")
}

// forget is the step in Redis.
func (e eraser) forget(ctx context.Context, erased *traces) func() error {
	return func() error {
		if e.redis == nil {
			return nil
		}
		part, err := e.redis.Person(ctx, e.user, true)
		erased.redis.Add(part)
		return err
	}
}

// tally is a table of counts, without the person's id: the terminal is a log, too.
func tally(did string, t traces) string {
	var b strings.Builder
	for _, row := range []struct {
		count int64
		what  string
	}{
		{t.store.Exemptions, "exemptions"},
		{t.store.Mutes, "mutes"},
		{t.store.Bans, "bans"},
		{t.store.Sessions, "sessions of the pages"},
		{t.store.Mentions, "mentions: as who did something, in notes and reasons"},
		{t.store.Entries, "audit entries: what they say of the person"},
		{t.redis.Records, "records and limiter states in Redis"},
		{t.redis.Sets, "entries of exempt and muted sets in Redis"},
		{t.redis.Events, "events in Redis"},
	} {
		fmt.Fprintf(&b, "%s %6d %s\n", did, row.count, row.what)
	}
	for _, group := range t.store.Documents {
		fmt.Fprintf(&b, "left: a notice of group %q names the person; a person must edit it\n", group)
	}
	return b.String()
}
