package api

import (
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
)

const aMoment = "an RFC 3339 moment with a zone, such as 2030-01-01T00:00:00Z"

// parseMoment reads an RFC 3339 moment, in UTC.
func parseMoment(text string) (time.Time, bool) { return policy.ParseMoment(text) }

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
