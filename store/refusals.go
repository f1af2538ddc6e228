package store

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

// The kinds of refused access.
const (
	RefusedToken   = "unauthenticated" // no token, or one that is unknown, revoked or expired
	RefusedRole    = "forbidden"       // the role may not
	RefusedGroup   = "foreign_group"   // a group that the token does not see
	RefusedSignIn  = "sign_in"         // at the page
	refusedOthers  = "other"           // who and route, once a minute has seen too many different ones
	refusalEvery   = 5 * time.Second
	refusalMemory  = 30 * 24 * time.Hour
	refusalsMinute = 128     // different rows of a minute in one process
	refusalsHeld   = 2048    // rows that wait for a database that is away; more are counted by the hour
	refusalsKept   = 100_000 // rows of the table: an attack must not fill the disk
)

// Refusal is access that was refused. It holds no secret: what was tried is not kept.
type Refusal struct {
	Kind  string
	Who   string // TokenWho or AddressWho
	Route string // method and pattern, such as GET /v1/groups/:group_id
}

// TokenWho names the token that was refused, by its id.
func TokenWho(id string) string { return "token " + id }

// AddressWho names where a refused caller came from: a network of 256 addresses (IPv4), or of a site (IPv6, /48).
func AddressWho(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return "address unknown"
	}
	bits := 48
	if a = a.Unmap().WithZone(""); a.Is4() {
		bits = 24
	}
	return "address " + netip.PrefixFrom(a, bits).Masked().String()
}

// RefusalRow is what was refused to somebody on a route within a minute.
type RefusalRow struct {
	Refusal
	Minute time.Time
	Count  int64
	First  time.Time
	Last   time.Time
}

// RefusalQuery selects rows, newest first. Empty fields select all; From is inclusive, To exclusive, of minutes.
type RefusalQuery struct {
	Kind     string
	From, To time.Time
	Cursor   string
	Limit    int
}

type refusalKey struct {
	minute int64 // µs
	Refusal
}

type refusalCount struct{ count, first, last int64 }

// refusals adds up what was refused, until it is written.
type refusals struct {
	mu      sync.Mutex
	counts  map[refusalKey]refusalCount
	minute  int64
	fresh   int // different rows of the minute
	flushed time.Time
}

// NoteRefusal counts a refusal. It never waits for the database.
func (s *Store) NoteRefusal(r Refusal) { s.refused.note(r, s.now()) }

func (c *refusals) note(r Refusal, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := refusalKey{now.Truncate(time.Minute).UnixMicro(), r}
	if key.minute != c.minute {
		c.minute, c.fresh = key.minute, 0
	}
	if _, known := c.counts[key]; !known && c.fresh >= refusalsMinute {
		key.Who, key.Route = refusedOthers, refusedOthers
	}
	if len(c.counts) >= refusalsHeld {
		key.minute, key.Who, key.Route = now.Truncate(time.Hour).UnixMicro(), refusedOthers, refusedOthers
	}
	if _, known := c.counts[key]; !known {
		c.fresh++
	}
	c.add(key, refusalCount{1, now.UnixMicro(), now.UnixMicro()})
}

func (c *refusals) add(key refusalKey, n refusalCount) {
	if c.counts == nil {
		c.counts = map[refusalKey]refusalCount{}
	}
	if old, known := c.counts[key]; known {
		n = refusalCount{old.count + n.count, min(old.first, n.first), max(old.last, n.last)}
	}
	c.counts[key] = n
}

// take empties the counts, unless they were taken a moment ago.
func (c *refusals) take(now time.Time, every time.Duration) map[refusalKey]refusalCount {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.counts) == 0 || now.Sub(c.flushed) < every && now.After(c.flushed) {
		return nil
	}
	taken := c.counts
	c.counts, c.flushed = nil, now
	return taken
}

// FlushRefusals writes what was counted, at most every 5 s; it is meant to be called each second. What cannot be written
// is kept for the next time.
func (s *Store) FlushRefusals(ctx context.Context) error { return s.flushRefusals(ctx, refusalEvery) }

func (s *Store) flushRefusals(ctx context.Context, every time.Duration) error {
	taken := s.refused.take(s.now(), every)
	if taken == nil {
		return nil
	}
	err := s.write(ctx, func(t *tx) error { return t.addRefusals(taken) })
	if err != nil {
		s.refused.mu.Lock()
		defer s.refused.mu.Unlock()
		for key, n := range taken {
			s.refused.add(key, n)
		}
	}
	return err
}

