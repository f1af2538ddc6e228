package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/pacekeeper/pacekeeper/policy"
)

// MaxBytes is the most that one file may hold, and all files of one apply together.
const MaxBytes = 20 << 20

// File is one file that was read. It is immutable and safe for concurrent use.
type File struct {
	name    string
	text    []byte                                     // JSON: the file itself, or made of its YAML
	marks   []mark                                     // of YAML: where the values of text stand in the file, by offset; nil = text is the file
	locator func() (locator policy.Locator, err error) // of text, made once: a file may have as many faults and clamps as groups
}

func newFile(name string, text []byte, marks []mark) *File {
	return &File{name, text, marks, sync.OnceValues(func() (policy.Locator, error) { return policy.NewLocator(text) })}
}

// mark says where in a file the value stands that begins at an offset of the JSON text.
type mark struct{ offset, line, column int }

// Read reads a file. A name that ends in .json is JSON; all else is YAML, of which JSON is a part. The error is *Error, with
// the faults of the form: no UTF-8, a byte order mark, broken syntax, a key twice, two documents, anchors, tags, and plain
// words that readers of YAML disagree on.
func Read(name string, data []byte) (*File, error) {
	if fault := unreadable(data); fault.Code != "" {
		return nil, malformed(name, fault)
	}
	if strings.HasSuffix(strings.ToLower(name), ".json") {
		if err := policy.CheckJSON(data); err != nil {
			return nil, fromJSON(name, data, err)
		}
		return newFile(name, data, nil), nil
	}
	text, marks, faults := fromYAML(data)
	if len(faults) > 0 {
		return nil, malformed(name, faults...)
	}
	return newFile(name, text, marks), nil
}

// unreadable is the fault of what is no text; its Code is "" for a text.
func unreadable(data []byte) Fault {
	if len(data) > MaxBytes {
		return Fault{Code: "range", Detail: fmt.Sprintf("the file has %d bytes; at most %d (20 MiB) are read", len(data), MaxBytes)}
	}
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		return Fault{Line: 1, Column: 1, Code: "format", Detail: "the file begins with a byte order mark; save it as UTF-8 without one"}
	}
	if utf8.Valid(data) {
		return Fault{}
	}
	at := 0
	for {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		at += size
	}
	line, column := position(data, at)
	return Fault{Line: line, Column: column, Code: "format", Detail: "the file is not valid UTF-8"}
}

// fromJSON gives the fault of a JSON text its place.
func fromJSON(name string, data []byte, err error) error {
	var known *policy.Error
	if !errors.As(err, &known) {
		return err
	}
	fault := Fault{Code: "format", Detail: known.Message}
	if len(known.Fields) > 0 {
		fault.Pointer, fault.Code = known.Fields[0].Pointer, known.Fields[0].Code
	}
	var at int
	if _, scanErr := fmt.Sscanf(known.Message, "line %d, column %d (byte %d)", &fault.Line, &fault.Column, &at); scanErr == nil {
		_, fault.Detail, _ = strings.Cut(known.Message, "): ")
	} else {
		fault.Line, fault.Column = position(data, 0)
	}
	return malformed(name, fault)
}

// position is the line and the column, in characters from 1, of a byte of a text.
func position(data []byte, at int) (line, column int) {
	before := data[:min(at, len(data))]
	return bytes.Count(before, []byte{'\n'}) + 1, utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
}

// JSON is the file as JSON: what the file states, in its own order.
func (f *File) JSON() []byte { return f.text }

// Config is what the file states. Faults name what allowed allows; nil = no bounds are known. The error is *Error.
func (f *File) Config(allowed *policy.Bounds) (policy.Config, error) { return Files{f}.Config(allowed) }

// place is the line and the column of an offset of the JSON text.
func (f *File) place(offset int) (line, column int) {
	if f.marks == nil {
		return position(f.text, offset)
	}
	i, found := slices.BinarySearchFunc(f.marks, offset, func(m mark, offset int) int { return m.offset - offset })
	if !found {
		i = max(i-1, 0)
	}
	if i >= len(f.marks) {
		return 1, 1
	}
	return f.marks[i].line, f.marks[i].column
}
