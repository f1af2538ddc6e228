package store_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

func refusal(who string) store.Refusal {
	return store.Refusal{Kind: store.RefusedToken, Who: who, Route: "GET /x"}
}

func TestRefusalsAreAddedUp(t *testing.T) {
	t.Parallel()
	each(t, func(b bed) {
		t, c := b.t, newClock()
		one, other := b.store(c.set), b.store(c.set)
		for n := range 3 {
			one.NoteRefusal(refusal("a"))
			other.NoteRefusal(refusal("a"))
			if n == 1 {
				c.advance(time.Second)
			}
		}
		one.NoteRefusal(store.Refusal{Kind: store.RefusedSignIn, Who: "b", Route: "POST /sign-in"})
		if err := other.FlushRefusals(t.Context()); err != nil {
			t.Fatal(err)
		}
		c.advance(time.Minute)
		one.NoteRefusal(refusal("a"))
		var got []string
		q := store.RefusalQuery{Limit: 1}
		for {
			page := must(one.ListRefusals(t.Context(), q))(t)
			for _, r := range page.Items {
				got = append(got, r.Kind+" "+r.Who+" "+strconv.FormatInt(r.Count, 10)+" "+r.Last.Sub(r.First).String())
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
		if diff := cmp.Diff([]string{"unauthenticated a 1 0s", "unauthenticated a 6 1s", "sign_in b 1 0s"}, got); diff != "" {
			t.Error(diff)
		}
		if page := must(one.ListRefusals(t.Context(), store.RefusalQuery{Kind: store.RefusedSignIn}))(t); len(page.Items) != 1 {
			t.Errorf("%d sign-ins", len(page.Items))
		}
		c.advance(31 * 24 * time.Hour)
		if err := one.Cleanup(t.Context()); err != nil {
			t.Fatal(err)
		}
		if page := must(one.ListRefusals(t.Context(), store.RefusalQuery{}))(t); len(page.Items) != 0 {
			t.Errorf("%d rows outlived a month", len(page.Items))
		}
		_, err := one.ListRefusals(t.Context(), store.RefusalQuery{Kind: "x"})
		wantCode(t, err, policy.CodeInvalid)
	})
}

// TestRefusalsStayFewUnderAttack tries from more networks than a minute keeps apart, at once.
func TestRefusalsStayFewUnderAttack(t *testing.T) {
	t.Parallel()
	c := newClock()
	s := pgtest.Open(t, pgtest.SQLite(t), c.set)
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for n := range 1000 {
				s.NoteRefusal(refusal(strconv.Itoa(w) + "-" + strconv.Itoa(n)))
			}
		})
	}
	wg.Wait()
	var total, rows int64
	q := store.RefusalQuery{Limit: 500}
	for {
		page := must(s.ListRefusals(t.Context(), q))(t)
		for _, r := range page.Items {
			rows, total = rows+1, total+r.Count
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	if total != 8000 || rows > 129 {
		t.Errorf("%d refusals in %d rows", total, rows)
	}
}

func TestAddressWho(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"203.0.113.77": "address 203.0.113.0/24", "::ffff:203.0.113.77": "address 203.0.113.0/24",
		"2001:db8:1:2::3": "address 2001:db8:1::/48", "fe80::1%eth0": "address fe80::/48", "": "address unknown",
	} {
		if got := store.AddressWho(address); got != want {
			t.Errorf("%s is %s", address, got)
		}
	}
	if strings.Contains(store.TokenWho("id"), "pk_") {
		t.Error("a token is named by its id alone")
	}
}
