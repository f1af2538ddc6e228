package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/pacekeeper/pacekeeper/client"
)

type applyCmd struct {
	planFlags
	PlanToken *string       `placeholder:"TOKEN" help:"Apply the plan that had this token, and nothing else. Without it the plan is made now."`
	Reason    string        `placeholder:"TEXT" help:"Why, for the audit log: a commit, a ticket."`
	Key       string        `placeholder:"KEY" help:"An Idempotency-Key: the same apply sent again with it changes nothing and is answered the same."`
	Wait      time.Duration `default:"30s" help:"How long to wait until the policies are live in Redis, at most 30s. 0 does not wait."`
}

// Help is what --help adds.
func (applyCmd) Help() string {
	return `All of it or nothing. Prints the plan, applies it, and says when it is live. If anything that the plan looked at is
changed meanwhile, nothing is applied.

For example, all files of a folder, with the reason that the audit log keeps:

  server apply -f policies --reason "commit 4f2a9c1"

Exit codes: 0 applied, or nothing to apply; 1 any error.`
}

// run is the command `apply`. What people watch goes to progress, so that --json prints nothing else.
func (c applyCmd) run(ctx context.Context, out, progress io.Writer) (int, error) {
	if c.PlanToken != nil && *c.PlanToken == "" { // a variable that a pipeline never set must not waive what it asks for
		return exitError, errors.New("--plan-token is empty: give the token of the plan, or leave the flag out to plan now")
	}
	s, plan, raw, err := c.plan(ctx)
	switch {
	case err != nil:
		return exitError, err
	case c.PlanToken != nil && *c.PlanToken != plan.PlanToken && c.Key == "":
		return exitError, errors.New("the plan is not the one of --plan-token any more: plan again, and look at it")
	case !c.JSON:
		printChanges(out, plan.Changes)
	}
	if pending(plan.Counts) == 0 && c.Key == "" {
		if c.JSON {
			_, err = out.Write(raw)
		} else {
			_, err = fmt.Fprintf(out, "nothing to apply: %d unchanged\n", plan.Counts.Unchanged)
		}
		return codeOf(err), err
	}
	if c.PlanToken == nil {
		c.PlanToken = &plan.PlanToken
	}
	return c.apply(ctx, s, pending(plan.Counts), out, progress)
}

func codeOf(err error) int {
	if err != nil {
		return exitError
	}
	return exitOK
}

func (c applyCmd) apply(ctx context.Context, s sent, changes int64, out, progress io.Writer) (int, error) {
	query, headers := c.query(), c.headers()
	query.Set("plan_token", *c.PlanToken)
	if c.Reason != "" {
		headers["Pacekeeper-Reason"] = url.PathEscape(c.Reason)
	}
	if c.Key != "" {
		headers["Idempotency-Key"] = c.Key
	}
	headers["Prefer"] = strings.TrimPrefix(headers["Prefer"]+fmt.Sprintf(", wait=%d", int64(c.Wait.Seconds())), ", ")
	what := counted(changes, "change", "changes")
	stop := tell(progress, "applying "+what)
	begun := time.Now()
	applied, raw, err := answerOf[client.ConfigApplied](ctx, c.remoteFlags, http.MethodPost, "/v1/policies/apply", query, s.body, headers)
	stop()
	if err != nil {
		return exitError, s.files.Place(err)
	}
	fmt.Fprintf(progress, "applied %s in %.1f s\n", what, time.Since(begun).Seconds())
	if groups := policiesOf(applied.Changes); groups > 0 {
		fmt.Fprintf(progress, "live in Redis: %d of %s\n", groups-applied.Pending, counted(groups, "policy", "policies"))
	}
	if c.JSON {
		_, err = out.Write(raw)
	} else {
		_, err = fmt.Fprintln(out, summary(applied.Changes, applied.Counts, "created", "updated", "removed"))
	}
	return codeOf(err), err
}

// policiesOf counts the policies that were changed.
func policiesOf(changes []client.ConfigChange) (n int64) {
	for _, c := range changes {
		n += one(c.Kind == "policy")
	}
	return n
}

// tell prints each second how long something takes, until it is stopped.
func tell(progress io.Writer, what string) (stop func()) {
	done := make(chan struct{})
	var told sync.WaitGroup
	begun := time.Now()
	told.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				fmt.Fprintf(progress, "%s: %.0f s\n", what, time.Since(begun).Seconds())
			}
		}
	})
	return func() { close(done); told.Wait() }
}
