package policy

import (
	"unicode/utf16"
	"unicode/utf8"
)

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
			return s.fail(nulInString)
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
		return s.fail(nulInString)
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

// unescape resolves the escapes of a string that the scanner has accepted.
func unescape(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			continue
		}
		i++
		if raw[i] != 'u' {
			out = append(out, plainEscape(raw[i]))
			continue
		}
		r := hexRune(raw[i+1:])
		i += 4
		if utf16.IsSurrogate(r) {
			r = utf16.DecodeRune(r, hexRune(raw[i+3:]))
			i += 6
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

func plainEscape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

// hexRune reads four hex digits, or -1.
func hexRune(s []byte) rune {
	if len(s) < 4 {
		return -1
	}
	var r rune
	for _, c := range s[:4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return -1
		}
	}
	return r
}

// AppendJSONString appends a text, which must be valid UTF-8, as a JSON string.
func AppendJSONString(b []byte, s string) []byte { return appendString(b, s) }

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
