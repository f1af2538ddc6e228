package policy

import (
	"maps"
	"slices"
	"strings"
)

// ImpactChange is one setting of which another value would be in force. Values are JSON. Bound says what holds the group's
// own request back after the change, or else did before it: min, max, forbidden; empty where nothing does, as where the
// group follows the defaults.
type ImpactChange struct {
	Path      string // JSON pointer into the document
	Requested []byte // what the group's document states there; nil = nothing
	Before    []byte // in force; nil = nothing
	After     []byte
	Bound     string
	Limit     any // the bound itself; nil where Bound is forbidden or empty
}

// sameEffect says whether two effective policies of one registry do the same, wherever their settings come from.
func sameEffect(a, b *Effective) bool {
	for name := range a.Actions {
		before, after := a.Actions[name], b.Actions[name]
		if !sameAction(&before, &after) {
			return false
		}
	}
	return a.TimeZone == b.TimeZone && a.ForgiveOneEveryMS == b.ForgiveOneEveryMS &&
		slices.Equal(a.ExemptRoles, b.ExemptRoles) && slices.Equal(a.Ladder, b.Ladder) &&
		maps.EqualFunc(a.Notices, b.Notices, maps.Equal[map[string]string])
}

func sameAction(a, b *Action) bool {
	return a.Enabled == b.Enabled && a.Mode == b.Mode && a.MinIntervalMS == b.MinIntervalMS && a.OnFailure == b.OnFailure &&
		samePointed(a.Window, b.Window) && samePointed(a.Group, b.Group) && samePointed(a.Ban, b.Ban)
}

func samePointed[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// explain tells what differs between two effective policies, each in the shape of a document, what the document requests there, and what holds it back.
func explain(d, before, after Document, held, holds []Clamp) []ImpactChange {
	var out []ImpactChange
	stated, _ := treeOf(d.JSON()) // canonical texts are well formed
	for _, change := range Diff(before, after) {
		c := ImpactChange{Path: change.Path, Requested: stated.at(change.Path), Before: change.Before, After: change.After}
		if by := holding(change.Path, holds, held); by != nil {
			c.Bound, c.Limit = by.Bound, by.Limit
		}
		out = append(out, c)
	}
	return out
}

// holding finds the clamp of a setting, of what it is part of, or of a part of it.
func holding(path string, reports ...[]Clamp) *Clamp {
	for _, clamps := range reports {
		for i := range clamps {
			if p := clamps[i].Path; p == path || strings.HasPrefix(p, path+"/") || strings.HasPrefix(path, p+"/") {
				return &clamps[i]
			}
		}
	}
	return nil
}

// at is the value that a text has at a pointer, or the plain value that ends the way there, such as null for a window
// whose limit is asked for; nil for none. The pointer's tokens need no unescaping.
func (t *tree) at(pointer string) []byte {
	i := rootOf(t)
	for token := range strings.SplitSeq(pointer[1:], "/") {
		if !t.isOpen(i) {
			break
		}
		i = t.valueOf(i, []byte(token))
	}
	return t.stated(i)
}
