package main

import (
	"bytes"
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pacekeeper/pacekeeper"
	"github.com/pacekeeper/pacekeeper/config"
)

// judge holds files against the schema that the server serves, and against validate.
type judge struct {
	t      *testing.T
	schema *jsonschema.Schema
	path   string
}

func newJudge(t *testing.T) *judge {
	t.Helper()
	text, err := config.Schema(pacekeeper.OpenAPI)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("policy-config.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("policy-config.json")
	if err != nil {
		t.Fatalf("the schema is none: %v", err)
	}
	return &judge{t, schema, filepath.Join(t.TempDir(), "judged.yaml")}
}

// validate is what the command says of a file; nil = valid.
func (j *judge) validate(text string) error {
	j.t.Helper()
	if err := os.WriteFile(j.path, []byte(text), 0o600); err != nil {
		j.t.Fatal(err)
	}
	_, err := validateCmd{fileFlags: fileFlags{Files: []string{j.path}}}.run(context.Background(), io.Discard)
	return err
}

// bySchema is what the schema says of a file; readable is false for what is no file that is read at all.
func (j *judge) bySchema(text string) (readable bool, refused error) {
	j.t.Helper()
	file, err := config.Read("judged.yaml", []byte(text))
	if err != nil {
		return false, err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(file.JSON()))
	if err != nil {
		j.t.Fatal(err)
	}
	return true, j.schema.Validate(value)
}

// TestSchemaTakesEverySample takes what the documentation and all tests of this repository state as files: what validate
// takes, the schema takes.
func TestSchemaTakesEverySample(t *testing.T) {
	t.Parallel()
	j, taken := newJudge(t), 0
	for _, sample := range samples(t) {
		if j.validate(sample) != nil {
			continue
		}
		taken++
		if _, err := j.bySchema(sample); err != nil {
			t.Errorf("the schema refuses what validate takes: %v\n%s", err, sample)
		}
	}
	if taken < 20 {
		t.Errorf("%d samples: the walk finds too few", taken)
	}
}

// samples are texts that may be files of policy as config.
func samples(t *testing.T) (texts []string) {
	t.Helper()
	about := regexp.MustCompile(`(groups|bounds|defaults|actions)"? ?:`)
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".." || entry.Name() == "node_modules" {
			return fs.SkipDir
		}
		var found []string
		switch {
		case strings.HasSuffix(path, "_test.go"):
			found, err = literals(path)
		case strings.HasSuffix(path, ".md"):
			found, err = blocks(path)
		}
		for _, text := range found {
			if about.MatchString(text) {
				texts = append(texts, text)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// literals are the string constants of a Go file.
func literals(path string) (texts []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil {
				texts = append(texts, text)
			}
		}
		return true
	})
	return texts, nil
}

// blocks are the fenced blocks of a page, and what a shell writes into files in them.
func blocks(path string) (texts []string, err error) {
	page, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for i, block := range strings.Split(string(page), "```") {
		if _, body, found := strings.Cut(block, "\n"); found && i%2 == 1 {
			texts = append(texts, body)
			for _, part := range strings.Split(body, "<<'END'\n")[1:] {
				inside, _, _ := strings.Cut(part, "\nEND")
				texts = append(texts, inside+"\n")
			}
		}
	}
	return texts, nil
}

// beyondSchema are the faults that a schema has no words for, each by its code and a pattern of its pointer.
func beyondSchema() map[string][]string {
	const document = "/(defaults|groups/[^/]+/policy)"
	return map[string][]string{
		"unknown": {
			document + "/time_zone",           // the time zones of the world are no list of ours
			document + "/exempt_roles/[0-9]+", // operators add roles
			document + "/actions/[^/]+",       // and actions
		},
	}
}

func sayable(f config.Fault) bool {
	for _, pattern := range beyondSchema()[f.Code] {
		if regexp.MustCompile("^" + pattern + "$").MatchString(f.Pointer) {
			return false
		}
	}
	return true
}

// TestSchemaAgreesWithValidate mutates a file a hundred times. What validate takes, the schema takes; what the schema takes
// and validate does not has faults alone that a schema cannot say.
func TestSchemaAgreesWithValidate(t *testing.T) {
	t.Parallel()
	j, random := newJudge(t), rand.New(rand.NewSource(41))
	both := map[bool]int{}
	for range 100 {
		text := mutate(random, mutable)
		if random.Intn(4) == 0 {
			text = mutate(random, text)
		}
		fault := j.validate(text)
		readable, refused := j.bySchema(text)
		if !readable {
			continue
		}
		both[fault == nil]++
		var told *config.Error
		switch {
		case fault == nil && refused != nil:
			t.Errorf("the schema refuses what validate takes: %v\n%s", refused, text)
		case fault != nil && refused == nil && errors.As(fault, &told):
			for _, f := range told.Faults {
				if sayable(f) {
					t.Errorf("the schema takes what validate refuses: %s %s: %s\n%s", f.Pointer, f.Code, f.Detail, text)
				}
			}
		case fault != nil && refused == nil:
			t.Errorf("the schema takes what validate refuses: %v\n%s", fault, text)
		}
	}
	if both[true] < 10 || both[false] < 10 {
		t.Errorf("%v: the mutations test nothing", both)
	}
}
