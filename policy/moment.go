package policy

import (
	"regexp"
	"time"
)

// strictMoment is what time.Parse is too lenient about: two digits of an hour, a point before fractions, a real offset.
var strictMoment = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// ParseMoment reads an RFC 3339 moment; UTC. One that UTC cannot show with four digits of a year is none: what is taken is
// shown again, and RFC 3339 ends with the year 9999.
func ParseMoment(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339, text)
	t = t.UTC()
	return t, err == nil && strictMoment.MatchString(text) && t.Year() >= 0 && t.Year() <= 9999
}
