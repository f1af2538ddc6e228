package config_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pacekeeper/pacekeeper/config"
	"github.com/pacekeeper/pacekeeper/policy"
)

// sample states everything that files can.
const sample = `# The tea rooms.
defaults:
  time_zone: Asia/Shanghai
actions:
  gift: {speech: false}
groups:
  tea:
    name: Tea house
    locale: en
    policy:
      actions:
        message:
          min_interval_ms: 2000
          window: {algorithm: sliding_window, limit: 8, period_ms: 30000, count_refused: false}
        like: {mode: soft, ban: null}
      exempt_roles: [owner, admin]
      penalties:
        ladder:
          - {after: 3, do: mute, for_ms: 60000}
          - {after: 6, do: review}
      notices:
        en: {too_soon: "Please wait {wait}."}
    exemptions:
      "9007199254740993": {note: "yes"}
      mei: {expires_at: "2030-01-01T00:00:00Z"}
  "!a/b:example.org": {policy: {}}
`

func read(tb testing.TB, name, text string) *config.File {
	tb.Helper()
	f, err := config.Read(name, []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func stated(tb testing.TB, text string) policy.Config {
	tb.Helper()
	c, err := read(tb, "a.yaml", text).Config(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func written(tb testing.TB, c policy.Config, format config.Format) string {
	tb.Helper()
	var out strings.Builder
	w := config.NewWriter(&out, format)
	if c.Bounds != nil {
		check(tb, w.Bounds(*c.Bounds, nil))
	}
	if c.Defaults != nil {
		check(tb, w.Defaults(*c.Defaults))
	}
	if c.Actions != nil {
		check(tb, w.Actions(c.Actions))
	}
	for _, g := range c.Groups {
		check(tb, w.Group(g))
	}
	check(tb, w.Close())
	return out.String()
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// YAML, JSON and the canonical text are one: each is read back as what was written.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	c := stated(t, sample)
	bounds := policy.ShippedBounds()
	c.Bounds = &bounds
	yaml, json := written(t, c, config.YAML), written(t, c, config.JSON)
	for name, text := range map[string]string{"a.yaml": yaml, "a.json": json, "b.json": string(c.JSON()), "b.yml": string(c.JSON())} {
		back, err := read(t, name, text).Config(nil)
		check(t, err)
		if diff := cmp.Diff(string(c.JSON()), string(back.JSON())); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	if again := written(t, stated(t, yaml), config.YAML); again != yaml {
		t.Errorf("written anew it differs:\n%s", cmp.Diff(yaml, again))
	}
	for _, line := range []string{
		`    "*":`, `  mute_ms: {min: 10000, max: `, `  gift: {speech: false}`, `  tea:`, `    name: Tea house`,
		`          window: {algorithm: sliding_window, limit: 8, period_ms: 30000, count_refused: false}`,
		`          - {after: 6, do: review}`, `      "9007199254740993": {note: "yes"}`, `  "!a/b:example.org": {policy: {}}`,
	} {
		if !strings.Contains(yaml, line+"\n") && !strings.Contains(yaml, line) {
			t.Errorf("no line %q in\n%s", line, yaml)
		}
	}
	if got := written(t, policy.Config{}, config.YAML) + written(t, policy.Config{}, config.JSON); got != "{}\n{}\n" {
		t.Errorf("nothing is written as %q", got)
	}
}

// ofLines keeps what names and notes may hold.
func ofLines(r rune) rune {
	if policy.IsLine(string(r)) {
		return r
	}
	return -1
}

// Names and notes are lines, also where YAML would take more.
func TestNamesAndNotesAreLines(t *testing.T) {
	t.Parallel()
	for _, odd := range []string{`a\nb`, `a\tb`, `a\u202eb`, `a\u2028b`} {
		for pointer, text := range map[string]string{
			"/groups/tea/name": `groups: {tea: {name: "` + odd + `"}}`, "/groups/tea/exemptions/mei/note": `groups: {tea: {exemptions: {mei: {note: "` + odd + `"}}}}`,
		} {
			_, err := read(t, "a.yaml", text).Config(nil)
			if known, ok := errors.AsType[*policy.Error](err); !ok || known.Fields[0].Pointer != pointer || known.Fields[0].Code != "format" {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

// Any text that the store can hold comes back as it was.
func TestRoundTripOfTexts(t *testing.T) {
	t.Parallel()
	odd := rapid.SampledFrom([]string{
		"", " ", "no", "010", "1e3", "~", "null", "2026-01-01", "a: b", "a #b", "- a", "&a", "*a", "!a", "%a", "@a", "`a", "'", `"`,
		"\\", "a\u0085b", "a\u2028b", "\ufeffa", "a\x7fb", "a\x01b", "a\nb", "a\tb", "🐈", "茶馆", "a ", "{a}", "[a]", "a,b", "<<", "=", "?",
		"1:30", "0x1F", ".inf", "NaN", "true", "\u00a0", "\ufffe", "e\u0301", "Ünï cödé",
	})
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.OneOf(odd, rapid.StringN(0, 40, 120))
		name, note := strings.Map(ofLines, texts.Draw(t, "name")), strings.Map(ofLines, texts.Draw(t, "note"))
		user := rapid.SampledFrom([]string{"no", "010", "1e3", "-1002471352452", "null", "true", "茶", "a:b", "'", "<<", "a#", "1.5", "0", "=", "?"}).Draw(t, "user")
		c := policy.Config{Groups: []policy.GroupConfig{{
			ID: user, Name: policy.State(name), Exemptions: []policy.ExemptionConfig{{UserID: user, Note: note}},
		}}}
		for _, format := range []config.Format{config.YAML, config.JSON} {
			var out strings.Builder
			w := config.NewWriter(&out, format)
			if err := w.Group(c.Groups[0]); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			f, err := config.Read("a."+string(format), []byte(out.String()))
			if err != nil {
				t.Fatalf("%v in\n%s", err, out.String())
			}
			back, err := f.Config(nil)
			if err != nil {
				t.Fatalf("%v in\n%s", err, out.String())
			}
			if diff := cmp.Diff(string(c.JSON()), string(back.JSON())); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// TestFiles_ManyFaultsCostLittle: a file may have as many faults and clamps as groups; the text is read once for all.
func TestFiles_ManyFaultsCostLittle(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("groups:\n")
	for n := range 2000 {
		fmt.Fprintf(&text, "  g%d: {name: x}\n", n)
	}
	f := read(t, "a.yaml", text.String())
	locate := func() string { return config.Files{f}.Locate("/groups/g1999/name", "here") }
	if got := locate(); got != "a.yaml:2001:17: here" {
		t.Fatal(got)
	}
	once := testing.Benchmark(func(b *testing.B) {
		b.Helper()
		for b.Loop() {
			locate()
		}
	}).AllocedBytesPerOp()
	if once > int64(text.Len())/4 {
		t.Errorf("a place costs %d bytes of a text of %d", once, text.Len())
	}
}
