package ui

import (
	"strconv"
	"strings"
)

// The longest number a field takes, in digits before the point: all that a document can hold fits.
const maxDigits = 9

// milliseconds reads seconds as people type them, "2", "0.5" or "0,5", exactly: at most three decimals, above 0.
func milliseconds(text string) (int64, bool) {
	whole, fraction, _ := strings.Cut(strings.Replace(strings.TrimSpace(text), ",", ".", 1), ".")
	if whole == "" {
		whole = "0"
	}
	if len(fraction) > 3 || !digits(whole) || (fraction != "" && !digits(fraction)) {
		return 0, false
	}
	fraction += strings.Repeat("0", 3-len(fraction))
	ms, err := strconv.ParseInt(whole+fraction, 10, 64)
	return ms, err == nil && ms > 0
}

// count reads a whole number above 0.
func count(text string) (int64, bool) {
	text = strings.TrimSpace(text)
	if !digits(text) {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && n > 0
}

func digits(s string) bool {
	return s != "" && len(s) <= maxDigits && strings.Trim(s, "0123456789") == ""
}

// seconds shows milliseconds as seconds without needless decimals: 2000 is "2", 500 is "0.5".
func seconds(ms int64) string {
	text := strconv.FormatInt(ms/1000, 10)
	if rest := ms % 1000; rest != 0 {
		text += "." + strings.TrimRight(strconv.FormatInt(1000+rest, 10)[1:], "0")
	}
	return text
}

func plain(n int64) string { return strconv.FormatInt(n, 10) }
