package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pacekeeper/pacekeeper/store"
)

// desk is a running server and a folder of files: all that policy as config needs.
type desk struct {
	t      *testing.T
	p      *Program
	token  string
	folder string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, p: startProgram(t, t.TempDir()), folder: t.TempDir()}
	actor := store.Actor{Name: "tests", Role: store.RoleOperator, Channel: store.ChannelSystem}
	_, token, err := d.p.store.CreateToken(t.Context(), actor, store.TokenInput{Name: "tests", Role: store.RoleOperator})
	if err != nil {
		t.Fatal(err)
	}
	d.token = token
	for _, id := range []string{"tea", "coffee"} {
		if _, _, err := d.p.store.PutGroup(t.Context(), actor, store.Anything(), id, "Group "+id, "en"); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// write makes a file and returns its path.
func (d *desk) write(name, text string) string {
	d.t.Helper()
	path := filepath.Join(d.folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
	return path
}

// server runs a command of the program.
func (d *desk) server(args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	getenv := func(name string) string {
		return map[string]string{"PACEKEEPER_TOKEN": d.token, "PACEKEEPER_SERVER": "http://" + d.p.Addr()}[name]
	}
	code = run(context.WithoutCancel(d.t.Context()), args, getenv, &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// post sends a file as it is.
func (d *desk) post(path, media, text string) (status int, answer map[string]any) {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), http.MethodPost, "http://"+d.p.Addr()+"/v1/policies/"+path, strings.NewReader(text))
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+d.token)
	r.Header.Set("Content-Type", media)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		d.t.Fatal(err)
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		d.t.Fatalf("%v: %s", err, data)
	}
	return response.StatusCode, answer
}

// state is all that an apply could change: an export, and the number of the last audit entry.
func (d *desk) state() string {
	d.t.Helper()
	code, out, errs := d.server("export")
	page, err := d.p.store.ListAudit(d.t.Context(), store.AuditQuery{Limit: 1})
	if err != nil || code != 0 {
		d.t.Fatal(code, errs, err)
	}
	return fmt.Sprint(out, page.Items[0].Seq)
}

// judged is what validate, plan and apply say of a file: whether each takes it. A file that is refused must leave all as it
// was.
func (d *desk) judged(text string) (validate, plan, apply bool, told string) {
	d.t.Helper()
	path := d.write("judged.yaml", text)
	before := d.state()
	code, _, told := d.server("validate", "-f", path)
	planned, problem := d.post("plan", "application/yaml", text)
	planCode, _, _ := d.server("plan", "-f", path)
	if (planCode == exitError) != (planned != http.StatusOK) {
		d.t.Errorf("server plan ends with %d, POST plan with %d %v\n%s", planCode, planned, problem, text)
	}
	applied, _ := d.post("apply?plan_token=*", "application/yaml", text)
	if applied != http.StatusOK && d.state() != before {
		d.t.Errorf("a refused apply changed something:\n%s", text)
	}
	return code == exitOK, planned == http.StatusOK, applied == http.StatusOK, told + fmt.Sprint(problem["errors"])
}

// refused checks that nothing takes a file, and that the fault is told with its place.
func (d *desk) refused(name, text, place, words string) {
	d.t.Helper()
	validate, plan, apply, told := d.judged(text)
	if validate || plan || apply {
		d.t.Errorf("%s: validate %v, plan %v, apply %v", name, validate, plan, apply)
	}
	line, column, _ := strings.Cut(place, ":")
	if !strings.Contains(told, "judged.yaml:"+place+": ") || !strings.Contains(told, "line "+line+", column "+column+": ") || !strings.Contains(told, words) {
		d.t.Errorf("%s: want %s %q, told %s", name, place, words, told)
	}
}

const oneGroup = "groups:\n  tea:\n    policy:\n      actions:\n        message: "

func TestC16_ValuesOfFiles(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for value, words := range map[string]string{
		"0": "above 0; this system allows 1000 to 10000", "-1": "above 0", "1.5": "whole number of milliseconds", `"2s"`: "whole number of milliseconds",
		"2s": "whole number of milliseconds", ".nan": "whole number of milliseconds", "NaN": "whole number of milliseconds", "true": "whole number",
	} {
		d.refused(value, oneGroup+"{min_interval_ms: "+value+"}\n", "5:36", words)
	}
	for value, want := range map[string]string{"1e9": "10000 is in force", "2": "1000 is in force"} {
		validate, plan, apply, told := d.judged(oneGroup + "{min_interval_ms: " + value + "}\n")
		if !validate || !plan || !apply {
			t.Errorf("%s: validate %v, plan %v, apply %v: %s", value, validate, plan, apply, told)
		}
		_, out, _ := d.server("validate", "-f", filepath.Join(d.folder, "judged.yaml"))
		if !strings.Contains(out, "judged.yaml:5:36: clamped: ") || !strings.Contains(out, want) {
			t.Errorf("%s: %s", value, out)
		}
		if code, _, _ := d.server("validate", "--strict", "-f", filepath.Join(d.folder, "judged.yaml")); code != exitError {
			t.Errorf("%s: validate --strict ends with %d", value, code)
		}
		if code, _, errs := d.server("plan", "--strict", "-f", filepath.Join(d.folder, "judged.yaml")); code != exitError || !strings.Contains(errs, "judged.yaml:5:36: ") {
			t.Errorf("%s: plan --strict ends with %d: %s", value, code, errs)
		}
	}
}

