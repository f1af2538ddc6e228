package config

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pacekeeper/pacekeeper/policy"
)

// flowWidth is how long a block may be that stands on one line.
const flowWidth = 90 // bytes

// member is a part of a value, in the order of the text.
type member struct {
	key   string // of an object
	value value
}

// value is a JSON value in the form that YAML is printed from: a scalar as YAML spells it, or its parts.
type value struct {
	scalar string
	parts  []member
	kind   json.Delim // 0 = scalar
}

// yamlOf is a JSON text as lines of YAML, indented by so many steps of two spaces. A text that is no JSON is a fault of the
// program, for all texts here are printed by policy.
func yamlOf(text []byte, indent int) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := readValue(d)
	if err != nil {
		return nil, err
	}
	return v.block(nil, indent), nil
}

func readValue(d *json.Decoder) (v value, err error) {
	token, err := d.Token()
	if err != nil {
		return v, err
	}
	switch token := token.(type) {
	case json.Delim:
		return readParts(d, token)
	case json.Number:
		v.scalar = token.String()
	case string:
		v.scalar = spell(token)
	case bool:
		v.scalar = map[bool]string{true: "true", false: "false"}[token]
	default:
		v.scalar = "null"
	}
	return v, nil
}

func readParts(d *json.Decoder, open json.Delim) (v value, err error) {
	v.kind = open
	for d.More() {
		var m member
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return v, err
			}
			m.key, _ = key.(string)
		}
		if m.value, err = readValue(d); err != nil {
			return v, err
		}
		v.parts = append(v.parts, m)
	}
	_, err = d.Token()
	return v, err
}

// flow is the value on one line; ok only where it is short and holds nothing that has parts of its own.
func (v value) flow() (text string, ok bool) {
	if v.kind == 0 {
		return v.scalar, true
	}
	var b strings.Builder
	b.WriteString(map[json.Delim]string{'{': "{", '[': "["}[v.kind])
	for i, m := range v.parts {
		if len(m.value.parts) > 0 {
			return "", false
		}
		if i > 0 {
			b.WriteString(", ")
		}
		if v.kind == '{' {
			b.WriteString(spellKey(m.key) + ": ")
		}
		inner, _ := m.value.flow()
		b.WriteString(inner)
	}
	b.WriteString(map[json.Delim]string{'{': "}", '[': "]"}[v.kind])
	return b.String(), b.Len() <= flowWidth || len(v.parts) == 0
}

// block appends the value as lines of their own.
func (v value) block(out []byte, indent int) []byte {
	for _, m := range v.parts {
		out = append(out, strings.Repeat("  ", indent)...)
		lead := "-"
		if v.kind == '{' {
			lead = spellKey(m.key) + ":"
		}
		out = append(out, lead...)
		if text, short := m.value.flow(); short {
			out = append(append(append(out, ' '), text...), '\n')
			continue
		}
		out = m.value.block(append(out, '\n'), indent+1)
	}
	return out
}

// spell writes a text so that every reader of YAML takes it for that text: plain where it is words of letters and digits, else
// in double quotes, which JSON and YAML share.
func spell(text string) string {
	if plainText(text) {
		return text
	}
	out := policy.AppendJSONString(make([]byte, 0, len(text)+2), text)
	if !strings.ContainsFunc(text, foldedByYAML) {
		return string(out)
	}
	var b strings.Builder
	for _, r := range string(out) {
		if foldedByYAML(r) {
			b.WriteString(escaped(r))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// foldedByYAML are characters that YAML breaks lines at, or does not take raw.
func foldedByYAML(r rune) bool {
	return r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff
}

func escaped(r rune) string {
	const hex = "0123456789abcdef"
	return `\u` + string([]byte{hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15]})
}

// spellKey is spell, with numbers in quotes.
func spellKey(key string) string {
	if plainText(key) {
		return key
	}
	return spell(key)
}

func plainText(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	if text == "" || len(text) > flowWidth || !unicode.IsLetter(first) || strings.HasSuffix(text, " ") || strings.Contains(text, "  ") {
		return false
	}
	for _, r := range text {
		if !unicode.IsLetter(r) && (r < '0' || r > '9') && !strings.ContainsRune(" _./+-", r) {
			return false
		}
	}
	k, _ := meaning(text)
	return k == isText
}
