package ui_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/pacekeeper/pacekeeper/internal/pgtest"
	"github.com/pacekeeper/pacekeeper/store"
)

// postStep is one form: sent twice as it is, it must write as many audit entries as said, each of the action. A form that
// only answers a button (a preview, a fold) is a step that writes none.
type postStep struct {
	route         string // as the router has it
	form          func(w *walker) (path string, form url.Values)
	action        string // of its entries; "" = it changes nothing
	first, second int    // entries of each sending
}

// postSteps are the forms of every page, in an order in which each has something to do.
func postSteps() []postStep {
	const group, exemptions, members, restore = "/groups/:group_id", "/groups/:group_id/exemptions", "/groups/:group_id/members",
		"/groups/:group_id/history/:version/restore"
	return []postStep{
		{"/language", fixed("/language", "lang", "en"), "", 0, 0},
		{"/sign-in", fixed("/sign-in", "token", "wrong"), "", 0, 0},
		{"/sign-in", func(w *walker) (string, url.Values) { return "/sign-in", url.Values{"token": {w.operator}} }, "session.create", 1, 1},
		{group, edited("message-gap", "3"), "policy.update", 1, 0},
		{group, edited(), "", 0, 0},
		{group, edited("message-gap", "4", "op", "preview"), "", 0, 0},
		{group, edited("message-gap", "4", "op", "add-rung"), "", 0, 0},
		{group, edited("message-gap", "none"), "", 0, 0},
		{group + "/preview", func(w *walker) (string, url.Values) {
			return "/groups/tea/preview", w.edited("/groups/tea", "message-gap", "5")
		}, "", 0, 0},
		{exemptions, named("nm", "mei", "nm-note", "host"), "exemption.add", 1, 0},
		{exemptions, named("nm", "mei", "nm-note", "guest"), "exemption.update", 1, 0},
		{exemptions, named("nm", "no id"), "", 0, 0},
		{exemptions, named("remove", "mei"), "exemption.remove", 1, 0},
		{members, fixed("/groups/tea/members", "user", "mei", "for", "10", "for-u", "m"), "mute.put", 1, 1}, // the second ends later
		{members, fixed("/groups/tea/members", "user", "mei", "for", "none", "for-u", "m"), "", 0, 0},
		{members, fixed("/groups/tea/members", "lift", "mei"), "mute.lift", 1, 0},
		{restore, restored(1), "", 0, 0},
		{restore, func(w *walker) (string, url.Values) {
			w.document("{}")
			return restored(1)(w)
		}, "policy.restore", 1, 0},
		{"/ops/bounds/preview", func(w *walker) (string, url.Values) {
			return "/ops/bounds/preview", w.edited("/ops/bounds", "message.gap.min", "3 s")
		}, "", 0, 0},
		{"/ops/bounds", bounded("message.gap.min", "3 s"), "", 0, 0}, // without a reason
		{"/ops/bounds", bounded("message.gap.min", "3 s", "reason", "spam"), "bounds.update", 1, 0},
		{"/ops/bounds", bounded("reason", "none"), "", 0, 0},
		{"/ops/defaults/preview", moved("/preview", "message-gap", "5"), "", 0, 0},
		{"/ops/defaults/impact", moved("/impact", "message-gap", "5"), "", 0, 0},
		{"/ops/defaults", moved("", "message-gap", "5"), "", 0, 0}, // without a reason
		{"/ops/defaults", moved("", "message-gap", "5", "op", "add-rung"), "", 0, 0},
		{"/ops/defaults", moved("", "message-gap", "5", "reason", "spam"), "defaults.update", 1, 0},
		{"/ops/tokens", fixed("/ops/tokens", "name", "gate", "role", "gateway", "days", "30"), "token.create", 1, 1},
		{"/ops/tokens", fixed("/ops/tokens", "name", "", "role", "gateway", "days", "30"), "", 0, 0},
		{"/ops/tokens/:id/revoke", func(w *walker) (string, url.Values) {
			token, _ := w.token(store.RoleGateway)
			return "/ops/tokens/" + token.ID + "/revoke", url.Values{}
		}, "token.revoke", 1, 0},
		{"/sign-out", fixed("/sign-out"), "session.revoke", 1, 0},
		{"/portal/:code", func(w *walker) (string, url.Values) {
			_, link := w.portal("tea")
			return link, url.Values{}
		}, "session.create", 1, 0},
	}
}

// values are the fields of a form, name and value by turns.
func values(fields []string) url.Values {
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return form
}

