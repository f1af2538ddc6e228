package policy

import "strings"

// The languages and keys of notices.
const (
	English       = "en"
	Chinese       = "zh"
	NoticeTooSoon = "too_soon" // the minimum interval refused
	NoticeTooMany = "too_many" // the window refused
)

// placeholder is the placeholder that text starts with, or "".
func placeholder(text string) string {
	for _, p := range [...]string{"{wait}", "{limit}", "{period}"} {
		if strings.HasPrefix(text, p) {
			return p
		}
	}
	return ""
}
