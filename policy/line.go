package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CheckLine says whether text may be a name, a reason or a note: one line of valid UTF-8 without control characters, line
// and paragraph separators, and the marks that turn the direction of writing (Unicode's Bidi_Control), which make a list
// or a log say what it does not. How long it may be is its field's own rule; "" is a line. The error is CodeInvalid with
// one field at pointer.
func CheckLine(pointer, text string) error {
	if IsLine(text) {
		return nil
	}
	return &Error{Code: CodeInvalid, Message: "a text is not one plain line", Fields: []FieldError{{pointer, "format", "it " + LineRule}}}
}

// LineRule is what CheckLine asks of a text, to follow the name of a field.
const LineRule = "must be one line without control characters and marks that turn the direction of writing"

// IsLine reports whether CheckLine takes the text.
func IsLine(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, forbiddenInLine)
}

func forbiddenInLine(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}
