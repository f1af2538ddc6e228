package ui_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// made are the keys that code puts together, by what they begin or end with.
var made = regexp.MustCompile(`^(action|about|align|algo|mode|failure|do|traffic|name|notice_(en|zh)|unit|cause|kind|lane|reason|off|by|bound|bounds|defaults|token_role|channel|filter|fault)_|_(one|many)$`)

func TestEveryTextIsThereAndUsed(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("words.json")
	if err != nil {
		t.Fatal(err)
	}
	var words map[string]map[string]string
	if err := json.Unmarshal(data, &words); err != nil {
		t.Fatal(err)
	}
	sources := readSources(t)
	for _, match := range regexp.MustCompile(`(?:Say\(?\s?|say\([a-z]+, |fault\([^"\n]*, )"([a-z0-9_]+)"`).FindAllStringSubmatch(sources, -1) {
		if key := match[1]; words[key] == nil && !strings.HasSuffix(key, "_") {
			t.Errorf("%s is said and has no text", key)
		}
	}
	verb := regexp.MustCompile(`%(\[\d\])?[ds]`)
	for key, texts := range words {
		if !strings.Contains(sources, `"`+key+`"`) && !made.MatchString(key) {
			t.Errorf("%s is not used", key)
		}
		verbs := [2]int{len(verb.FindAllString(texts["en"], -1)), len(verb.FindAllString(texts["zh"], -1))}
		if verbs[0] != verbs[1] || len(texts) != 2 {
			t.Errorf("%s says different things: %v", key, texts)
		}
	}
}

func readSources(t *testing.T) string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"*.go", "templates/*.html", "templates/shared/*.html"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, found...)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, "_test.go") })
	var all strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	return all.String()
}
