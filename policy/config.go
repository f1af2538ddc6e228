package policy

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Config is what the files of policy as config state, all of them together. What they leave out stays as it is; the zero
// Config states nothing.
type Config struct {
	Bounds   *Bounds
	Defaults *Document
	Actions  []ActionSpec  // of the registry, by name, each once
	Groups   []GroupConfig // by id, each once
}

// GroupConfig is what files state of one group.
type GroupConfig struct {
	ID         string
	Name       Setting[string] // ≤ 200 characters; never null
	Locale     Setting[string] // a language tag; never null
	Policy     *Document       // the whole document
	Exemptions []ExemptionConfig
}

// ExemptionConfig is what files state of one exemption. GroupConfig has them by user, each once.
type ExemptionConfig struct {
	UserID    string
	ExpiresAt time.Time // UTC, in µs; zero = no end
	Note      string    // ≤ 500 characters
}

// Empty says whether nothing is stated.
func (c Config) Empty() bool {
	return c.Bounds == nil && c.Defaults == nil && len(c.Actions) == 0 && len(c.Groups) == 0
}

// JSON is the canonical text of a config: the order bounds, defaults, actions, groups, each by name. Equal configs have
// equal texts, and ParseConfig reads the text back.
func (c Config) JSON() []byte {
	p := &printer{out: make([]byte, 0, 1024+256*len(c.Groups))}
	p.open('{')
	if c.Bounds != nil {
		p.key("bounds")
		p.raw(c.Bounds.JSON(nil))
	}
	if c.Defaults != nil {
		p.key("defaults")
		p.raw(c.Defaults.JSON())
	}
	if len(c.Actions) > 0 {
		p.key("actions")
		p.raw(ActionsJSON(c.Actions))
	}
	if len(c.Groups) > 0 {
		p.key("groups")
		p.open('{')
		for _, g := range c.Groups {
			p.key(g.ID)
			p.raw(g.JSON())
		}
		p.shut('}')
	}
	p.shut('}')
	return p.out
}

// ActionsJSON is the registry as files state it: {"comment":{"speech":true},…}, in the order given.
func ActionsJSON(actions []ActionSpec) []byte {
	p := &printer{out: make([]byte, 0, 64*len(actions))}
	p.open('{')
	for _, a := range actions {
		p.key(a.Name)
		p.open('{')
		p.key("speech")
		p.boolean(a.Speech)
		p.shut('}')
	}
	p.shut('}')
	return p.out
}

// JSON is the canonical text of a group, without its id.
func (g GroupConfig) JSON() []byte {
	p := &printer{out: make([]byte, 0, 256+64*len(g.Exemptions))}
	p.open('{')
	setting(p, "name", g.Name, p.str)
	setting(p, "locale", g.Locale, p.str)
	if g.Policy != nil {
		p.key("policy")
		p.raw(g.Policy.JSON())
	}
	if len(g.Exemptions) > 0 {
		p.key("exemptions")
		p.open('{')
		for _, e := range g.Exemptions {
			p.key(e.UserID)
			p.raw(e.JSON())
		}
		p.shut('}')
	}
	p.shut('}')
	return p.out
}

// JSON is the canonical text of an exemption, without its user.
func (e ExemptionConfig) JSON() []byte {
	p := &printer{}
	p.open('{')
	if !e.ExpiresAt.IsZero() {
		p.key("expires_at")
		p.str(e.ExpiresAt.UTC().Format(time.RFC3339Nano))
	}
	if e.Note != "" {
		p.key("note")
		p.str(e.Note)
	}
	p.shut('}')
	return p.out
}

// raw writes a JSON text as it stands.
func (p *printer) raw(text []byte) {
	p.separate()
	p.out = append(p.out, text...)
}

// Merge puts two configs together. What both state is a fault, with its pointer: the bounds, the defaults, an action, of a
// group its name, its locale, its policy or an exemption. The error is CodeInvalid; its faults have the code duplicate.
func (c Config) Merge(other Config) (Config, error) {
	m := merging{}
	c.Bounds = oneOf(&m, "/bounds", c.Bounds, other.Bounds)
	c.Defaults = oneOf(&m, "/defaults", c.Defaults, other.Defaults)
	c.Actions = mergeSorted(c.Actions, other.Actions,
		func(a ActionSpec) string { return a.Name },
		func(a, _ ActionSpec) ActionSpec { m.twice("/actions/" + a.Name); return a })
	c.Groups = mergeSorted(c.Groups, other.Groups, func(g GroupConfig) string { return g.ID }, m.group)
	if len(m.fields) > 0 {
		return c, &Error{Code: CodeInvalid, Message: "something is stated twice", Fields: m.fields}
	}
	return c, nil
}

type merging struct{ fields []FieldError }

func (m *merging) twice(path string) {
	if len(m.fields) < maxFaults {
		m.fields = append(m.fields, FieldError{path, "duplicate", "it is stated twice"})
	}
}

func (m *merging) group(a, b GroupConfig) GroupConfig {
	path := "/groups/" + escapePointer(a.ID)
	a.Name = oneSetting(m, path+"/name", a.Name, b.Name)
	a.Locale = oneSetting(m, path+"/locale", a.Locale, b.Locale)
	a.Policy = oneOf(m, path+"/policy", a.Policy, b.Policy)
	a.Exemptions = mergeSorted(a.Exemptions, b.Exemptions,
		func(e ExemptionConfig) string { return e.UserID },
		func(e, _ ExemptionConfig) ExemptionConfig {
			m.twice(path + "/exemptions/" + escapePointer(e.UserID))
			return e
		})
	return a
}

func oneOf[T any](m *merging, path string, a, b *T) *T {
	if a != nil && b != nil {
		m.twice(path)
	}
	return cmp.Or(a, b)
}

func oneSetting[T any](m *merging, path string, a, b Setting[T]) Setting[T] {
	if a.Set && b.Set {
		m.twice(path)
	}
	if a.Set {
		return a
	}
	return b
}

// mergeSorted merges two lists that are sorted by key; both joins two entries of one key.
func mergeSorted[T any](a, b []T, key func(T) string, both func(a, b T) T) []T {
	if len(a) == 0 {
		return b
	}
	merged := make([]T, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch order := strings.Compare(key(a[0]), key(b[0])); {
		case order < 0:
			merged, a = append(merged, a[0]), a[1:]
		case order > 0:
			merged, b = append(merged, b[0]), b[1:]
		default:
			merged, a, b = append(merged, both(a[0], b[0])), a[1:], b[1:]
		}
	}
	return append(append(merged, a...), b...)
}

// Group finds what is stated of a group.
func (c Config) Group(id string) (GroupConfig, bool) {
	i, found := slices.BinarySearchFunc(c.Groups, id, func(g GroupConfig, id string) int { return strings.Compare(g.ID, id) })
	if !found {
		return GroupConfig{}, false
	}
	return c.Groups[i], true
}
