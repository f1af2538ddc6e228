package store_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/store"
)

const changedEntries = 9000 // more blocks than all steps of a search together

// fillChanged puts in entries that change /often, one in 500 also /rare, those up to 100 also /old, those above 100 /new.
func fillChanged(b bed) {
	b.t.Helper()
	db := pgtest.SQL(b.t, b.url)
	for first := 1; first <= changedEntries; first += 500 {
		values := make([]string, 500)
		for i := range values {
			n := first + i
			after := `{"often":` + strconv.Itoa(n) + map[bool]string{true: `,"rare":{"a~/b":1}`}[n%500 == 7] +
				map[bool]string{true: `,"old":1`, false: `,"new":1`}[n <= 100] + `}`
			values[i] = fmt.Sprintf("('%06d', %d, '%s', 'operator', 'api', 'x.y', '', '', '', '%s', '', '', '', '', '')",
				n, n, map[bool]string{true: "odd", false: "even"}[n%2 == 1], after)
		}
		execute(b.t, db, `INSERT INTO audit_entries (id, at, actor, role, channel, action, target, group_id, before, after, reason,
			request_id, address, prev_hash, hash) VALUES `+strings.Join(values, ", "))
	}
}

// TestAuditChangedFindsAllOfThem turns the pages of fields that are changed often, rarely, never, long ago, and in
// entries that another filter leaves out.
func TestAuditChangedFindsAllOfThem(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, s := b.t, b.store()
		fillChanged(b)
		for name, test := range map[string]struct {
			q     store.AuditQuery
			pages int
			want  func(n int64) bool
		}{
			"often":             {store.AuditQuery{Changed: "/often"}, 3, func(int64) bool { return true }},
			"rare":              {store.AuditQuery{Changed: "/rare"}, 9, func(n int64) bool { return n%500 == 7 }},
			"in the rare":       {store.AuditQuery{Changed: "/rare/a~0~1b"}, 9, func(n int64) bool { return n%500 == 7 }},
			"rare and odd":      {store.AuditQuery{Changed: "/rare", Actor: "odd"}, 9, func(n int64) bool { return n%500 == 7 && n%2 == 1 }},
			"old":               {store.AuditQuery{Changed: "/old"}, 9, func(n int64) bool { return n <= 100 }},
			"old and even":      {store.AuditQuery{Changed: "/old", Actor: "even"}, 9, func(n int64) bool { return n <= 100 && n%2 == 0 }},
			"often, of nobody":  {store.AuditQuery{Changed: "/often", Actor: "nobody"}, 9, func(int64) bool { return false }},
			"often, not new":    {store.AuditQuery{Changed: "/often", Action: "x.z"}, 9, func(int64) bool { return false }},
			"never":             {store.AuditQuery{Changed: "/often/x"}, 9, func(int64) bool { return false }},
			"part of the name":  {store.AuditQuery{Changed: "/oft"}, 9, func(int64) bool { return false }},
			"new, but odd ones": {store.AuditQuery{Changed: "/new", Actor: "odd"}, 3, func(n int64) bool { return n > 100 && n%2 == 1 }},
		} {
			var got, want []int64
			for n := int64(changedEntries); n > 0 && len(want) < 20*test.pages; n-- {
				if test.want(n) {
					want = append(want, n)
				}
			}
			test.q.Limit = 20
			for range test.pages {
				page := must(s.ListAudit(t.Context(), test.q))(t)
				for _, e := range page.Items {
					got = append(got, e.Seq)
				}
				if test.q.Cursor = page.Next; page.Next == "" {
					break
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	})
}
