package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/store"
	"github.com/pacekeeper/pacekeeper/ui"
)

// opsAddresses are the addresses of the pages of operators: method, path.
func opsAddresses() [][2]string {
	return [][2]string{
		{"GET", "/ops"},
		{"GET", "/ops/sync"},
		{"GET", "/ops/bounds"},
		{"POST", "/ops/bounds"},
		{"GET", "/ops/bounds/state"},
		{"POST", "/ops/bounds/preview"},
		{"GET", "/ops/defaults"},
		{"POST", "/ops/defaults"},
		{"GET", "/ops/defaults/state"},
		{"POST", "/ops/defaults/preview"},
		{"POST", "/ops/defaults/impact"},
		{"GET", "/ops/audit"},
		{"GET", "/ops/audit/1"},
		{"GET", "/ops/audit/chain"},
		{"GET", "/ops/audit/export"},
		{"GET", "/ops/tokens"},
		{"POST", "/ops/tokens"},
		{"GET", "/ops/tokens/1/revoke"},
		{"POST", "/ops/tokens/1/revoke"},
	}
}

func TestGroupAdminsDoNotSeeTheOperatorsPages(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		_, secret := f.token(store.RoleGroupAdmin, "tea")
		v := f.signedIn(secret)
		v.get("/groups").want(http.StatusOK).hasNot(`href="/ops"`)
		for _, a := range opsAddresses() {
			v.send(a[0], a[1], url.Values{"name": {"x"}, "role": {"operator"}, "days": {"30"}}).want(http.StatusForbidden)
		}
		f.visitor().get("/ops/audit?actor=x").want(http.StatusSeeOther)
		page, err := f.store.ListTokens(t.Context(), "", 10)
		if err != nil || len(page.Items) != 2 {
			t.Errorf("tokens %v, %v", page.Items, err)
		}
	})
}

func TestAuditorsSeeTheOperatorsPagesAndChangeNothing(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		_, secret := f.token(store.RoleAuditor)
		v := f.signedIn(secret)
		v.get("/groups").want(http.StatusOK).has(`href="/ops"`)
		for _, path := range []string{"/ops", "/ops/audit", "/ops/tokens"} {
			v.get(path).want(http.StatusOK).has("View only").hasNot(`method="post" action="/ops`, "Revoke")
		}
		for _, a := range opsAddresses() {
			if a[0] == http.MethodPost {
				v.post(a[1], url.Values{"name": {"x"}, "role": {"operator"}, "days": {"30"}}).want(http.StatusForbidden)
			}
		}
	})
}

func TestTheFleetPageFindsEveryGroup(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		for i := range 60 {
			f.group("g"+strings.Repeat("x", i), "Reading club")
		}
		v := f.signedIn(f.operator)
		p := v.get("/ops").want(http.StatusOK).has("61", "Publishing is not known here", "Next page")
		next := hrefOf(p, "Next page")
		v.get(next).want(http.StatusOK).has("First page", "Tea house").hasNot("Next page")
		v.get("/ops?query=tea").want(http.StatusOK).has("Tea house").hasNot("Reading club")
		v.get("/ops?query=tea", "HX-Request", "true").want(http.StatusOK).has("Tea house").hasNot("<html")
		v.get("/ops?query=nothing").want(http.StatusOK).has("No group matches “nothing”")
	})
}

// hrefOf is where the link with a text leads.
func hrefOf(p page, text string) string {
	p.t.Helper()
	before, _, found := strings.Cut(p.body, ">"+text+"<")
	at := strings.LastIndex(before, `href="`)
	if !found || at < 0 {
		p.t.Fatalf("no link %q: %s", text, p.brief())
	}
	href, _, _ := strings.Cut(before[at+len(`href="`):], `"`)
	return strings.ReplaceAll(href, "&amp;", "&")
}

func TestTheFleetPageTellsOfRedis(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, postgres(t), func(cfg *ui.Config) {
		cfg.Sync = func() ui.SyncState {
			return ui.SyncState{
				Ready: true, ShardsAway: 86, Waiting: 3, CompleteShards: 170, RebuildingShards: 1,
				Lanes: []ui.SyncLane{{Name: "wake"}, {Name: "epochs", Error: "dial: refused"}},
				Fleet: ui.SyncFleet{Running: true, Reason: "change", Groups: 1500, About: 20000, Left: 4200 * time.Millisecond},
				Reconcile: ui.SyncReconcile{
					At: time.Date(2026, 11, 30, 12, 0, 5, 0, time.UTC), Took: 1300 * time.Millisecond, Groups: 20000, Repaired: 2, Ahead: 1,
				},
				Lag: ui.SyncLag{Count: 9, P50: 300 * time.Microsecond, P99: 3 * time.Millisecond, Max: 1200 * time.Millisecond},
			}
		}
	})
	v := f.signedIn(f.operator)
	v.get("/ops").want(http.StatusOK).has(
		"86 shards away", "The Redis of 86 of 256 shards does not answer", "1,500 of about 20,000 are done, about 5 s left",
		"12:00:05, 20,000 groups in 1.3 s", "2 keys mended, 1 ahead of the database", "Watching Redis", "dial: refused", "half within 1 ms",
		"170 of 256 whole, 1 being rebuilt",
	)
	v.get("/ops/sync", "HX-Request", "true").want(http.StatusOK).has("every 2s").hasNot("<html")
	v.get("/ops/sync").want(http.StatusSeeOther)
	v.post("/language", url.Values{"lang": {"zh"}}).want(http.StatusSeeOther)
	v.get("/ops").want(http.StatusOK).has("86 个分片无响应", "预计还需 5 秒")
}

// sql changes the database behind everybody's back.
func (f *fixture) sql(statement string) {
	f.t.Helper()
	db := pgtest.SQL(f.t, f.url)
	if _, err := db.ExecContext(f.t.Context(), statement); err != nil {
		f.t.Fatal(err)
	}
}
