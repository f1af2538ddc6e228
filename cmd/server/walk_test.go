package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/internal/redistest"
	"github.com/pacekeeper/pacekeeper/store"
)

// consoleStep is one run of a command beside a server: what it must say, its exit code, and the actions of the audit
// entries that it writes, none for a command that changes nothing.
type consoleStep struct {
	command string // as the table of commands has it
	args    string // behind it; {file} and {export} are files of the walk
	code    int
	says    string
	wrote   []string
}

// consoleSteps are all commands but serve, in an order in which each has something to do.
func consoleSteps() []consoleStep {
	return []consoleStep{
		{"config", "", exitOK, "PACEKEEPER_ADDR=", nil},
		{"schema", "", exitOK, "$defs", nil},
		{"token", "--name console-2", exitOK, "pk_", []string{"token.create"}},
		{"token", "--name console-2", exitOK, "pk_", []string{"token.create"}},
		{"validate", "-f {file}", exitOK, "valid: 1 file", nil},
		{"plan", "-f {file}", exitChanges, "3 to create", nil},
		{"apply", "-f {file} --plan-token other", exitError, "plan again", nil},
		{"apply", "-f {file} --reason walk", exitOK, "3 created", []string{"exemption.add", "group.create", "policy.update"}},
		{"apply", "-f {file} --reason walk", exitOK, "nothing to apply", nil},
		{"apply", "-f {more} --reason walk --prune exemptions --scope files", exitOK, "1 updated, 1 removed", []string{"exemption.remove", "policy.update"}},
		{"export", "--group tea", exitOK, "min_interval_ms: 4000", nil},
		{"apply", "-f {file} --prune policies --scope files", exitOK, "1 created, 1 updated", []string{"exemption.add", "policy.update"}},
		{"audit verify <file>", "{export}", exitOK, "ok: ", nil},
		{"sync verify", "", exitOK, "0 differences", nil},
		{"sync keys", "--mend", exitOK, "state: 0 keys, 0 without a time to live, 0 mended", nil},
		{"sync bump-generation", "--reason restored --yes", exitError, "nothing was changed", nil},
		{"sync bump-generation", "--reason restored --force", exitError, "nothing was changed", nil},
		{"sync bump-generation", "--reason restored --force --yes", exitOK, "Generation 1 became 2", []string{"generation.bump"}},
		{"erase", "--user mei", exitOK, "nothing was erased", nil},
		{"erase", "--user mei --yes --reason letter", exitOK, "erased      1 exemptions", []string{"person.erase"}},
		{"erase", "--user mei --yes --reason letter", exitOK, "found      0 exemptions", nil},
	}
}

const (
	walkFile = `{"groups":{"tea":{"name":"Tea house","policy":{"actions":{"message":{"min_interval_ms":3000}}},"exemptions":{"mei":{"note":"host"}}}}}`
	walkMore = `{"groups":{"tea":{"policy":{"actions":{"message":{"min_interval_ms":4000}}},"exemptions":{}}}}`
)

// console is a server on a database and a Redis of the test's own, and a shell beside it.
type console struct {
	t       *testing.T
	store   *store.Store
	decided func() string
	env     map[string]string
	files   *strings.Replacer
	folder  string
}

