package policy

import (
	"fmt"
	"slices"
	"strings"
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

// missing reports a member that object i lacks.
func (f *faults) missing(i int32, key, detail string) {
	if len(f.fields) < maxFaults {
		f.fields = append(f.fields, FieldError{f.pointer(i) + "/" + key, "required", detail})
	}
}

func (f *faults) err(message string) error {
	if len(f.fields) == 0 {
		return nil
	}
	return &Error{Code: CodeInvalid, Message: message, Fields: f.fields}
}

func (f *faults) unknown(key int32, known ...string) {
	meant := ""
	if near := nearest(f.text(key), known); near != "" {
		meant = "did you mean " + near + "? "
	}
	f.add(key, "unknown", fmt.Sprintf("the key %.40q is unknown; %sknown are %s", f.text(key), meant, listed(known)))
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

func listed(names []string) string { return strings.Join(names, ", ") }
