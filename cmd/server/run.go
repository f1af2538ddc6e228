package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// The exit codes of the program.
const (
	exitOK    = 0
	exitError = 1 // it could not start, or stopped by a fault
	exitUsage = 2 // the command line or the settings are wrong
)

type cli struct {
	Settings `group:"The server's settings:"`

	Serve  struct{} `cmd:"" default:"1" help:"Serve the API and the pages. What runs when no command is given."`
	Config struct{} `cmd:"" help:"Print the settings in force, secrets hidden."`
	Token  tokenCmd `cmd:"" help:"Make an operator token on the database in use and print it, once."`
	Audit  auditCmd `cmd:"" help:"What concerns the audit log."`
	Sync   syncCmd  `cmd:"" help:"What concerns Redis against the database."`
	Erase  eraseCmd `cmd:"" help:"Erase a person: from the database, from what the audit log says, from Redis."`

	Validate validateCmd `cmd:"" help:"Check files of policy as config, without a server."`
	Plan     planCmd     `cmd:"" help:"Say what applying files of policy as config would change on a running server."`
	Apply    applyCmd    `cmd:"" help:"Apply files of policy as config to a running server."`
	Export   exportCmd   `cmd:"" help:"Write what a running server has as a file of policy as config."`
	Schema   struct{}    `cmd:"" help:"Print the JSON Schema of files of policy as config, for editors."`
}

type tokenCmd struct {
	Name string `default:"console" help:"Name of the token, shown in lists and in the audit log."`
}

// run is main with everything it reads handed in. It returns when ctx ends and all has stopped.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	var c cli
	command, code, err := parse(&c, args, getenv, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "server: %s\n", strings.ReplaceAll(err.Error(), "\n", "\nserver: "))
		return usageCode(args)
	}
	if command == "" {
		return code
	}
	if run := c.config(command); run != nil {
		code, err := run(ctx, stdout, stderr)
		if err != nil {
			fmt.Fprintf(stderr, "server: %v\n", err)
		}
		return code
	}
	w := world(getenv, stdout, slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: c.LogLevel})))
	switch command {
	case "config":
		c.Print(stdout)
		return exitOK
	case "token":
		err = makeToken(ctx, c.Settings, w, c.Token.Name)
	case "erase":
		err = erase(ctx, c.Settings, w, c.Erase)
	case "audit verify <file>":
		err = verifyExport(c.Settings, stdout, c.Audit.Verify.File)
	case "sync keys":
		err = sweepKeys(ctx, c.Settings, w, c.Sync.Keys)
	case "sync verify":
		err = verifySync(ctx, c.Settings, w)
	case "sync bump-generation":
		err = bumpGeneration(ctx, c.Settings, w, c.Sync.BumpGeneration)
	default:
		err = serve(ctx, c.Settings, w)
	}
	if err != nil {
		fmt.Fprintf(stderr, "server: %v\n", err)
		return exitError
	}
	return exitOK
}

// config is the command of policy as config, nil for any other. They need none of the settings.
func (c *cli) config(command string) func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
	switch command {
	case "validate":
		return func(ctx context.Context, out, _ io.Writer) (int, error) { return c.Validate.run(ctx, out) }
	case "plan":
		return func(ctx context.Context, out, _ io.Writer) (int, error) { return c.Plan.run(ctx, out) }
	case "apply":
		return c.Apply.run
	case "export":
		return func(ctx context.Context, out, _ io.Writer) (int, error) { return c.Export.run(ctx, out) }
	case "schema":
		return func(_ context.Context, out, _ io.Writer) (int, error) { return printSchema(out) }
	}
	return nil
}

// usageCode is the exit code of a wrong command line: of plan it is that of errors, for 2 says that there are changes.
func usageCode(args []string) int {
	if slices.Contains(args, "plan") {
		return exitError
	}
	return exitUsage
}

// parse reads flags over environment over presets. The command is "" where help was printed; code is then the exit code.
func parse(c *cli, args []string, getenv func(string) string, stdout, stderr io.Writer) (command string, code int, err error) {
	ended := false
	parser, err := kong.New(c,
		kong.Name("server"),
		kong.Description("Pacekeeper: rate limits that group owners set, decided in Redis. Settings come from flags or the environment."),
		kong.Writers(stdout, stderr),
		kong.Exit(func(n int) { ended, code = true, n }),
		kong.Resolvers(environment(getenv)),
		kong.ValueFormatter(describeFlag),
		kong.Help(help),
	)
	if err != nil {
		return "", exitUsage, err
	}
	parsed, err := parser.Parse(args)
	if ended {
		return "", code, nil
	}
	if err != nil {
		return "", exitUsage, err
	}
	return parsed.Command(), exitOK, nil
}

// environment resolves a flag from the variable that its tag names. An empty variable counts as not set.
func environment(getenv func(string) string) kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		name := flag.Tag.Get("setting")
		if name == "" || getenv(name) == "" {
			return nil, nil
		}
		return getenv(name), nil
	})
}

// help prints a command's own flags first. The commands of policy as config show none of the server's settings: they read
// none.
func help(options kong.HelpOptions, c *kong.Context) error {
	if (&cli{}).config(c.Command()) != nil {
		for _, flag := range c.Model.Flags {
			flag.Hidden = flag.Hidden || flag.Tag.Get("setting") != ""
		}
	}
	return kong.DefaultHelpPrinter(options, c)
}

func describeFlag(v *kong.Value) string {
	if name := v.Tag.Get("setting"); name != "" {
		return strings.TrimSuffix(v.Help, ".") + " ($" + name + ")."
	}
	return kong.DefaultHelpValueFormatter(v)
}
