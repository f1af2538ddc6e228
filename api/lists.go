package api

import (
	"errors"

	"github.com/pacekeeper/pacekeeper/policy"
)

const (
	defaultLimit = 50
	maxLimit     = 500
)

// pageLimit is the length of a page.
func pageLimit(asked *Limit) (int, error) {
	if asked == nil {
		return defaultLimit, nil
	}
	if *asked < 1 || *asked > maxLimit {
		return 0, policy.Errorf(policy.CodeInvalid, "the query parameter limit must be 1 to %d entries", maxLimit)
	}
	return *asked, nil
}

// next is the cursor as lists show it: null at the end.
func next(cursor string) *NextCursor {
	if cursor == "" {
		return nil
	}
	return &cursor
}

// each shows every item; an empty list stays a list.
func each[T, S any](items []T, show func(T) S) []S {
	shown := make([]S, 0, len(items))
	for _, item := range items {
		shown = append(shown, show(item))
	}
	return shown
}

// deref is what a pointer points to, or the zero value.
func deref[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

func hasCode(err error, code policy.Code) bool {
	known, ok := errors.AsType[*policy.Error](err)
	return ok && known.Code == code
}
