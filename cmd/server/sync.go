package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/store"
	policysync "github.com/pacekeeper/pacekeeper/sync"
)

type syncCmd struct {
	Verify         struct{} `cmd:"" help:"Compare every field of every key in Redis with the database, changing nothing. Exit code 1 if anything differs."`
	Keys           keysCmd  `cmd:"" help:"Look for limiter states, members' records and lists of muted members without a time to live. Exit code 1 if some are left."`
	BumpGeneration bumpCmd  `cmd:"" help:"After the database was restored from a backup: let it prevail over what Redis has of later edits."`
}

type keysCmd struct {
	Mend   bool  `help:"Give them a time to live, as the next check would. Nothing else is changed, and nobody is let pass by it."`
	Sample int64 `placeholder:"N" help:"Look at about N names on each server, not at all."`
}

type bumpCmd struct {
	Reason string `required:"" help:"Why, for the audit log: at most 500 characters."`
	Yes    bool   `help:"Do it. Without it, say what would be done."`
	Force  bool   `help:"Even if nothing in Redis is ahead of the database."`
}

// bench is a store and a sync that do not run, for commands that work beside the servers.
type bench struct {
	store *store.Store
	sync  *policysync.Sync
	close func() error
}

// openBench opens both stores of the settings; there is none of it in the embedded mode, whose Redis is inside the server.
func openBench(s Settings, w World) (*bench, error) {
	if s.Embedded() {
		return nil, errors.New("the embedded mode's Redis lives in the server and starts empty: nothing to compare")
	}
	target, err := parseRedisURL(s.RedisURL)
	if err != nil {
		return nil, err
	}
	databaseURL, key, err := databaseOf(s, w)
	if err != nil {
		return nil, err
	}
	opened, err := store.Open(storeConfig(databaseURL, key, w, nil))
	if err != nil {
		return nil, err
	}
	client := target.client()
	b := &bench{store: opened, close: func() error { return errors.Join(client.Close(), opened.Close()) }}
	b.sync, err = policysync.New(policysync.Config{
		Store: opened, Publisher: enforce.NewPublisher(client, enforce.NewKeys(s.RedisPrefix)),
		Logger: w.Log, Now: w.Now, NewID: w.Nonce, SingleNode: singleNode(client),
	})
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// verifySync is the command `sync verify`.
func verifySync(ctx context.Context, s Settings, w World) (err error) {
	b, err := openBench(s, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	verdict, err := b.sync.Verify(ctx, func(groups int64) { fmt.Fprintf(w.Out, "compared %d groups\n", groups) })
	if err != nil {
		return fmt.Errorf("compare Redis with the database: %w", err)
	}
	total := 0
	for _, kind := range slices.Sorted(maps.Keys(verdict.Differences)) {
		if n := verdict.Differences[kind]; n > 0 {
			fmt.Fprintf(w.Out, "%s: %d\n", kind, n)
			total += n
		}
	}
	if verdict.Waiting > 0 {
		fmt.Fprintf(w.Out, "%d changes wait to be published: what they explain was not counted\n", verdict.Waiting)
	}
	fmt.Fprintf(w.Out, "%d differences in %d groups, %d keys\n", total, verdict.Groups, verdict.Keys)
	if total > 0 {
		return errors.New("the database and Redis differ: running servers mend it with the next pass of the reconciler")
	}
	return nil
}

// sweepKeys is the command `sync keys`.
func sweepKeys(ctx context.Context, s Settings, w World, c keysCmd) (err error) {
	b, err := openBench(s, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	found, err := b.sync.SweepKeys(ctx, enforce.LastingSweep{Mend: c.Mend, Sample: max(0, c.Sample)})
	if err != nil {
		return err
	}
	left := int64(0)
	for _, kind := range slices.Sorted(maps.Keys(found)) {
		n := found[kind]
		fmt.Fprintf(w.Out, "%s: %d keys, %d without a time to live, %d mended\n", kind, n.Seen, n.Lasting, n.Mended)
		left += n.Lasting - n.Mended
	}
	if left > 0 {
		return fmt.Errorf("%d keys have no time to live: checks mend those that they meet, --mend all of them", left)
	}
	return nil
}

// bumpGeneration is the command `sync bump-generation`.
func bumpGeneration(ctx context.Context, s Settings, w World, c bumpCmd) (err error) {
	if strings.TrimSpace(c.Reason) == "" || len([]rune(c.Reason)) > 500 {
		return errors.New("--reason: want 1 to 500 characters")
	}
	b, err := openBench(s, w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	ahead, err := b.sync.Survey(ctx)
	if err != nil {
		return fmt.Errorf("compare Redis with the database: %w", err)
	}
	fmt.Fprintf(w.Out, "Compared %d groups, %d keys: %d in Redis are ahead of the database.\n", ahead.Groups, ahead.Keys, ahead.Ahead)
	if ahead.Ahead == 0 && !c.Force {
		return errors.New("nothing in Redis is ahead of the database: there is no need, and nothing was changed (--force does it all the same)")
	}
	fmt.Fprint(w.Out, bumpWarning)
	if !c.Yes {
		return errors.New("nothing was changed: add --yes to do it")
	}
	actor := store.Actor{Name: "console", Role: store.RoleOperator, Channel: store.ChannelSystem, Reason: c.Reason}
	from, to, err := b.store.BumpGeneration(ctx, actor, ahead.Generation+1)
	if err != nil {
		return err
	}
	fmt.Fprintf(w.Out, "Generation %d became %d. Running servers publish every group again; /readyz is 200 when they are done.\n", from, to)
	return nil
}

const bumpWarning = `A new generation makes the database prevail:
- every group, default and exemption is published again as the database has it, over what Redis has;
- what was saved after the backup stands in Redis alone, and is gone then: save it first, redis-cli reads it;
- mutes and bans that are later than the database's stay in Redis until they end;
- limiter state and strikes stay as they are.
It cannot be taken back, and it is an entry in the audit log.
`