func (t *tx) addRefusals(taken map[refusalKey]refusalCount) error {
	keys := make([]refusalKey, 0, len(taken))
	for key := range taken {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b refusalKey) int { // one order for all: no deadlocks
		return cmp.Or(cmp.Compare(a.minute, b.minute), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Who, b.Who), cmp.Compare(a.Route, b.Route))
	})
	for chunk := range slices.Chunk(keys, chunkSize) {
		var args []any
		for _, k := range chunk {
			n := taken[k]
			args = append(args, k.minute, k.Kind, k.Who, k.Route, n.count, n.first, n.last)
		}
		err := t.Exec("INSERT INTO refused_access (minute, kind, who, route, refused, first_at, last_at) VALUES "+places(len(chunk), 7)+
			` ON CONFLICT (minute, kind, who, route) DO UPDATE SET refused = refused_access.refused + excluded.refused,
			first_at = CASE WHEN excluded.first_at < refused_access.first_at THEN excluded.first_at ELSE refused_access.first_at END,
			last_at = CASE WHEN excluded.last_at > refused_access.last_at THEN excluded.last_at ELSE refused_access.last_at END`,
			args...).Error
		if err != nil {
			return err
		}
	}
	return nil
}

// forgetRefusals deletes what is 30 days old, and the oldest where there is too much.
func (t *tx) forgetRefusals() error {
	err := t.Exec("DELETE FROM refused_access WHERE minute < ?", t.now.Add(-refusalMemory).UnixMicro()).Error
	if err != nil {
		return err
	}
	return t.Exec("DELETE FROM refused_access WHERE minute <= (SELECT minute FROM refused_access ORDER BY minute DESC LIMIT 1 OFFSET ?)",
		refusalsKept).Error
}

type refusalRow struct {
	Minute           int64
	Kind, Who, Route string
	Refused          int64
	FirstAt, LastAt  int64
}

func (r refusalRow) public() RefusalRow {
	return RefusalRow{
		Refusal: Refusal{Kind: r.Kind, Who: r.Who, Route: r.Route}, Minute: fromMicros(&r.Minute), Count: r.Refused,
		First: fromMicros(&r.FirstAt), Last: fromMicros(&r.LastAt),
	}
}

// ListRefusals pages refused access, newest first, what this process counted until now included. CodeInvalid for a bad
// cursor or kind.
func (s *Store) ListRefusals(ctx context.Context, q RefusalQuery) (p Page[RefusalRow], err error) {
	where, args, err := q.where()
	if err != nil {
		return p, err
	}
	if err := s.flushRefusals(ctx, 0); err != nil {
		return p, err
	}
	limit := pageLimit(q.Limit)
	var rows []refusalRow
	err = s.read(ctx, func(db *gorm.DB) error {
		return db.Raw("SELECT * FROM refused_access WHERE "+where+" ORDER BY minute DESC, kind DESC, who DESC, route DESC LIMIT ?",
			append(args, limit+1)...).Scan(&rows).Error
	})
	return pageOf(rows, limit, refusalRow.public, func(r refusalRow) string {
		return encodeCursor("refusals", strconv.FormatInt(r.Minute, 10), r.Kind, r.Who, r.Route)
	}), err
}

func (q RefusalQuery) where() (where string, args []any, err error) {
	where = "1 = 1"
	switch q.Kind {
	case "":
	case RefusedToken, RefusedRole, RefusedGroup, RefusedSignIn:
		where, args = where+" AND kind = ?", append(args, q.Kind)
	default:
		return "", nil, &policy.Error{Code: policy.CodeInvalid, Message: "the filters cannot be used", Fields: []policy.FieldError{
			{Pointer: "/kind", Code: "unknown", Detail: "kind is unauthenticated, forbidden, foreign_group or sign_in"},
		}}
	}
	if !q.From.IsZero() {
		where, args = where+" AND minute >= ?", append(args, q.From.UnixMicro())
	}
	if !q.To.IsZero() {
		where, args = where+" AND minute < ?", append(args, q.To.UnixMicro())
	}
	key, err := decodeCursor("refusals", q.Cursor, 4)
	if err != nil || key == nil {
		return where, args, err
	}
	minute, err := strconv.ParseInt(key[0], 10, 64)
	if err != nil {
		return "", nil, errCursor()
	}
	return where + " AND (minute, kind, who, route) < (?, ?, ?, ?)", append(args, minute, key[1], key[2], key[3]), nil
}
