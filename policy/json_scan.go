package policy

import (
	"bytes"
	"fmt"
	"math"
	"unicode/utf8"
)

const (
	maxDepth     = 32 // of objects and arrays in each other
	bytesPerNode = 7  // of dense documents
	linearKeys   = 16 // objects with more members look for duplicate keys in a map
	maxJSONBytes = math.MaxInt32 / 2
	nulInString  = "NUL is not allowed in a string"
)

// scanner reads a JSON text (RFC 8259) into a tree. It is strict where encoding/json is lenient: UTF-8, surrogates, NUL,
// duplicate keys, depth. After a fault its methods return false; the first fault stays.
type scanner struct {
	tree
	pos     int
	fault   string // what is wrong, "" = nothing
	faultAt int
	twice   int32 // the key that occurs twice, 0 = none
}

// parse reads the whole text.
func (s *scanner) parse(data []byte) error {
	s.data, s.nodes = data, make([]node, 0, len(data)/bytesPerNode+8)
	if s.utf8() && s.value(0) && s.end() {
		return nil
	}
	return s.malformed()
}

// malformed makes the error of the fault; it names line and column, counted from 1, and the pointer of a duplicate key.
func (s *scanner) malformed() error {
	before := s.data[:s.faultAt]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	message := fmt.Sprintf("line %d, column %d (byte %d): %s", line, column, s.faultAt, s.fault)
	e := &Error{Code: CodeMalformed, Message: message}
	if s.twice > 0 {
		e.Fields = []FieldError{{Pointer: s.pointer(s.twice), Code: "duplicate", Detail: s.fault}}
	}
	return e
}

func (s *scanner) fail(what string) bool { return s.failAt(s.pos, what) }

func (s *scanner) failAt(at int, what string) bool {
	s.fault, s.faultAt = what, at
	return false
}

// utf8 checks the encoding of the whole text, and its size.
func (s *scanner) utf8() bool {
	switch {
	case len(s.data) > maxJSONBytes:
		return s.failAt(0, "the text is too long")
	case bytes.HasPrefix(s.data, []byte("\xef\xbb\xbf")):
		return s.failAt(0, "the text starts with a byte order mark")
	case utf8.Valid(s.data):
		return true
	}
	for at := 0; ; {
		r, size := utf8.DecodeRune(s.data[at:])
		if r == utf8.RuneError && size <= 1 {
			return s.failAt(at, "the text is not valid UTF-8")
		}
		at += size
	}
}

// peek skips white space and returns the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	if s.pos < len(s.data) && s.data[s.pos] > ' ' {
		return s.data[s.pos]
	}
	return s.skip()
}

func (s *scanner) skip() byte {
	for i := s.pos; i < len(s.data); i++ {
		if c := s.data[i]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			s.pos = i
			return c
		}
	}
	s.pos = len(s.data)
	return 0
}

func (s *scanner) end() bool {
	if s.peek(); s.pos < len(s.data) {
		return s.unexpected("the end of the text")
	}
	return true
}

func (s *scanner) unexpected(wanted string) bool {
	if s.pos >= len(s.data) {
		return s.fail("the text ends where " + wanted + " is expected")
	}
	r, _ := utf8.DecodeRune(s.data[s.pos:])
	return s.fail(fmt.Sprintf("%q where %s is expected", r, wanted))
}

func (s *scanner) value(depth int) bool {
	switch s.peek() {
	case '"':
		return s.stringValue()
	case '{':
		return s.object(depth + 1)
	case '[':
		return s.array(depth + 1)
	case 't':
		return s.word("true", kindTrue)
	case 'f':
		return s.word("false", kindFalse)
	case 'n':
		return s.word("null", kindNull)
	case 'N':
		return s.word("NaN", kindNaN)
	case 'I':
		return s.word("Infinity", kindNaN)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return s.number()
	}
	return s.unexpected("a value")
}

