package policy

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
)

// CheckJSON says whether data is one JSON text (RFC 8259) that every reader understands alike: valid UTF-8 without a
// byte order mark, no lone surrogates, no NUL, no key twice in an object, nothing behind it, objects and arrays nested
// at most 32 deep. The error is CodeMalformed and names line, column and byte; a duplicate key has its pointer too.
func CheckJSON(data []byte) error {
	_, err := readStrict(data)
	return err
}

// CheckKeys is CheckJSON, and says whether data is an object that has no key but the known ones, spelled exactly so
// (encoding/json takes GroupID for group_id). An unknown key is CodeInvalid with its pointer.
func CheckKeys(data []byte, known ...string) error {
	t, err := readStrict(data)
	if err != nil {
		return err
	}
	f := faults{tree: t}
	if !f.isObject(0, "the body") {
		return f.err("the body is not valid")
	}
	for k := int32(1); k < t.nodes[0].next; k = t.nodes[k+1].next {
		if !slices.Contains(known, t.text(k)) {
			f.unknown(k, known...)
		}
	}
	return f.err("the body is not valid")
}

// readStrict reads a text into a tree and refuses NaN and its like, which the scanner lets pass.
func readStrict(data []byte) (*tree, error) {
	var s scanner
	if err := s.parse(data); err != nil {
		return nil, err
	}
	for i := range s.nodes {
		if n := s.nodes[i]; n.kind == kindNaN {
			s.failAt(int(n.start), string(data[n.start:n.end])+" is no JSON number")
			return nil, s.malformed()
		}
	}
	return &s.tree, nil
}

// maxFaults is how many faults one answer names; a body with more is not worth naming them.
const maxFaults = 100

// faults collects what is wrong with a tree, all at once.
type faults struct {
	*tree
	fields []FieldError
}

func (f *faults) add(i int32, code, detail string) {
	if len(f.fields) < maxFaults {
		f.fields = append(f.fields, FieldError{f.pointer(i), code, detail})
	}
}

// addUnder reports a fault of a member that object i lacks.
func (f *faults) addUnder(i int32, key, code, detail string) {
	if len(f.fields) < maxFaults {
		f.fields = append(f.fields, FieldError{f.pointer(i) + "/" + key, code, detail})
	}
}

func (f *faults) err(message string) error {
	if len(f.fields) == 0 {
		return nil
	}
	return &Error{Code: CodeInvalid, Message: message, Fields: f.fields}
}

func (f *faults) unknown(key int32, known ...string) {
	f.add(key, "unknown", fmt.Sprintf("the key %.40q is unknown; known are %s", f.text(key), listed(known)))
}

func (f *faults) isObject(i int32, name string) bool {
	if f.nodes[i].kind != kindObject {
		f.add(i, "type", name+" must be an object")
		return false
	}
	return true
}

func (f *faults) isArray(i int32, name string) bool {
	if f.nodes[i].kind != kindArray {
		f.add(i, "type", name+" must be an array")
		return false
	}
	return true
}

func (f *faults) isString(i int32, name string) bool {
	if f.nodes[i].kind != kindString {
		f.add(i, "type", name+" must be a string")
		return false
	}
	return true
}

func listed(names []string) string {
	var b []byte
	for i, name := range names {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = append(b, name...)
	}
	return string(b)
}

// maxStored is the largest integer that a document may hold: the largest that every JSON reader keeps exact.
const maxStored = 1<<53 - 1

// number describes the values that a field takes.
type number struct {
	name, unit string
	min, max   int64
}

func (n number) detail() string {
	text := n.name + " must be a whole number of " + n.unit
	if n.max >= maxStored {
		return text + ", at least " + strconv.FormatInt(n.min, 10) + " and at most " + strconv.FormatInt(n.max, 10)
	}
	return text + " from " + strconv.FormatInt(n.min, 10) + " to " + strconv.FormatInt(n.max, 10)
}

// integer reads a whole number within its range. 1e3 and 5.0 are whole; 1.5, "2s" and NaN are faults of type.
func (f *faults) integer(i int32, want number) (int64, bool) {
	if f.nodes[i].kind != kindNumber {
		f.add(i, "type", want.detail())
		return 0, false
	}
	v, whole := wholeNumber(f.raw(i))
	switch {
	case !whole:
		f.add(i, "type", want.detail())
	case v < want.min || v > want.max:
		f.add(i, "range", want.detail())
	default:
		return v, true
	}
	return 0, false
}

// wholeNumber reads a JSON number that is a whole number, however it is written. Beyond 18 digits it is ±10^18.
func wholeNumber(text []byte) (v int64, whole bool) {
	for _, c := range text {
		if c-'0' > 9 || len(text) > 18 {
			return wholeSlow(text)
		}
		v = v*10 + int64(c-'0')
	}
	return v, true
}

func wholeSlow(text []byte) (v int64, whole bool) {
	digits, negative := bytes.CutPrefix(text, []byte{'-'})
	exponent := 0
	if at := bytes.IndexAny(digits, "eE"); at >= 0 {
		exponent = clampedExponent(digits[at+1:])
		digits = digits[:at]
	}
	before, after, _ := bytes.Cut(digits, []byte{'.'})
	digits = bytes.TrimLeft(append(bytes.Clone(before), after...), "0")
	trimmed := bytes.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed) - len(after)
	switch {
	case len(trimmed) == 0:
		return 0, true
	case exponent < 0:
		return 0, false
	case len(trimmed)+exponent > 18:
		v = 1e18
	default:
		v, _ = strconv.ParseInt(string(trimmed), 10, 64) // at most 18 digits
		for range exponent {
			v *= 10
		}
	}
	if negative {
		v = -v
	}
	return v, true
}

// clampedExponent reads an exponent within ±2^30; no text is long enough to bring such a number back.
func clampedExponent(text []byte) int {
	v, err := strconv.ParseInt(string(bytes.TrimPrefix(text, []byte{'+'})), 10, 31)
	if err != nil && text[0] == '-' {
		return -1 << 30
	}
	if err != nil {
		return 1 << 30
	}
	return int(v)
}

// appendString appends s, which is valid UTF-8, as a JSON string.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, '\\', 'n')
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