func TestC41_FilesThatReadersDisagreeOn(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var bomb strings.Builder
	bomb.WriteString("a: &a [x,x,x,x,x,x,x,x,x]\n")
	for i := 'b'; i < 'j'; i++ {
		fmt.Fprintf(&bomb, "%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", i, i, i-1, i-1, i-1, i-1, i-1, i-1, i-1, i-1)
	}
	for _, test := range []struct{ name, text, place, words string }{
		{"a key twice", "groups:\n  tea: {}\n  tea: {}\n", "3:3", "second time; first in line 2"},
		{"a key twice inside", oneGroup + "{mode: soft, mode: hard}\n", "5:31", "second time"},
		{"a misspelt key", oneGroup + "{min_intervall_ms: 5}\n", "5:19", "did you mean min_interval_ms?"},
		{"a misspelt key above", "group:\n  tea: {}\n", "1:1", "did you mean groups?"},
		{"an unknown action", "groups:\n  tea:\n    policy: {actions: {mesage: {mode: soft}}}\n", "3:24", "the action mesage is unknown"},
		{"two documents", "groups:\n  tea: {}\n---\ngroups:\n  coffee: {}\n", "3:1", "a second document begins here"},
		{"an alias bomb", bomb.String(), "1:4", "anchors"},
		{"an alias", "groups:\n  tea: &x {}\n  coffee: *x\n", "2:8", "anchors"},
		{"a merge key", "groups:\n  tea:\n    <<: {name: x}\n", "3:5", "merge keys"},
		{"a tag", "groups:\n  tea: {name: !!str 5}\n", "2:15", "tags"},
		{"a tab", "groups:\n\ttea: {}\n", "2:1", "a tab stands in the indentation"},
		{"a byte order mark", "\ufeffgroups: {tea: {}}\n", "1:1", "byte order mark"},
		{"010", oneGroup + "{min_interval_ms: 010}\n", "5:36", "not the same number to every reader"},
		{"0x10", oneGroup + "{min_interval_ms: 0x10}\n", "5:36", "not the same number"},
		{"1_000", oneGroup + "{min_interval_ms: 1_000}\n", "5:36", "not the same number"},
		{"1:30", oneGroup + "{min_interval_ms: 1:30}\n", "5:36", "not the same number"},
		{"no", oneGroup + "{enabled: no}\n", "5:28", "no is false to some readers of YAML"},
		{"Yes", oneGroup + "{enabled: Yes}\n", "5:28", "Yes is true to some readers"},
		{"~", oneGroup + "{window: ~}\n", "5:27", "~ is null to some"},
		{"nothing", oneGroup + "{window: }\n", "5:27", "nothing stands behind the key"},
		{"no as an id", "groups:\n  no: {}\n", "2:3", "quote it"},
		{"broken syntax", "groups:\n  tea: {name: [}\n", "2:16", "the YAML cannot be read here"},
		{"not UTF-8", "groups:\n  tea: {name: \"\xff\"}\n", "2:16", "not valid UTF-8"},
		{"NUL", "groups:\n  tea: {name: \"a\\0b\"}\n", "2:15", "NUL"},
		{"a lone surrogate", "groups:\n  tea: {name: \"a\\ud800\"}\n", "2:19", "cannot be read here"},
		{"a control character", "groups:\n  tea: {name: \"\x01\"}\n", "2:16", "control character"},
		{"an id that is none", "groups:\n  \"a b\": {}\n", "2:3", "without spaces"},
		{"an empty file", "# nothing\n", "1:1", "the file is empty"},
		{"a list", "- groups\n", "1:1", "must be an object"},
		{"nothing stated", "{}\n", "1:1", "states nothing"},
		{"a wrong moment", "groups:\n  tea: {exemptions: {u: {expires_at: tomorrow}}}\n", "2:38", "RFC 3339"},
		{"bounds in part", "bounds:\n  mute_ms: {min: 5, max: 1}\n", "2:3", "min must be at most max"},
	} {
		d.refused(test.name, test.text, test.place, test.words)
	}
}

