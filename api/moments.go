package api

import (
	"regexp"
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
)

const aMoment = "an RFC 3339 moment with a zone, such as 2030-01-01T00:00:00Z"

// strictMoment is what time.Parse is too lenient about: two digits of an hour, a point before fractions, a real offset.
var strictMoment = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// parseMoment reads an RFC 3339 moment. One that UTC cannot show with four digits of a year is none: what is taken here
// is shown again, and RFC 3339 ends with the year 9999.
func parseMoment(text string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339, text)
	t = t.UTC()
	return t, err == nil && strictMoment.MatchString(text) && t.Year() >= 0 && t.Year() <= 9999
}

// asMoment reads a query parameter; the zero time if it is not there.
func asMoment(name string, text *string) (time.Time, error) {
	if text == nil {
		return time.Time{}, nil
	}
	t, ok := parseMoment(*text)
	if !ok {
		return t, policy.Errorf(policy.CodeMalformed, "the query parameter %s must be %s", name, aMoment)
	}
	return t, nil
}

// moment is a time in UTC; null for the zero time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	utc := t.UTC()
	return &utc
}

// inFuture refuses ends that are over before they begin.
func (a *API) inFuture(pointer string, t *time.Time) error {
	if t == nil || t.After(a.cfg.Now()) {
		return nil
	}
	return invalid(policy.FieldError{Pointer: pointer, Code: "range", Detail: pointer[1:] + " must be in the future"})
}
