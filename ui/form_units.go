package ui

import (
	"net/url"
	"strconv"
)

// unit is one of the units that people choose for a length.
type unit struct {
	code string // of the form
	word string // key of the catalogue
	ms   int64
}

func units() []unit {
	return []unit{{"s", "unit_seconds", 1000}, {"m", "unit_minutes", 60_000}, {"h", "unit_hours", 3_600_000}, {"d", "unit_days", 86_400_000}}
}

// unitField is the name of the field that holds the unit of a length.
func unitField(name string) string { return name + "-u" }

// length reads a number and its unit: exactly, at most three decimals of a second, above 0.
func length(number, code string) (int64, bool) {
	thousandths, ok := milliseconds(number)
	for _, u := range units() {
		if u.code == code && ok {
			return thousandths * u.ms / 1000, thousandths*u.ms%1000 == 0
		}
	}
	return 0, false
}

// bestUnit is the largest unit that says a length in whole numbers, else seconds.
func bestUnit(ms int64) unit {
	best := units()[0]
	for _, u := range units() {
		if ms%u.ms == 0 && ms >= u.ms && (u.code != "d" || ms >= 2*u.ms) {
			best = u
		}
	}
	return best
}

// putLength fills the two fields of a length; "" empties the number.
func putLength(form url.Values, name, canonical string) {
	ms, err := strconv.ParseInt(canonical, 10, 64)
	if err != nil {
		form.Set(name, "")
		form.Set(unitField(name), "m")
		return
	}
	u := bestUnit(ms)
	form.Set(name, seconds(ms*1000/u.ms))
	form.Set(unitField(name), u.code)
}