func TestC41_TooLarge(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	text := "groups:\n  tea: {name: \"" + strings.Repeat("x", 21<<20) + "\"}\n"
	path := d.write("large.yaml", text)
	for _, command := range []string{"validate", "plan", "apply"} {
		if code, _, errs := d.server(command, "-f", path); code != exitError || !strings.Contains(errs, "20 MiB") {
			t.Errorf("%s ends with %d: %s", command, code, errs)
		}
	}
	for _, path := range []string{"plan", "apply?plan_token=*"} {
		if status, answer := d.post(path, "application/yaml", text); status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d %v", path, status, answer)
		}
	}
}

const mutable = `defaults:
  time_zone: Asia/Shanghai
  actions: {message: {min_interval_ms: 3000}}
groups:
  tea:
    name: Tea house
    locale: en
    policy:
      time_zone: UTC
      actions:
        message:
          enabled: true
          mode: hard
          min_interval_ms: 2000
          window: {algorithm: sliding_window, limit: 8, period_ms: 30000, count_refused: false}
          ban: {for_ms: 3600000}
          on_failure: allow
      exempt_roles: [owner, admin]
      penalties:
        ladder: [{after: 3, do: mute, for_ms: 60000}, {after: 6, do: review}]
        forgive_one_every_ms: 600000
      notices: {en: {too_soon: "wait {wait}"}}
    exemptions:
      mei: {note: host, expires_at: "2030-01-01T00:00:00Z"}
      lin: {}
  coffee:
    policy: {actions: {like: {ban: null}}}
`

// mutate changes a text a little: a byte, a word, a line. Ids of groups stay, for whether they are registered is for plan
// alone to know.
func mutate(random *rand.Rand, text string) string {
	words := []string{
		"null", "true", "no", "0", "-1", "1.5", "1e9", "010", "\"x\"", "[]", "{}", "&a", "*a", "!x", "---", "\t", "#", ":", ": ", ",", "}", "{",
		"soft", "mute", "owner", "8", "9007199254740993", "\"", "'", "\n", "    ", "UTC", "Nowhere/City", "fixed_window", "~", "<<: {}",
	}
	lines := strings.SplitAfter(text, "\n")
	at := random.Intn(len(lines) - 1)
	for strings.HasPrefix(lines[at], "  tea:") || strings.HasPrefix(lines[at], "  coffee:") || strings.HasPrefix(lines[at], "groups:") {
		at = random.Intn(len(lines) - 1)
	}
	line := lines[at]
	switch random.Intn(8) {
	case 0: // a line less
		lines[at] = ""
	case 1: // a line twice
		lines[at] = line + line
	case 2: // a byte less
		i := random.Intn(len(line))
		lines[at] = line[:i] + line[i+1:]
	case 3: // a word more
		i := random.Intn(len(line))
		lines[at] = line[:i] + words[random.Intn(len(words))] + line[i:]
	case 4: // another value
		if key, _, found := strings.Cut(line, ": "); found {
			lines[at] = key + ": " + words[random.Intn(len(words))] + "\n"
		}
	case 5, 6: // other digits
		lines[at] = strings.Map(func(r rune) rune {
			if r >= '1' && r <= '8' {
				return r + 1
			}
			return r
		}, line)
	default: // two bytes swapped
		b := []byte(line)
		i := random.Intn(max(1, len(b)-2))
		b[i], b[i+1] = b[i+1], b[i]
		lines[at] = string(b)
	}
	return strings.Join(lines, "")
}

// Of a hundred mutated files validate, plan and apply say the same, and what is refused changes nothing.
func TestValidatePlanAndApplyAgree(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	random := rand.New(rand.NewSource(41))
	var taken, refused int
	for range 100 {
		text := mutate(random, mutable)
		if random.Intn(4) == 0 {
			text = mutate(random, text)
		}
		validate, plan, apply, told := d.judged(text)
		if validate != plan || plan != apply {
			t.Errorf("validate %v, plan %v, apply %v\n%s\n%s", validate, plan, apply, told, text)
		}
		if plan {
			taken++
		} else {
			refused++
		}
	}
	if taken < 10 || refused < 10 {
		t.Errorf("%d taken, %d refused: the mutations test nothing", taken, refused)
	}
}

