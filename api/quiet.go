package api

import (
	"sync"
	"time"
)

// quiet keeps a storm of equal faults from being a storm of lines: of one text, a line each quietFor, which says how often
// it came meanwhile. The zero value is ready; safe for concurrent use.
type quiet struct {
	mu    sync.Mutex
	lines map[string]quietLine
}

type quietLine struct {
	at      time.Time
	unsaid  int64
	present bool
}

const (
	quietFor  = 10 * time.Second
	quietMost = 256 // texts that are remembered
)

// pass says whether a text may be logged now, and how many lines of it were kept back since the last.
func (q *quiet) pass(text string, now time.Time) (unsaid int64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	line := q.lines[text]
	if line.present && now.Sub(line.at) < quietFor && now.Sub(line.at) >= 0 {
		line.unsaid++
		q.lines[text] = line
		return 0, false
	}
	if q.lines == nil || len(q.lines) >= quietMost {
		q.lines = make(map[string]quietLine)
	}
	q.lines[text] = quietLine{at: now, present: true}
	return line.unsaid, true
}
