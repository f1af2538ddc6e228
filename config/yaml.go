package config

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/pacekeeper/pacekeeper/policy"
)

// fromYAML turns a YAML text into JSON. There is one document, made of mappings, lists and plain values alone.
func fromYAML(data []byte) (text []byte, marks []mark, faults []Fault) {
	root, fault := parseYAML(data)
	if fault.Code != "" {
		return nil, nil, []Fault{fault}
	}
	c := converter{out: make([]byte, 0, len(data)+len(data)/4), marks: make([]mark, 0, len(data)/12)}
	c.value(root, "", 0)
	return c.out, c.marks, c.faults
}

// parseYAML reads the one document of a text; the Code of the fault is "" where there is one.
func parseYAML(data []byte) (root *yaml.Node, fault Fault) {
	defer func() {
		if trouble := recover(); trouble != nil { // of the reader: whatever it is, it is the file that brought it about
			root, fault = nil, Fault{Line: 1, Column: 1, Code: "format", Detail: "the file is no YAML that can be read"}
		}
	}()
	loader, err := yaml.NewLoader(strings.NewReader(string(data)))
	if err != nil {
		return nil, syntax(data, err)
	}
	var first, second yaml.Node
	switch err := loader.Load(&first); {
	case errors.Is(err, io.EOF) || err == nil && len(first.Content) == 0:
		return nil, Fault{Line: 1, Column: 1, Code: "required", Detail: "the file is empty"}
	case err != nil:
		return nil, syntax(data, err)
	}
	switch err := loader.Load(&second); {
	case err == nil:
		return nil, Fault{
			Line: second.Line, Column: second.Column, Code: "duplicate",
			Detail: "a second document begins here; a file holds one: put the groups under one groups: key, or into two files",
		}
	case !errors.Is(err, io.EOF):
		return nil, syntax(data, err)
	}
	return first.Content[0], Fault{}
}

// syntax puts a fault of the YAML reader into place.
func syntax(data []byte, err error) Fault {
	fault := Fault{Line: 1, Column: 1, Code: "format", Detail: "the file is no YAML that can be read"}
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		return fault
	}
	fault.Detail = "the YAML cannot be read here: " + load.Message
	if line, column := load.Mark.Line, load.Mark.Column; line > 0 {
		fault.Line, fault.Column = line, column
		if indentedByTab(data, line) {
			fault.Column, fault.Detail = 1, "a tab stands in the indentation; YAML is indented with spaces"
		}
		return fault
	}
	if at := strings.IndexFunc(string(data), control); at >= 0 {
		fault.Line, fault.Column = position(data, at)
		fault.Detail = "a control character stands here"
	}
	return fault
}

func control(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7f }

// indentedByTab says whether a tab stands before the first word of a line.
func indentedByTab(data []byte, line int) bool {
	lines := strings.SplitN(string(data), "\n", line+1)
	if len(lines) < line {
		return false
	}
	text := lines[line-1]
	return strings.Contains(text[:len(text)-len(strings.TrimLeft(text, " \t"))], "\t")
}

// converter writes a node and all it contains as JSON.
type converter struct {
	out    []byte
	marks  []mark
	faults []Fault
}

const maxDepth = 32 // as of JSON

func (c *converter) fault(n *yaml.Node, pointer, code, detail string) {
	if len(c.faults) < maxFaults {
		c.faults = append(c.faults, Fault{Line: n.Line, Column: n.Column, Pointer: pointer, Code: code, Detail: detail})
	}
}

func (c *converter) mark(n *yaml.Node) {
	c.marks = append(c.marks, mark{len(c.out), n.Line, n.Column})
}

func (c *converter) value(n *yaml.Node, pointer string, depth int) {
	c.mark(n)
	switch {
	case !c.plain(n, pointer):
		c.out = append(c.out, "null"...)
	case depth > maxDepth:
		c.fault(n, pointer, "format", fmt.Sprintf("blocks are nested deeper than %d", maxDepth))
		c.out = append(c.out, "null"...)
	case n.Kind == yaml.MappingNode:
		c.mapping(n, pointer, depth)
	case n.Kind == yaml.SequenceNode:
		c.sequence(n, pointer, depth)
	default:
		c.scalar(n, pointer)
	}
}

// plain refuses what JSON has no word for.
func (c *converter) plain(n *yaml.Node, pointer string) bool {
	switch {
	case n.Kind == yaml.AliasNode:
		c.fault(n, pointer, "format", "aliases (*name) are not taken; state the values, or leave them to the defaults")
	case n.Anchor != "":
		c.fault(n, pointer, "format", "anchors (&name) are not taken; state the values, or leave them to the defaults")
	case n.Style&yaml.TaggedStyle != 0:
		c.fault(n, pointer, "format", "tags (!name) are not taken; quote what is a text")
	default:
		return true
	}
	return false
}

func (c *converter) mapping(n *yaml.Node, pointer string, depth int) {
	c.out = append(c.out, '{')
	seen := make(map[string]*yaml.Node, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if i > 0 {
			c.out = append(c.out, ',')
		}
		inner := pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(shorten(key.Value))
		if !c.key(key, inner) {
			c.out = append(c.out, strconv.Itoa(i)...) // the file is refused: anything that keeps the text whole
		}
		if first := seen[key.Value]; first != nil {
			c.fault(key, inner, "duplicate", fmt.Sprintf("the key %.40q stands here for the second time; first in line %d", key.Value, first.Line))
		}
		seen[key.Value] = key
		c.out = append(c.out, ':')
		c.value(value, inner, depth+1)
	}
	c.out = append(c.out, '}')
}

func (c *converter) key(n *yaml.Node, pointer string) bool {
	c.mark(n)
	if !c.plain(n, pointer) {
		return false
	}
	if n.Kind != yaml.ScalarNode {
		c.fault(n, pointer, "type", "a key must be a plain word or a text in quotes")
		return false
	}
	if n.Style&quoted == 0 {
		if detail := doubtfulKey(n.Value); detail != "" {
			c.fault(n, pointer, "format", detail)
			return false
		}
	}
	c.text(n, pointer)
	return true
}

func (c *converter) sequence(n *yaml.Node, pointer string, depth int) {
	c.out = append(c.out, '[')
	for i, element := range n.Content {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.value(element, pointer+"/"+strconv.Itoa(i), depth+1)
	}
	c.out = append(c.out, ']')
}

// quoted are the styles in which a scalar is a text whatever it spells.
const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

func (c *converter) scalar(n *yaml.Node, pointer string) {
	if n.Style&quoted != 0 {
		c.text(n, pointer)
		return
	}
	switch kind, detail := meaning(n.Value); kind {
	case isText:
		c.text(n, pointer)
	case isDoubtful:
		c.fault(n, pointer, "format", detail)
		c.out = append(c.out, "null"...)
	case isValue:
		c.out = append(c.out, detail...)
	}
}

func (c *converter) text(n *yaml.Node, pointer string) {
	if strings.ContainsRune(n.Value, 0) {
		c.fault(n, pointer, "format", "NUL is not allowed in a text")
	}
	c.out = policy.AppendJSONString(c.out, n.Value)
}

func shorten(key string) string {
	if len(key) > 100 {
		return key[:100]
	}
	return key
}
