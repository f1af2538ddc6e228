package ui

import (
	"strconv"
	"strings"

	"github.com/pacekeeper/pacekeeper/policy"
)

// clampNotes say in words what is held back, by pointer.
func (b base) clampNotes(clamps []policy.Clamp) map[string]string {
	notes := make(map[string]string, len(clamps))
	for _, c := range clamps {
		notes[c.Path] = b.clampNote(c)
	}
	return notes
}

func (b base) clampNote(c policy.Clamp) string {
	asked, inForce := b.clampValue(c.Path, c.Requested), b.clampValue(c.Path, c.Effective)
	switch {
	case c.Path == "/penalties/ladder":
		return b.Say("clamped_steps", asked, inForce)
	case strings.HasPrefix(c.Path, "/exempt_roles/"):
		return b.Say("clamped_role", asked)
	case c.Bound == policy.BoundForbidden && c.Requested == nil:
		return b.Say("forbidden_none", inForce)
	case c.Bound == policy.BoundForbidden:
		return b.Say("forbidden_choice")
	}
	return b.Say("clamped", asked, inForce)
}

// clampValue shows a value as people read it: lengths with their unit.
func (b base) clampValue(path string, value any) string {
	switch v := value.(type) {
	case int64:
		if strings.HasSuffix(path, "_ms") {
			return policy.DurationText(v, b.Lang)
		}
		return strconv.FormatInt(v, 10)
	case string:
		return v
	}
	return b.Say("the_default")
}

// part is a piece of a sentence; numbers stand out.
type part struct {
	Text string
	Bold bool
}

// parts cuts a sentence into numbers, with the unit behind them, and the rest.
func parts(sentence string) []part {
	var all []part
	for sentence != "" {
		start := strings.IndexAny(sentence, "0123456789")
		if start < 0 {
			return append(all, part{Text: sentence})
		}
		if start > 0 {
			all = append(all, part{Text: sentence[:start]})
		}
		end := start + numberEnd(sentence[start:])
		all = append(all, part{sentence[start:end], true})
		sentence = sentence[end:]
	}
	return all
}

// numberEnd is where a number ends, its unit included.
func numberEnd(text string) int {
	end := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if rest := text[end:]; len(rest) > 1 && rest[0] == '.' && rest[1] >= '0' && rest[1] <= '9' {
		end += 1 + len(rest[1:]) - len(strings.TrimLeft(rest[1:], "0123456789"))
	}
	for _, unit := range []string{" days", " min", " ms", " h", " s", " 分钟", " 小时", " 毫秒", " 秒", " 天"} {
		rest, ok := strings.CutPrefix(text[end:], unit)
		if ok && (rest == "" || !isLetter(rest[0])) {
			return end + len(unit)
		}
	}
	return end
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
