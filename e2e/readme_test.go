package e2e_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// step is one block of commands of the README's walk-through with the lines that it shows.
type step struct{ commands, shows string }

// The README's walk-through, as pasted into a shell: each printed line is what really happens.
func TestREADMEWalkThrough(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	steps := walkThrough(t, string(text))
	for _, shell := range []string{"bash", "sh"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			pasteSteps(t, shell, steps)
		})
	}
}

// The lines of enforce/README.md for services in other languages, on a server of the test's own.
func TestEnforceREADME(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../enforce/README.md")
	if err != nil {
		t.Fatal(err)
	}
	steps := blocks(string(text))
	if len(steps) != 1 {
		t.Fatalf("%d steps", len(steps))
	}
	shell := exec.Command("sh", "-c", strings.ReplaceAll(steps[0].commands, "redis-cli -p 16379", "redis-cli -p "+redisPort(t, embedded(t))))
	shell.Dir = ".."
	out, err := shell.CombinedOutput()
	if diff := cmp.Diff(steps[0].shows, string(out)); err != nil || diff != "" {
		t.Errorf("%v (-README +printed)\n%s", err, diff)
	}
}

// redisPort is the port that the server printed for redis-cli.
func redisPort(t *testing.T, i *instance) string {
	t.Helper()
	port := regexp.MustCompile(`redis-cli -p (\d+)`).FindStringSubmatch(i.output.String())
	if port == nil {
		t.Fatalf("the server names no port for redis-cli:\n%s", i.output)
	}
	return port[1]
}

// pasteSteps pastes the steps into a shell, after the lines that the server itself printed, each pasted twice as people do.
func pasteSteps(t *testing.T, program string, steps []step) {
	t.Helper()
	server := embedded(t)
	const border = "--- end of step ---"
	var script strings.Builder
	for line := range strings.Lines(server.output.String()) {
		if strings.HasPrefix(line, "curl ") {
			script.WriteString(strings.Repeat(strings.TrimSpace(line)+" >/dev/null\n", 2))
		}
	}
	for _, s := range steps {
		if strings.Contains(s.commands, "#") {
			t.Errorf("a comment, which some shells take for a command when it is pasted:\n%s", s.commands)
		}
		script.WriteString(s.commands + "\necho '" + border + "'\n")
	}
	here := strings.NewReplacer("http://127.0.0.1:8080", server.url, "redis-cli -p 16379", "redis-cli -p "+redisPort(t, server))
	shell := exec.Command(program, "-c", here.Replace(script.String()))
	shell.Env = append(os.Environ(), "TOKEN="+operator, "PACEKEEPER_BOOTSTRAP_TOKEN="+operator)
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	printed := strings.Split(string(out), border+"\n")
	for n, s := range steps {
		if diff := cmp.Diff(strings.TrimSpace(s.shows), strings.TrimSpace(printed[n])); diff != "" {
			t.Errorf("after\n%s\n(-README +printed)\n%s", s.commands, diff)
		}
	}
}

// walkThrough reads the sh blocks of the chapter, each with the text block behind it.
func walkThrough(t *testing.T, readme string) []step {
	t.Helper()
	_, chapter, ok := strings.Cut(readme, "\n## Walk-through\n")
	if !ok {
		t.Fatal("README.md has no walk-through")
	}
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	steps := blocks(chapter)
	if len(steps) < 6 {
		t.Fatalf("%d steps", len(steps))
	}
	return steps
}

// blocks reads the sh blocks of a text, each with the text block behind it.
func blocks(chapter string) []step {
	var steps []step
	for _, block := range regexp.MustCompile("(?s)```(sh|text)\n(.*?)```").FindAllStringSubmatch(chapter, -1) {
		if block[1] == "sh" {
			steps = append(steps, step{commands: block[2]})
			continue
		}
		steps[len(steps)-1].shows = block[2]
	}
	return steps
}
