package policy

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MentionsID says whether a text that people write (a note, a reason, a notice) holds an id as a word of its own: what
// stands before and behind it is no letter (of a script that puts spaces between words), no digit, and none of _ - . : @.
func MentionsID(text, id string) bool {
	for at := 0; id != ""; {
		i := strings.Index(text[at:], id)
		if i < 0 {
			return false
		}
		at += i
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, size := utf8.DecodeRuneInString(text[at+len(id):])
		stop := size > 0 && strings.ContainsRune(".:", after) && !continues(text[at+len(id)+size:]) // the end of a sentence
		if (at == 0 || !partOfID(before)) && (size == 0 || !partOfID(after) || stop) {
			return true
		}
		_, size = utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return false
}

// partOfID says whether a letter beside an id makes it part of a longer word. Scripts that put no spaces between words do not.
func partOfID(r rune) bool {
	if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai) {
		return false
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-.:@", r)
}

func continues(rest string) bool {
	next, size := utf8.DecodeRuneInString(rest)
	return size > 0 && partOfID(next)
}

// NamesID says which parts of an audit record name a person by his id: who, as the one who acted; what, as the one whom it
// is about, or in what somebody wrote.
func (r AuditRecord) NamesID(id string) (who, what bool) {
	kind, _, _ := strings.Cut(r.Action, ".")
	person := r.Target
	switch kind {
	case "ban": // of action/user
		_, person, _ = strings.Cut(r.Target, "/")
	case "group", "policy", "bounds", "defaults", "action", "generation", "person": // nobody's: a group's id may be a user's, too
		person = ""
	}
	names := namesOf{id, kind == "group" || kind == "policy" || kind == "bounds" || kind == "defaults" || kind == "action"}
	what = person == id || MentionsID(r.Reason, id) || names.inJSON(r.Before) || names.inJSON(r.After)
	return r.Actor == id, what
}

// namesOf looks for a person in JSON texts.
type namesOf struct {
	id       string
	document bool // words of ours and numbers, but for what people write
}

// inJSON looks into a JSON text. One that has neither the id nor an escape in it need not be read.
func (n namesOf) inJSON(text string) bool {
	if !strings.Contains(text, n.id) && !strings.Contains(text, `\`) {
		return false
	}
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return strings.Contains(text, n.id)
	}
	return n.inValue("", value)
}

func (n namesOf) inValue(key string, value any) bool {
	switch v := value.(type) {
	case string:
		switch key {
		case "note", "reason", NoticeTooSoon, NoticeTooMany:
			return MentionsID(v, n.id)
		case "group_id", "groups", "role", "roles", "exempt_roles", "cause", "action", "locale": // nobody's id
			return false
		}
		return !n.document && v == n.id
	case []any:
		for _, item := range v {
			if n.inValue(key, item) {
				return true
			}
		}
	case map[string]any:
		for k, item := range v {
			if n.inValue(k, item) {
				return true
			}
		}
	}
	return false
}
