package ui

import (
	"strings"

	"github.com/pacekeeper/pacekeeper/policy"
)

// lineFault says what is wrong with a name, a reason or a note of at most so many characters, "" for nothing.
func (b base) lineFault(text string, most int) string {
	switch {
	case !policy.IsLine(text):
		return b.Say("line_odd")
	case len([]rune(text)) > most:
		return b.Say("reason_long", most)
	}
	return ""
}

// folded is what was typed into a field of several rows, as one line.
func folded(text string) string {
	return strings.TrimSpace(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(text))
}
