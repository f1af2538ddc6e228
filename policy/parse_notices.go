package policy

import (
	"unicode"
	"unicode/utf8"
)

func (p *documentParser) notices(i int32) map[string]map[string]string {
	if !p.isObject(i, "notices") {
		return nil
	}
	var all map[string]map[string]string
	for k := i + 1; k < p.nodes[i].next; k = p.nodes[k+1].next {
		language := intern(p.bytes(k))
		if language != English && language != Chinese {
			p.unknown(k, English, Chinese)
			continue
		}
		if texts := p.noticeTexts(k + 1); len(texts) > 0 {
			if all == nil {
				all = make(map[string]map[string]string, 2)
			}
			all[language] = texts
		}
	}
	return all
}

func (p *documentParser) noticeTexts(i int32) map[string]string {
	if !p.isObject(i, "a language's notices") {
		return nil
	}
	texts := make(map[string]string, 2)
	for k := i + 1; k < p.nodes[i].next; k = p.nodes[k+1].next {
		key := intern(p.bytes(k))
		switch {
		case key != NoticeTooSoon && key != NoticeTooMany:
			p.unknown(k, NoticeTooSoon, NoticeTooMany)
		case !p.isString(k+1, key):
		default:
			texts[key] = p.text(k + 1)
			if detail := noticeFault(texts[key]); detail != "" {
				p.add(k+1, "format", key+" "+detail)
			}
		}
	}
	return texts
}

// noticeFault says what is wrong with the text of a notice. Counting characters, not bytes or columns, also bounds
// floods of combining marks.
func noticeFault(text string) string {
	if utf8.RuneCountInString(text) > maxNoticeRunes {
		return "must be at most 160 characters long"
	}
	for i, r := range text {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return "must be one line without control characters"
		}
		if r == '{' && placeholder(text[i:]) == "" {
			return "may hold the placeholders {wait}, {limit} and {period}, and no other {"
		}
	}
	return ""
}
