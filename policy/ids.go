package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxIDBytes   = 128
	maxNameBytes = 32
)

// CheckID says whether id may name a group or a user: 1 to 128 bytes of printable UTF-8 without spaces, control or
// format characters, `{`, `}` and `|`; not `.` or `..`; not starting with `~`. Ids are opaque and compared as bytes.
// The error is CodeInvalid with one field at pointer; its Code is required, range or format.
func CheckID(pointer, id string) error {
	code, detail := idFault(id)
	if code == "" {
		return nil
	}
	return &Error{Code: CodeInvalid, Message: "an id is not well formed", Fields: []FieldError{{pointer, code, detail}}}
}

func idFault(id string) (code, detail string) {
	switch {
	case id == "":
		return "required", "an id must not be empty"
	case len(id) > maxIDBytes:
		return "range", "an id must be 1 to 128 bytes long"
	case !utf8.ValidString(id):
		return "format", "an id must be valid UTF-8"
	case id == "." || id == "..":
		return "format", "an id must not be . or .."
	case id[0] == '~':
		return "format", "an id must not start with ~"
	case strings.ContainsFunc(id, forbiddenInID):
		return "format", "an id must be printable, without spaces, control or format characters, {, } and |"
	}
	return "", ""
}

// forbiddenInID refuses what unicode.IsPrint does not allow (spaces, control, format, unassigned and private
// characters) and the three bytes that the layout of Redis keys needs for itself.
func forbiddenInID(r rune) bool {
	if r < utf8.RuneSelf {
		return r <= ' ' || r == 0x7f || r == '{' || r == '}' || r == '|'
	}
	return !unicode.IsPrint(r)
}

// ValidActionName says whether name may name an action: a lower-case letter, then up to 31 of a–z, 0–9, _ and -.
// Roles follow the same grammar.
func ValidActionName(name string) bool { return validName([]byte(name)) }

func validName(name []byte) bool {
	if len(name) == 0 || len(name) > maxNameBytes || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	for _, c := range name[1:] {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
