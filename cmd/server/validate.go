package main

import (
	"context"
	"fmt"
	"io"

	"github.com/pacekeeper/pacekeeper"
	"github.com/pacekeeper/pacekeeper/config"
	"github.com/pacekeeper/pacekeeper/policy"
)

type validateCmd struct {
	fileFlags
	System string `placeholder:"FILE" help:"A file with the bounds, the actions and the defaults of the server (as: server export --kind bounds --kind actions --kind defaults). Without it those that the program ships hold."`
	Strict bool   `help:"A value that the bounds hold back is an error."`
}

// maxShown is how many values that the bounds hold back are told one by one.
const maxShown = 100

// Help is what --help adds.
func (validateCmd) Help() string {
	return `Needs no server. What plan and apply refuse because of the files themselves, validate refuses too, in the same words.
Only they know whether a group is registered or archived.

For example, all files of a folder, by the bounds of the server that they are for:

  server export --kind bounds --kind actions --kind defaults > system.yaml
  server validate -f policies --system system.yaml

Exit codes: 0 valid, 1 not valid or not readable.`
}

// run is the command `validate`.
func (c validateCmd) run(ctx context.Context, out io.Writer) (int, error) {
	system, err := c.system(ctx)
	if err != nil {
		return exitError, err
	}
	files, stated, err := c.state(ctx, &system.Bounds)
	if err != nil {
		return exitError, err
	}
	plan, err := stated.Plan(policy.ConfigState{System: system, Groups: registered(stated)}, policy.ConfigPrune{})
	if err != nil {
		return exitError, files.Place(err)
	}
	clamps := plan.Clamps()
	for _, clamp := range clamps[:min(len(clamps), maxShown)] {
		fmt.Fprintf(out, "%s\n", files.Locate(clamp.Path, "clamped: "+clampWords(clamp.Requested, clamp.Effective, clamp.Bound, clamp.Limit)))
	}
	if more := len(clamps) - maxShown; more > 0 {
		fmt.Fprintf(out, "clamped: and %d more\n", more)
	}
	if c.Strict && len(clamps) > 0 {
		return exitError, fmt.Errorf("%s held back by the bounds", counted(int64(len(clamps)), "value is", "values are"))
	}
	fmt.Fprintf(out, "valid: %s, %s\n", counted(int64(len(files)), "file", "files"), counted(int64(len(stated.Groups)), "group", "groups"))
	return exitOK, nil
}

// registered takes every group that the files name for one that is there and states nothing.
func registered(stated policy.Config) map[string]policy.GroupState {
	groups := make(map[string]policy.GroupState, len(stated.Groups))
	for _, g := range stated.Groups {
		groups[g.ID] = policy.GroupState{}
	}
	return groups
}

// system is the one that holds: shipped, or with what the file of --system states over it.
func (c validateCmd) system(ctx context.Context) (*policy.System, error) {
	system, err := policy.NewSystem(policy.SystemConfig{
		Generation: 1, Bounds: policy.ShippedBounds(), Defaults: policy.ShippedDefaults(), Actions: policy.ShippedActions(),
	})
	if err != nil || c.System == "" {
		return system, err
	}
	files, stated, err := fileFlags{Files: []string{c.System}}.state(ctx, nil)
	if err != nil {
		return nil, err
	}
	stated.Groups = nil
	plan, err := stated.Plan(policy.ConfigState{System: system}, policy.ConfigPrune{})
	return plan.System, files.Place(err)
}

// printSchema is the command `schema`.
func printSchema(out io.Writer) (int, error) {
	schema, err := config.Schema(pacekeeper.OpenAPI)
	if err != nil {
		return exitError, err
	}
	if _, err := out.Write(schema); err != nil {
		return exitError, err
	}
	return exitOK, nil
}
