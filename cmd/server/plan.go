package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/pacekeeper/pacekeeper/client"
	"github.com/pacekeeper/pacekeeper/config"
)

// exitChanges is the exit code of a plan that is not empty.
const exitChanges = 2

// planFlags are what plan and apply share.
type planFlags struct {
	remoteFlags
	fileFlags
	Prune  []string `enum:"policies,exemptions" placeholder:"WHAT" help:"Remove what the files do not state, within --scope: policies (back to the defaults) or exemptions. Again for each. Without it nothing is removed."`
	Scope  []string `sep:"none" placeholder:"WHERE" help:"Of which groups --prune removes: files (those that the files name), all, or group:ID. Again for each."`
	Strict bool     `help:"A value that the bounds would hold back is an error."`
	JSON   bool     `help:"Print the server's answer as it is."`
}

type planCmd struct{ planFlags }

// Help is what --help adds.
func (planCmd) Help() string {
	return `Changes nothing. Marks: + create, ~ update, - remove; unchanged things are counted only.

For example, all files of a folder, and what of their groups they do not state any more:

  server plan -f policies --prune exemptions --scope files

Exit codes: 0 nothing would change, 2 something would, 1 any error, one of the command line too.`
}

// run is the command `plan`.
func (c planCmd) run(ctx context.Context, out io.Writer) (int, error) {
	_, plan, raw, err := c.plan(ctx)
	if err != nil {
		return exitError, err
	}
	if c.JSON {
		_, err = out.Write(raw)
	} else {
		err = printPlan(out, plan)
	}
	if err != nil {
		return exitError, err
	}
	if pending(plan.Counts) > 0 {
		return exitChanges, nil
	}
	return exitOK, nil
}

// sent is what was read and is sent: all files as one.
type sent struct {
	files config.Files
	body  []byte
}

// plan reads the files and asks the server for the plan. Faults have their places in the files.
func (c planFlags) plan(ctx context.Context) (s sent, plan client.ConfigPlan, raw []byte, err error) {
	files, stated, err := c.state(ctx, nil)
	if err != nil {
		return s, plan, nil, err
	}
	s = sent{files: files, body: stated.JSON()}
	plan, raw, err = answerOf[client.ConfigPlan](ctx, c.remoteFlags, http.MethodPost, "/v1/policies/plan", c.query(), s.body, c.headers())
	return s, plan, raw, files.Place(err)
}

func (c planFlags) query() url.Values {
	query := url.Values{}
	for _, what := range c.Prune {
		query.Add("prune", what)
	}
	for _, where := range c.Scope {
		query.Add("scope", where)
	}
	return query
}

func (c planFlags) headers() map[string]string {
	if !c.Strict {
		return map[string]string{}
	}
	return map[string]string{"Prefer": "handling=strict"}
}

func pending(n client.ConfigCounts) int64 { return n.Create + n.Update + n.Remove }

// printPlan prints a plan for people.
func printPlan(out io.Writer, plan client.ConfigPlan) error {
	printChanges(out, plan.Changes)
	_, err := fmt.Fprintf(out, "%s\nplan_token: %s\n", summary(plan.Changes, plan.Counts, "to create", "to update", "to remove"), plan.PlanToken)
	return err
}
