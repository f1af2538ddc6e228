package config

import (
	"errors"

	"github.com/pacekeeper/pacekeeper/policy"
)

// Files are the files of one plan or apply, in the order in which they were named.
type Files []*File

// Config is what all files state together. Faults name what allowed allows, or what the files' own bounds do; nil = no bounds
// are known. The error is *Error: the faults of every file, and what two of them state.
func (fs Files) Config(allowed *policy.Bounds) (all policy.Config, err error) {
	var faults []Fault
	for _, f := range fs {
		c, err := policy.ParseConfig(f.text, allowed)
		if err == nil && c.Empty() {
			err = &policy.Error{Code: policy.CodeInvalid, Fields: []policy.FieldError{{
				Code: "required", Detail: "the file states nothing: it needs bounds, defaults, actions or groups",
			}}}
		}
		if err != nil {
			faults = append(faults, f.placed(err)...)
			continue
		}
		merged, err := all.Merge(c)
		faults = append(faults, fs.twice(f, err)...)
		all = merged
	}
	if len(faults) > 0 {
		return policy.Config{}, &Error{Code: policy.CodeInvalid, Message: "the files are not valid", Faults: faults[:min(len(faults), maxFaults)]}
	}
	return all, nil
}

// placed gives the faults of one file their places.
func (f *File) placed(err error) (faults []Fault) {
	for _, field := range fieldsOf(err) {
		line, column, _ := f.find(field)
		faults = append(faults, Fault{f.name, line, column, field.Pointer, field.Code, field.Detail})
	}
	return faults
}

func fieldsOf(err error) []policy.FieldError {
	var known *policy.Error
	if !errors.As(err, &known) {
		return nil
	}
	if len(known.Fields) == 0 {
		return []policy.FieldError{{Code: "format", Detail: known.Message}}
	}
	return known.Fields
}

// find is where a fault stands: the value, or the key where the fault is about it or the value is a whole block. found tells
// whether the file has what the pointer names.
func (f *File) find(field policy.FieldError) (line, column int, found bool) {
	locator, err := f.locator()
	if err != nil {
		return 1, 1, false
	}
	key, value, found := locator.Find(field.Pointer)
	block := value < len(f.text) && (f.text[value] == '{' || f.text[value] == '[')
	if key >= 0 && (block || field.AboutKey()) {
		value = key
	}
	line, column = f.place(value)
	return line, column, found
}

// twice tells of what f states although an earlier file did.
func (fs Files) twice(f *File, err error) (faults []Fault) {
	for _, field := range fieldsOf(err) {
		line, column, _ := f.find(field)
		fault := Fault{f.name, line, column, field.Pointer, field.Code, field.Detail}
		for _, other := range fs {
			if line, column, found := other.find(field); found && other != f {
				first := Fault{File: other.name, Line: line, Column: column, Detail: "there"}
				fault.Detail = "it is stated already at " + first.place()
				break
			}
		}
		faults = append(faults, fault)
	}
	return faults
}

// place is file:line:column.
func (f Fault) place() string {
	text := f.String()
	return text[:len(text)-len(": ")-len(f.Detail)]
}

// Place gives the faults of a plan or an apply their places in the files. Other errors pass.
func (fs Files) Place(err error) error {
	var known *policy.Error
	if !errors.As(err, &known) || len(known.Fields) == 0 || len(fs) == 0 {
		return err
	}
	placed := &Error{Code: known.Code, Message: known.Message}
	for _, field := range known.Fields {
		placed.Faults = append(placed.Faults, fs.fault(field))
	}
	return placed
}

// fault places a fault in the file that states what it names, or most of it.
func (fs Files) fault(field policy.FieldError) Fault {
	best, deepest := Fault{Pointer: field.Pointer, Code: field.Code, Detail: field.Detail}, -1
	for _, f := range fs {
		depth, found := f.depth(field.Pointer)
		if depth > deepest {
			line, column, _ := f.find(field)
			best.File, best.Line, best.Column, deepest = f.name, line, column, depth
		}
		if found {
			break
		}
	}
	return best
}

// depth says how much of a pointer a file has, in bytes.
func (f *File) depth(pointer string) (n int, found bool) {
	locator, err := f.locator()
	if err != nil {
		return 0, false
	}
	for at := len(pointer); ; {
		if _, _, found := locator.Find(pointer[:at]); found {
			return at, at == len(pointer)
		}
		for at--; pointer[at] != '/'; at-- {
		}
	}
}

// Locate is file:line:column: detail of what a pointer names.
func (fs Files) Locate(pointer, detail string) string {
	return fs.fault(policy.FieldError{Pointer: pointer, Detail: detail}).String()
}
