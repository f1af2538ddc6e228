package config

import (
	"fmt"
	"strings"

	"github.com/pacekeeper/pacekeeper/policy"
)

// Fault is one fault of a file, with its place.
type Fault struct {
	File         string
	Line, Column int    // in characters, from 1; 0 = of the whole file
	Pointer      string // RFC 6901, into what the files state
	Code         string // as policy.FieldError has it
	Detail       string
}

// String is file:line:column: detail, as editors and compilers know it.
func (f Fault) String() string {
	name := f.File
	if name == "" {
		name = "(body)"
	}
	if f.Line == 0 {
		return name + ": " + f.Detail
	}
	return fmt.Sprintf("%s:%d:%d: %s", name, f.Line, f.Column, f.Detail)
}

// Error is what is wrong with files, every fault (the first 100) at once.
type Error struct {
	Code    policy.Code // CodeMalformed or CodeInvalid, or CodeConflict where Place was given one
	Message string
	Faults  []Fault
}

const maxFaults = 100

// Error implements the error interface: a line for each fault.
func (e *Error) Error() string {
	lines := make([]string, 0, len(e.Faults)+1)
	for _, f := range e.Faults {
		lines = append(lines, f.String())
	}
	if len(lines) == 0 {
		lines = append(lines, e.Message)
	}
	return strings.Join(lines, "\n")
}

// Unwrap is the error as the faces show it: each detail begins with its line and column.
func (e *Error) Unwrap() error {
	public := &policy.Error{Code: e.Code, Message: e.Message}
	for _, f := range e.Faults {
		field := policy.FieldError{Pointer: f.Pointer, Code: f.Code, Detail: f.Detail}
		if f.Line > 0 {
			field.Detail = fmt.Sprintf("line %d, column %d: %s", f.Line, f.Column, f.Detail)
		}
		public.Fields = append(public.Fields, field)
	}
	if len(public.Fields) == 1 {
		public.Message += ": " + public.Fields[0].Detail
	}
	return public
}

func malformed(name string, faults ...Fault) error {
	for i := range faults {
		faults[i].File = name
	}
	return &Error{Code: policy.CodeMalformed, Message: "the file cannot be read", Faults: faults[:min(len(faults), maxFaults)]}
}
