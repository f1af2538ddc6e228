package policy

import (
	"bytes"
	"fmt"
	"math"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	maxDepth       = 32 // of objects and arrays in each other
	bytesPerNode   = 7  // of dense documents
	linearKeys     = 16 // objects with more members look for duplicate keys in a map
	maxJSONBytes   = math.MaxInt32 / 2
	errNULInString = "NUL is not allowed in a string"
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
		s.nodes[at].size++
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
		s.nodes[at].size++
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
	at = int32(len(s.nodes)) //nolint:gosec // a text has fewer nodes than bytes, and those fit
	s.nodes = append(s.nodes, node{start: int32(s.pos), kind: k})
	s.pos++
	return at, true
}

func (s *scanner) shut(at int32) bool {
	s.pos++
	s.nodes[at].end = int32(s.pos)
	s.nodes[at].next = int32(len(s.nodes)) //nolint:gosec // see open
	return true
}

// leaf appends a value without children that spans from start to end.
func (s *scanner) leaf(k kind, start, end int, escaped bool) {
	next := int32(len(s.nodes) + 1) //nolint:gosec // see open
	s.nodes = append(s.nodes, node{start: int32(start), end: int32(end), next: next, kind: k, escaped: escaped})
}

func (s *scanner) word(word string, k kind) bool {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(word)) {
		return s.unexpected("a value")
	}
	s.leaf(k, s.pos, s.pos+len(word), false)
	s.pos += len(word)
	return true
}

func (s *scanner) number() bool {
	start := s.pos
	if s.data[start]-'1' < 9 { // digits alone, the usual case
		end := start + 1
		for end < len(s.data) && s.data[end]-'0' < 10 {
			end++
		}
		if end < len(s.data) && s.data[end] != '.' && s.data[end]|0x20 != 'e' {
			s.leaf(kindNumber, start, end, false)
			s.pos = end
			return true
		}
	}
	return s.anyNumber()
}

func (s *scanner) anyNumber() bool {
	start := s.pos
	if s.data[s.pos] == '-' {
		s.pos++
		if s.pos < len(s.data) && s.data[s.pos] == 'I' {
			s.pos--
			return s.word("-Infinity", kindNaN)
		}
	}
	leadingZero := s.pos < len(s.data) && s.data[s.pos] == '0'
	if digits := s.digits(); digits == 0 || leadingZero && digits > 1 {
		return s.failAt(start, "a number must start with one digit, and with 0 only before a point")
	}
	if s.pos < len(s.data) && s.data[s.pos] == '.' {
		s.pos++
		if s.digits() == 0 {
			return s.unexpected("a digit")
		}
	}
	if s.pos < len(s.data) && s.data[s.pos]|0x20 == 'e' {
		s.pos++
		if s.pos < len(s.data) && (s.data[s.pos] == '+' || s.data[s.pos] == '-') {
			s.pos++
		}
		if s.digits() == 0 {
			return s.unexpected("a digit")
		}
	}
	s.leaf(kindNumber, start, s.pos, false)
	return true
}

func (s *scanner) digits() (n int) {
	for s.pos < len(s.data) && s.data[s.pos]-'0' <= 9 {
		s.pos++
		n++
	}
	return n
}

// stringValue reads a string without anything special in it; the first special byte leads to specialString.
func (s *scanner) stringValue() bool {
	data, start := s.data, s.pos+1
	for i := start; i < len(data); i++ {
		c := data[i]
		if c == '"' {
			s.leaf(kindString, start, i, false)
			s.pos = i + 1
			return true
		}
		if c == '\\' || c < ' ' {
			s.pos = i
			return s.specialString(start)
		}
	}
	s.pos = len(data)
	return s.unexpected("the closing '\"' of a string")
}

// specialString reads on from the first backslash or control character of a string.
func (s *scanner) specialString(start int) bool {
	for ; s.pos < len(s.data); s.pos++ {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.leaf(kindString, start, s.pos, true)
			s.pos++
			return true
		case c == '\\':
			if !s.escape() {
				return false
			}
		case c == 0:
			return s.fail(errNULInString)
		case c < ' ':
			return s.fail("control characters in a string must be escaped")
		}
	}
	return s.unexpected("the closing '\"' of a string")
}

// escape checks the escape at pos and leaves pos on its last byte.
func (s *scanner) escape() bool {
	if s.pos+1 >= len(s.data) {
		s.pos = len(s.data)
		return s.unexpected("an escape")
	}
	switch s.data[s.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
		return true
	case 'u':
		return s.unicodeEscape()
	}
	return s.fail("an unknown escape; known are \\\" \\\\ \\/ \\b \\f \\n \\r \\t and \\u with four hex digits")
}

func (s *scanner) unicodeEscape() bool {
	r := hexRune(s.data[s.pos+2:])
	switch {
	case r < 0:
		return s.fail("\\u needs four hex digits")
	case r == 0:
		return s.fail(errNULInString)
	case !utf16.IsSurrogate(r):
		s.pos += 5
		return true
	}
	rest := s.data[s.pos+6:]
	if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' ||
		utf16.DecodeRune(r, hexRune(rest[2:])) == utf8.RuneError {
		return s.fail("a surrogate stands alone; it needs its other half")
	}
	s.pos += 11
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
