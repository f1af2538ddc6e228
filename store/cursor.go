package store

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
)

const (
	defaultLimit = 50
	maxLimit     = 500
)

// pageLimit is the number of items of a page: 50 unless asked, at most 500.
func pageLimit(limit int) int {
	if limit <= 0 {
		return defaultLimit
	}
	return min(limit, maxLimit)
}

// encodeCursor packs the list's name and the key of a page's last item. Cursors name a place between items, not a
// number of them, and so stay true while items come and go.
func encodeCursor(list string, key ...string) string {
	text, err := json.Marshal(append([]string{list}, key...))
	if err != nil {
		return "" // strings always marshal
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// decodeCursor gives back the key; nil for "". CodeInvalid for anything that encodeCursor did not make for this list.
func decodeCursor(list, cursor string, parts int) ([]string, error) {
	if cursor == "" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	var key []string
	if err == nil {
		err = json.Unmarshal(text, &key)
	}
	hasNUL := func(part string) bool { return strings.ContainsRune(part, 0) } // Postgres takes none
	if err != nil || len(key) != parts+1 || key[0] != list || slices.ContainsFunc(key, hasNUL) {
		return nil, errCursor()
	}
	return key[1:], nil
}

func errCursor() error {
	return policy.Errorf(policy.CodeInvalid, "the cursor is not one that this list gave")
}

// pageOf cuts limit+1 rows to a page; the row too many tells that there is a next one.
func pageOf[R, T any](rows []R, limit int, item func(R) T, cursor func(R) string) Page[T] {
	var p Page[T]
	if len(rows) > limit {
		rows = rows[:limit]
		p.Next = cursor(rows[limit-1])
	}
	p.Items = make([]T, 0, len(rows))
	for _, r := range rows {
		p.Items = append(p.Items, item(r))
	}
	return p
}

// micros is a moment as the columns keep it; nil for the zero Time.
func micros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return new(t.UnixMicro())
}

// fromMicros is the moment of a column; the zero Time for NULL.
func fromMicros(us *int64) time.Time {
	if us == nil {
		return time.Time{}
	}
	return time.UnixMicro(*us).UTC()
}
