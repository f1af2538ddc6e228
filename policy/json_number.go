package policy

import (
	"bytes"
	"strconv"
)

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

// WholeNumber reads the text of a JSON value that is a whole number, however it is written: 1e3 and 5.0 are, 1.5 and "5"
// are not. Beyond 18 digits it is ±10^18.
func WholeNumber(text []byte) (v int64, whole bool) {
	if len(text) == 0 || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return 0, false
	}
	return wholeNumber(text)
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
