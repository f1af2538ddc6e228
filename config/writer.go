package config

import (
	"fmt"
	"io"

	"github.com/pacekeeper/pacekeeper/policy"
)

// Format is a form of files.
type Format string

// The forms of files.
const (
	YAML Format = "yaml"
	JSON Format = "json"
)

// Writer writes a file piece by piece: bounds, defaults and actions, each at most once and in this order, then groups by id.
// The same pieces make the same bytes. After an error, which is that of the io.Writer, all further calls return it. Not safe
// for concurrent use.
type Writer struct {
	out    io.Writer
	format Format
	begun  bool // something was written
	groups bool // the groups have begun
	err    error
}

// NewWriter writes to out.
func NewWriter(out io.Writer, format Format) *Writer { return &Writer{out: out, format: format} }

// Bounds writes the bounds as the actions of the registry have them.
func (w *Writer) Bounds(b policy.Bounds, actions []string) error {
	return w.section("bounds", b.JSON(actions))
}

// Defaults writes the system's own document.
func (w *Writer) Defaults(d policy.Document) error { return w.section("defaults", d.JSON()) }

// Actions writes the registry.
func (w *Writer) Actions(actions []policy.ActionSpec) error {
	return w.section("actions", policy.ActionsJSON(actions))
}

func (w *Writer) section(name string, text []byte) error {
	if w.format == JSON {
		w.print("%s%q: %s", w.lead("{\n", ",\n"), name, text)
		return w.err
	}
	lines, err := yamlOf(append(append([]byte(`{"`+name+`":`), text...), '}'), 0)
	w.keep(err)
	w.print("%s", lines)
	w.begun = true
	return w.err
}

// Group writes a group.
func (w *Writer) Group(g policy.GroupConfig) error {
	text := append(append(append(policy.AppendJSONString([]byte{'{'}, g.ID), ':'), g.JSON()...), '}')
	if w.format == JSON {
		if !w.groups {
			w.print("%s\"groups\": {\n", w.lead("{\n", ",\n"))
			w.groups, w.begun = true, false
		}
		w.print("%s%s", w.lead("", ",\n"), text[1:len(text)-1])
		return w.err
	}
	if !w.groups {
		w.print("groups:\n")
	}
	w.groups, w.begun = true, true
	lines, err := yamlOf(text, 1)
	w.keep(err)
	w.print("%s", lines)
	return w.err
}

// Close ends the file. It does not close the io.Writer.
func (w *Writer) Close() error {
	switch {
	case w.format != JSON:
		if !w.begun {
			w.print("{}\n")
		}
	case w.groups:
		w.print("\n}\n}\n")
	default:
		w.print("%s}\n", w.lead("{", "\n"))
	}
	return w.err
}

// lead is what goes before a piece of JSON: the first or a further one.
func (w *Writer) lead(first, further string) string {
	if w.begun {
		return further
	}
	w.begun = true
	return first
}

func (w *Writer) print(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.out, format, args...)
	}
}

func (w *Writer) keep(err error) {
	if w.err == nil {
		w.err = err
	}
}