// newConsole starts the server twice: the first start makes the operator token, the second changes nothing.
func newConsole(t *testing.T) *console {
	t.Helper()
	s := Settings{
		Addr: "127.0.0.1:0", DatabaseURL: pgtest.Postgres(t), RedisURL: redistest.URL(t), RedisPrefix: "pk", AuditKey: key, LogLevel: slog.LevelError,
	}
	secret, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		t.Fatal(err)
	}
	c := &console{
		t: t, folder: t.TempDir(), decided: pgtest.Decisions(t, s.DatabaseURL),
		store: pgtest.Open(t, s.DatabaseURL, func(c *store.Config) { c.AuditKey = secret }),
	}
	before := c.decided()
	_, stop := runProgram(t, s)
	c.wrote("the first start", 0, before, []string{"token.create"})
	stop()
	before, last := c.decided(), c.lastEntry()
	p, _ := runProgram(t, s)
	c.wrote("the second start", last, before, nil)
	_, token, err := c.store.CreateToken(t.Context(), store.Actor{Name: "tests", Role: store.RoleOperator, Channel: store.ChannelSystem},
		store.TokenInput{Name: "tests", Role: store.RoleOperator})
	if err != nil {
		t.Fatal(err)
	}
	c.env = map[string]string{
		"PACEKEEPER_DATABASE_URL": s.DatabaseURL, "PACEKEEPER_REDIS_URL": s.RedisURL, "PACEKEEPER_AUDIT_KEY": key,
		"PACEKEEPER_TOKEN": token, "PACEKEEPER_SERVER": "http://" + p.Addr(), "PACEKEEPER_LOG_LEVEL": "ERROR",
	}
	c.files = strings.NewReplacer("{file}", c.write("file.json", []byte(walkFile)), "{more}", c.write("more.json", []byte(walkMore)),
		"{export}", c.write("export.jsonl", fetch(t, "http://"+p.Addr()+"/v1/audit-events/export", token)))
	return c
}

func (c *console) write(name string, text []byte) (path string) {
	c.t.Helper()
	path = filepath.Join(c.folder, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// TestAudit_EveryCommandWritesWhatItChanged runs every command of the program and holds what the database holds against
// the entries. A new command needs its case in consoleSteps.
func TestAudit_EveryCommandWritesWhatItChanged(t *testing.T) {
	t.Parallel()
	c := newConsole(t)
	walked := map[string]bool{"serve": true}
	for _, step := range consoleSteps() {
		walked[step.command] = true
		c.walk(step)
	}
	for _, command := range commands(t) {
		if !walked[command] {
			t.Errorf("the command %q has no case in this walk: say what it writes", command)
		}
	}
	if v, err := c.store.VerifyAudit(t.Context(), ""); err != nil || !v.OK {
		t.Errorf("the log does not verify: %+v, %v", v, err)
	}
}

// commands are those of the program's own table.
func commands(t *testing.T) (names []string) {
	t.Helper()
	parser, err := kong.New(&cli{}, kong.Name("server"))
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range parser.Model.Leaves(false) {
		words := []string{strings.TrimPrefix(leaf.FullPath(), "server ")}
		for _, argument := range leaf.Positional {
			words = append(words, argument.Summary())
		}
		names = append(names, strings.Join(words, " "))
	}
	return names
}

func (c *console) walk(step consoleStep) {
	c.t.Helper()
	words, _, _ := strings.Cut(step.command, " <")
	args := append(strings.Fields(words), strings.Fields(c.files.Replace(step.args))...)
	before, last := c.decided(), c.lastEntry()
	var out bytes.Buffer
	code := run(context.WithoutCancel(c.t.Context()), args, func(name string) string { return c.env[name] }, &out, &out)
	if code != step.code || !strings.Contains(out.String(), step.says) {
		c.t.Errorf("%v ends with %d, want %d and %q:\n%s", args, code, step.code, step.says, out.String())
	}
	c.wrote(strings.Join(args, " "), last, before, step.wrote)
}

// wrote holds the entries behind last, and whether anything changed since before, against the actions.
func (c *console) wrote(what string, last int64, before string, want []string) {
	c.t.Helper()
	page, err := c.store.ListAudit(c.t.Context(), store.AuditQuery{Limit: 100})
	if err != nil {
		c.t.Fatal(err)
	}
	var got []string
	for _, e := range page.Items {
		if e.Seq > last {
			got = append(got, e.Action)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		c.t.Errorf("%s: entries %s", what, diff)
	}
	if changed := c.decided() != before; changed != (len(got) > 0) {
		c.t.Errorf("%s: changed: %v, and the entries are %v", what, changed, got)
	}
}

func (c *console) lastEntry() int64 {
	c.t.Helper()
	page, err := c.store.ListAudit(c.t.Context(), store.AuditQuery{Limit: 1})
	if err != nil {
		c.t.Fatal(err)
	}
	if len(page.Items) == 0 {
		return 0
	}
	return page.Items[0].Seq
}