func plain(n int64) string { return strconv.FormatInt(n, 10) }

// fixed is a form with the fields as given, name and value by turns.
func fixed(path string, fields ...string) func(*walker) (string, url.Values) {
	return func(*walker) (string, url.Values) { return path, values(fields) }
}

// edited is the form of the group tea's page as it stands, with changes.
func edited(changes ...string) func(*walker) (string, url.Values) {
	return func(w *walker) (string, url.Values) { return "/groups/tea", w.edited("/groups/tea", changes...) }
}

// bounded is the form of the bounds as it stands, with changes.
func bounded(changes ...string) func(*walker) (string, url.Values) {
	return func(w *walker) (string, url.Values) { return "/ops/bounds", w.edited("/ops/bounds", changes...) }
}

// moved is the form of the defaults as it stands, with changes, sent to an address below its own.
func moved(below string, changes ...string) func(*walker) (string, url.Values) {
	return func(w *walker) (string, url.Values) {
		return "/ops/defaults" + below, w.edited("/ops/defaults", changes...)
	}
}

// named is the form of a named member, which lies in that of the page.
func named(changes ...string) func(*walker) (string, url.Values) {
	return func(w *walker) (string, url.Values) {
		return "/groups/tea/exemptions", w.edited("/groups/tea", changes...)
	}
}

// restored asks for a version of the group tea over the one that is in force.
func restored(version int64) func(*walker) (string, url.Values) {
	return func(w *walker) (string, url.Values) {
		record, err := w.store.Policy(w.t.Context(), "tea")
		if err != nil {
			w.t.Fatal(err)
		}
		return "/groups/tea/history/" + plain(version) + "/restore", values([]string{"version", plain(record.Version)})
	}
}

// walker is an operator at a browser.
type walker struct {
	*visitor
	decided func() string
}

// TestAudit_EveryFormWritesWhatItChanged sends the forms of every page, each twice, and holds what the database holds
// against the entries: a form that changes something writes an entry for it, one that does not, none. A new address that
// takes forms needs its case in postSteps.
func TestAudit_EveryFormWritesWhatItChanged(t *testing.T) {
	t.Parallel()
	database := pgtest.SQLite(t)
	f := newFixture(t, database)
	w := &walker{f.signedIn(f.operator), pgtest.Decisions(t, database)}
	walked := map[string]bool{}
	for _, step := range postSteps() {
		walked["POST "+step.route] = true
		path, form := step.form(w)
		for n, want := range []int{step.first, step.second} {
			w.walk(step, path, form, n+1, want)
		}
	}
	for _, route := range f.pages.Routes() {
		if method, _, _ := strings.Cut(route, " "); method != http.MethodGet && !walked[route] {
			t.Errorf("%s has no case in this walk: say what it writes", route)
		}
	}
	if v, err := f.store.VerifyAudit(t.Context(), ""); err != nil || !v.OK {
		t.Errorf("the log does not verify: %+v, %v", v, err)
	}
}

func (w *walker) walk(step postStep, path string, form url.Values, call, want int) {
	w.t.Helper()
	before, last := w.decided(), w.lastEntry()
	answer := w.post(path, form)
	if answer.status >= http.StatusInternalServerError || answer.status == http.StatusNotFound || answer.status == http.StatusForbidden {
		w.t.Fatalf("POST %s, sending %d: %d %s", path, call, answer.status, answer.brief())
	}
	wrote, changed := int(w.lastEntry()-last), w.decided() != before
	if wrote != want || changed != (wrote > 0) {
		w.t.Errorf("POST %s %v, sending %d: %d entries, want %d; changed: %v; %d %s", path, form, call, wrote, want, changed, answer.status, answer.brief())
	}
	if wrote <= 0 {
		return
	}
	page, err := w.store.ListAudit(w.t.Context(), store.AuditQuery{Limit: wrote})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range page.Items {
		if e.Action != step.action || e.Channel != store.ChannelUI || e.Actor == "" || e.RequestID != answer.header.Get("X-Request-Id") {
			w.t.Errorf("POST %s, sending %d: the entry says %+v", path, call, e)
		}
	}
}

// lastEntry is the number of the newest audit entry.
func (w *walker) lastEntry() int64 {
	w.t.Helper()
	page, err := w.store.ListAudit(w.t.Context(), store.AuditQuery{Limit: 1})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(page.Items) == 0 {
		return 0
	}
	return page.Items[0].Seq
}