// The commands, as a pipeline has them: folder, plan, apply of that plan, and again.
func TestConfigCommands(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.write("a.yaml", "groups:\n  tea:\n    policy: {actions: {message: {min_interval_ms: 500}}}\n")
	d.write("b.json", `{"groups": {"tea": {"exemptions": {"mei": {"note": "host"}}}, "new": {"name": "New"}}}`)
	d.write(".hidden.yaml", "no: yes")
	code, out, errs := d.server("plan", "-f", d.folder)
	for _, line := range []string{
		"+ group new\n", "+ policy tea  (loosens)\n    + /actions/message/min_interval_ms: 500\n" +
			"    ! /actions/message/min_interval_ms: 500 is asked for, 1000 is in force: the bounds' min is 1000\n",
		"+ exemption tea mei  (loosens)\n    + /note: \"host\"\n",
		"3 to create, 0 to update, 0 to remove, 0 unchanged; 2 loosen, 0 tighten; 1 value held back by the bounds\n", "plan_token: ",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("no %q in\n%s", line, out)
		}
	}
	if code != exitChanges || errs != "" {
		t.Errorf("plan ends with %d: %s", code, errs)
	}
	_, token, _ := strings.Cut(strings.TrimSpace(out), "plan_token: ")
	if code, _, errs := d.server("apply", "-f", d.folder, "--plan-token", "other"); code != exitError || !strings.Contains(errs, "plan again") {
		t.Errorf("apply of another plan ends with %d: %s", code, errs)
	}
	code, out, errs = d.server("apply", "-f", d.folder, "--plan-token", token, "--reason", "commit 1/ü")
	if code != exitOK || !strings.Contains(out, "3 created, 0 updated, 0 removed, 0 unchanged") || !strings.Contains(errs, "live in Redis: 1 of 1 policy") {
		t.Errorf("apply ends with %d: %s%s", code, out, errs)
	}
	page, err := d.p.store.ListAudit(t.Context(), store.AuditQuery{Channel: "apply"})
	if err != nil || len(page.Items) != 3 || page.Items[0].Reason != "commit 1/ü" || page.Items[0].Actor != "tests" {
		t.Errorf("%+v, %v", page.Items, err)
	}
	if code, out, _ := d.server("plan", "-f", d.folder); code != exitOK || !strings.Contains(out, "0 to create, 0 to update, 0 to remove, 3 unchanged") {
		t.Errorf("the second plan ends with %d: %s", code, out)
	}
	if code, out, _ := d.server("apply", "-f", d.folder); code != exitOK || !strings.Contains(out, "nothing to apply: 3 unchanged") {
		t.Errorf("the second apply ends with %d: %s", code, out)
	}
	d.prunesAndExports()
}

func (d *desk) prunesAndExports() {
	t := d.t
	t.Helper()
	path := d.write("c.yml", "groups: {tea: {}}\n")
	code, out, _ := d.server("plan", "-f", path, "--prune", "exemptions", "--prune", "policies", "--scope", "group:tea")
	if code != exitChanges || !strings.Contains(out, "- policy tea  (tightens)\n    - /actions/message/min_interval_ms: 500\n") || !strings.Contains(out, "- exemption tea mei  (tightens)") {
		t.Errorf("plan of removals ends with %d: %s", code, out)
	}
	d.write("d.yaml", "groups: {tea: {policy: {}}}\n")
	if code, _, errs := d.server("validate", "-f", d.folder); code != exitError || !strings.Contains(errs, "d.yaml:1:16: it is stated already at "+filepath.Join(d.folder, "a.yaml")+":3:5") {
		t.Errorf("validate of a policy twice ends with %d: %s", code, errs)
	}
	code, out, _ = d.server("export", "--group", "tea", "--kind", "exemptions")
	if code != exitOK || out != "groups:\n  tea:\n    exemptions:\n      mei: {note: host}\n" {
		t.Errorf("export ends with %d: %s", code, out)
	}
	if code, _, errs := d.server("plan", "-f", path, "--prune", "all"); code != exitError || errs == "" {
		t.Errorf("a wrong command line of plan ends with %d", code)
	}
	if code, _, errs := d.server("plan", "-f", path, "--server", "http://127.0.0.1:1"); code != exitError || !strings.Contains(errs, "does not answer") {
		t.Errorf("plan without a server ends with %d: %s", code, errs)
	}
	if code, out, _ := d.server("schema"); code != exitOK || !strings.Contains(out, `"$defs"`) {
		t.Errorf("schema ends with %d", code)
	}
	if code, out, _ := d.server("plan", "-f", path, "--json"); code != exitOK || json.Unmarshal([]byte(out), &url.Values{}) == nil {
		t.Errorf("plan --json ends with %d: %s", code, out)
	}
	code, out, _ = d.server("export", "--kind", "bounds", "--kind", "actions", "--kind", "defaults")
	system := d.write("system.txt", out)
	if code2, _, errs := d.server("validate", "-f", path, "--system", system); code != exitOK || code2 != exitOK {
		t.Errorf("validate --system ends with %d: %s", code2, errs)
	}
}
