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
	who = r.Actor == id
	what = r.Target == id || strings.HasSuffix(r.Target, "/"+id) || MentionsID(r.Reason, id) ||
		jsonNames(r.Before, id) || jsonNames(r.After, id)
	return who, what
}

// jsonNames looks into a JSON text. One that has neither the id nor an escape in it need not be read.
func jsonNames(text, id string) bool {
	if !strings.Contains(text, id) && !strings.Contains(text, `\`) {
		return false
	}
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return strings.Contains(text, id)
	}
	return valueNames("", value, id)
}

func valueNames(key string, value any, id string) bool {
	switch v := value.(type) {
	case string:
		switch key {
		case "note", "reason", NoticeTooSoon, NoticeTooMany:
			return MentionsID(v, id)
		case "group_id", "groups", "role", "roles", "exempt_roles", "cause", "action": // nobody's id
			return false
		}
		return v == id
	case []any:
		for _, item := range v {
			if valueNames(key, item, id) {
				return true
			}
		}
	case map[string]any:
		for k, item := range v {
			if valueNames(k, item, id) {
				return true
			}
		}
	}
	return false
}
