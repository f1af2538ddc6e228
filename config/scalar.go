package config

import (
	"regexp"
	"strings"
)

// The kinds of plain words of YAML.
type kind int

const (
	isText     kind = iota
	isValue         // a JSON value
	isDoubtful      // readers of YAML 1.1 and 1.2 do not agree on it
)

// jsonNumber is the grammar of RFC 8259.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// oddNumber is what some readers take for a number and others for a text, or for another number: signs before, leading
// zeros, other bases, underscores, sixties, a point at an end.
var oddNumber = regexp.MustCompile(`^[-+]?(0[0-9_]+(\.[0-9_]*)?([eE][-+]?[0-9]+)?|0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|` +
	`[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?|[0-9][0-9_]*\.?[0-9_]*([eE][-+]?[0-9]+)?|\.[0-9_]+([eE][-+]?[0-9]+)?)$`)

// meaning says what a plain word of YAML is. For a value the text is its JSON, for a doubtful word what to write instead.
// Infinities and NaN become words that the parser refuses by the name of their field.
func meaning(word string) (k kind, text string) {
	switch word {
	case "null", "true", "false":
		return isValue, word
	case "":
		return isDoubtful, "nothing stands behind the key; write null for none, or leave the key out"
	case ".nan", ".NaN", ".NAN":
		return isValue, "NaN"
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF":
		return isValue, "Infinity"
	case "-.inf", "-.Inf", "-.INF":
		return isValue, "-Infinity"
	}
	if detail := doubtfulWord(word); detail != "" {
		return isDoubtful, detail
	}
	if jsonNumber.MatchString(word) {
		return isValue, word
	}
	if oddNumber.MatchString(word) {
		return isDoubtful, word + " is not the same number to every reader of YAML; write it in plain decimal digits, or quote it if it is a text"
	}
	return isText, ""
}

// doubtfulWord tells of words that are true, false or null to some readers of YAML and texts to others.
func doubtfulWord(word string) string {
	switch strings.ToLower(word) {
	case "y", "yes", "on", "true":
		return word + " is true to some readers of YAML and a text to others; write true, or quote it"
	case "n", "no", "off", "false":
		return word + " is false to some readers of YAML and a text to others; write false, or quote it"
	case "~", "null":
		return word + " is null to some readers of YAML and a text to others; write null, or quote it"
	}
	return ""
}

// doubtfulKey tells of keys that are texts to some readers and something else to others; "" = it is a key. Numbers in plain
// digits are: JSON has no other keys than texts.
func doubtfulKey(word string) string {
	switch k, _ := meaning(word); {
	case word == "<<":
		return "merge keys (<<) are not taken; state the values, or leave them to the defaults"
	case word == "":
		return "a key is missing here"
	case k == isText, k == isValue && jsonNumber.MatchString(word) && !strings.ContainsAny(word, ".eE"):
		return ""
	}
	return "the key " + word + " is not a text to every reader of YAML; quote it"
}
