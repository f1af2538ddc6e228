package policy

import (
	"strconv"
	"strings"
)

// Locator finds where in a JSON text the values stand that pointers name. Make it with NewLocator; safe for concurrent use.
type Locator struct{ tree *tree }

// NewLocator reads a text. The error is CodeMalformed.
func NewLocator(data []byte) (Locator, error) {
	t, err := treeOf(data)
	return Locator{t}, err
}

// Find returns the byte offsets of the value that a pointer names and of the key before it; key is −1 for what has none.
// Where the text does not have it, they are those of the nearest value around it, and found is false.
func (l Locator) Find(pointer string) (key, value int, found bool) {
	key, at := -1, rootOf(l.tree)
	if at == absent {
		return key, 0, false
	}
	if pointer != "" {
		for token := range strings.SplitSeq(pointer[1:], "/") {
			inner, label := l.step(at, token)
			if inner == absent {
				return key, l.start(at), false
			}
			if key = -1; label != absent {
				key = l.start(label)
			}
			at = inner
		}
	}
	return key, l.start(at), true
}

// step goes down one token; absent where the text does not have it.
func (l Locator) step(at int32, token string) (value, key int32) {
	t := l.tree
	switch t.nodes[at].kind { //nolint:exhaustive // the kinds with an inside
	case kindObject:
		if v := t.valueOf(at, []byte(strings.NewReplacer("~1", "/", "~0", "~").Replace(token))); v != absent {
			return v, v - 1
		}
	case kindArray:
		n := 0
		for v := at + 1; v < t.nodes[at].next; v = t.nodes[v].next {
			if token == strconv.Itoa(n) {
				return v, absent
			}
			n++
		}
	}
	return absent, absent
}

// start is where a value begins, a text with its quote.
func (l Locator) start(i int32) int {
	n := l.tree.nodes[i]
	if n.kind == kindString {
		return int(n.start) - 1
	}
	return int(n.start)
}
