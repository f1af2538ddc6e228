package policy

import (
	"strconv"
	"strings"
)

// kind is the kind of a JSON value.
type kind uint8

const (
	kindNull kind = iota
	kindTrue
	kindFalse
	kindNumber
	kindNaN // NaN, Infinity, -Infinity: not JSON, but worth a fault that names the field
	kindString
	kindArray
	kindObject
)

// node is one value, or one key, of a tree. Nodes stand in the order of the text: an object is followed by key, value,
// key, value …, an array by its elements.
type node struct {
	start, end int32  // of its text; of a string without the quotes
	next       int32  // index of the first node behind it and all it contains; 0 while it is still open
	size       uint16 // members of an object, elements of an array; 65,535 = that or more
	kind       kind
	escaped    bool // a string with a backslash
}

const maxPointerToken = 100 // bytes

// tree is a parsed JSON text: the text and a flat list of its nodes, the whole value first. Numbers stay text.
type tree struct {
	data  []byte
	nodes []node
}

// raw is the text of a node as it stands, of a string without quotes and with its escapes.
func (t *tree) raw(i int32) []byte { return t.data[t.nodes[i].start:t.nodes[i].end] }

// bytes is the text of a string, unescaped; it shares memory with the input where nothing is escaped.
func (t *tree) bytes(i int32) []byte {
	if t.nodes[i].escaped {
		return unescape(t.raw(i))
	}
	return t.raw(i)
}

func (t *tree) text(i int32) string { return string(t.bytes(i)) }

// source is a value as it stands in the text, with quotes.
func (t *tree) source(i int32) []byte {
	n := t.nodes[i]
	if n.kind == kindString {
		return t.data[n.start-1 : n.end+1]
	}
	return t.data[n.start:n.end]
}

// member finds the value of a key of an object, or 0.
func (t *tree) member(object int32, key []byte) int32 {
	for k := object + 1; k < t.nodes[object].next; k = t.nodes[k+1].next {
		if string(t.bytes(k)) == string(key) {
			return k + 1
		}
	}
	return 0
}

// pointer is the RFC 6901 pointer of a value, or of the member that a key names. It searches down from the root, so
// that only faults pay for it. Where a key is too long to repeat, the pointer ends at the object that holds it.
func (t *tree) pointer(target int32) string {
	var b strings.Builder
	at := int32(0)
	for at != target && (t.nodes[at].kind == kindObject || t.nodes[at].kind == kindArray) {
		child, label, found := t.childHolding(at, target)
		if len(label) > maxPointerToken {
			break
		}
		b.WriteByte('/')
		b.WriteString(label)
		if found {
			break
		}
		at = child
	}
	return b.String()
}

// childHolding finds the child of a container that is, or holds, the target; found says that it is the target, or its key.
func (t *tree) childHolding(container, target int32) (child int32, label string, found bool) {
	isObject := t.nodes[container].kind == kindObject
	child = container + 1
	for index := 0; ; index++ {
		value := child
		if isObject {
			value = child + 1
		}
		if int(value) >= len(t.nodes) || t.nodes[value].next == 0 || target < t.nodes[value].next {
			label = strconv.Itoa(index)
			if isObject {
				label = escapePointer(t.text(child))
			}
			return value, label, target <= value
		}
		child = t.nodes[value].next
	}
}

// escapePointer makes a key a token of an RFC 6901 pointer.
func escapePointer(key string) string {
	if !strings.ContainsAny(key, "~/") {
		return key
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
