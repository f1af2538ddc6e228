package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

type exportCmd struct {
	remoteFlags
	Kind   []string `enum:"bounds,defaults,actions,groups,policies,exemptions" placeholder:"KIND" help:"What to write: bounds, defaults, actions, groups (names), policies, exemptions. Again for each; without it everything."`
	Group  []string `name:"group" sep:"none" placeholder:"ID" help:"Of which group. Again for each; without it of all that are not archived."`
	Format string   `enum:"yaml,json" default:"yaml" help:"yaml or json."`
}

// Help is what --help adds.
func (exportCmd) Help() string {
	return `Writes to standard output, in an order that does not change, so that two exports can be compared line by line. All of
it is of one moment. Applying an export changes nothing.

For example, one group, or the bounds alone:

  server export --group tea > policies/tea.yaml
  server export --kind bounds

Exit codes: 0 written whole, 1 any error.`
}

// run is the command `export`.
func (c exportCmd) run(ctx context.Context, out io.Writer) (int, error) {
	query := url.Values{"format": {c.Format}}
	for _, kind := range c.Kind {
		query.Add("kind", kind)
	}
	for _, group := range c.Group {
		query.Add("group_id", group)
	}
	response, err := c.ask(ctx, http.MethodGet, "/v1/policies/export", query, nil, nil)
	if err != nil {
		return exitError, err
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(out, response.Body); err != nil {
		return exitError, fmt.Errorf("the export breaks off, it is not whole: %w", err)
	}
	return exitOK, nil
}