func (s *scanner) object(depth int) bool {
	at, ok := s.open(kindObject, depth)
	if !ok {
		return false
	}
	if s.peek() == '}' {
		return s.shut(at)
	}
	for s.key() && s.value(depth) {
		s.grow(at)
		switch s.peek() {
		case ',':
			s.pos++
		case '}':
			return s.shut(at) && s.uniqueKeys(at)
		default:
			return s.unexpected("',' or '}'")
		}
	}
	return false
}

func (s *scanner) key() bool {
	if s.peek() != '"' {
		return s.unexpected("a key in double quotes")
	}
	if !s.stringValue() {
		return false
	}
	if s.peek() != ':' {
		return s.unexpected("':'")
	}
	s.pos++
	return true
}

func (s *scanner) array(depth int) bool {
	at, ok := s.open(kindArray, depth)
	if !ok {
		return false
	}
	if s.peek() == ']' {
		return s.shut(at)
	}
	for s.value(depth) {
		s.grow(at)
		switch s.peek() {
		case ',':
			s.pos++
		case ']':
			return s.shut(at)
		default:
			return s.unexpected("',' or ']'")
		}
	}
	return false
}

func (s *scanner) open(k kind, depth int) (at int32, ok bool) {
	if depth > maxDepth {
		return 0, s.fail(fmt.Sprintf("objects and arrays are nested deeper than %d", maxDepth))
	}
	at = small(len(s.nodes))
	s.nodes = append(s.nodes, node{start: small(s.pos), kind: k})
	s.pos++
	return at, true
}

// grow counts one more member or element.
func (s *scanner) grow(at int32) {
	if n := &s.nodes[at]; n.size < math.MaxUint16 {
		n.size++
	}
}

func (s *scanner) shut(at int32) bool {
	s.pos++
	s.nodes[at].end, s.nodes[at].next = small(s.pos), small(len(s.nodes))
	return true
}

// leaf appends a value without children that spans from start to end.
func (s *scanner) leaf(k kind, start, end int, escaped bool) {
	next := small(len(s.nodes) + 1)
	s.nodes = append(s.nodes, node{start: small(start), end: small(end), next: next, kind: k, escaped: escaped})
}

// small makes an index of bytes or nodes fit a node. A text has at most maxJSONBytes, and fewer nodes than bytes.
func small(n int) int32 { return int32(n) } //nolint:gosec // see above

func (s *scanner) word(word string, k kind) bool {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(word)) {
		return s.unexpected("a value")
	}
	s.leaf(k, s.pos, s.pos+len(word), false)
	s.pos += len(word)
	return true
}

// uniqueKeys checks that an object that was read whole has no key twice.
func (s *scanner) uniqueKeys(object int32) bool {
	if s.nodes[object].size > linearKeys {
		return s.uniqueManyKeys(object)
	}
	for k := s.nodes[object+2].next; k < s.nodes[object].next; k = s.nodes[k+1].next {
		for other := object + 1; other < k; other = s.nodes[other+1].next {
			if s.sameKey(other, k) {
				return s.failTwice(k)
			}
		}
	}
	return true
}

func (s *scanner) sameKey(i, j int32) bool {
	a, b := &s.nodes[i], &s.nodes[j]
	if a.escaped || b.escaped {
		return string(s.bytes(i)) == string(s.bytes(j))
	}
	return a.end-a.start == b.end-b.start && string(s.data[a.start:a.end]) == string(s.data[b.start:b.end])
}

func (s *scanner) uniqueManyKeys(object int32) bool {
	seen := make(map[string]struct{}, s.nodes[object].size)
	for k := object + 1; k < s.nodes[object].next; k = s.nodes[k+1].next {
		if _, ok := seen[string(s.bytes(k))]; ok {
			return s.failTwice(k)
		}
		seen[s.text(k)] = struct{}{}
	}
	return true
}

func (s *scanner) failTwice(key int32) bool {
	s.twice = key
	return s.failAt(int(s.nodes[key].start)-1, fmt.Sprintf("the key %.40q occurs twice", s.text(key)))
}
