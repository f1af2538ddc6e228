package ui_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/pacekeeper/pacekeeper/store"
)

// No form and no address brings NUL, other control characters or bytes that are no UTF-8 into the store, whichever
// database stands behind it.
func TestWhatIsNoTextIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		before := len(v.allEntries())
		for _, bad := range []string{"a\x00b", "a\xffb", "\xed\xa0\x80", "a\x1b[2Jb", "\u0085"} {
			token := url.Values{"name": {bad}, "role": {"gateway"}, "days": {"90"}}
			mute := url.Values{"user": {"mei"}, "for": {"10"}, "for-u": {"m"}, "reason": {bad}}
			for path, form := range map[string]url.Values{
				"/sign-in":               {"token": {bad}},
				"/groups/tea":            v.edited("/groups/tea", "message-gap", "3", "reason", bad),
				"/groups/tea/members":    mute,
				"/ops/bounds":            v.edited("/ops/bounds", "message.gap.min", "3 s", "reason", bad),
				"/ops/defaults":          v.edited("/ops/defaults", "message-gap", "3", "reason", bad),
				"/ops/tokens":            token,
				"/ops/tokens?x=" + "%00": {"name": {"gate"}, "role": {"gateway"}, "days": {"90"}},
			} {
				v.post(path, form).want(http.StatusBadRequest).has("This request was refused")
			}
			for _, path := range []string{"/ops/audit?actor=", "/ops/audit/export?actor=", "/ops/tokens?cursor=", "/groups?query="} {
				v.get(path + url.QueryEscape(bad)).want(http.StatusBadRequest)
			}
			v.get("/ops/tokens/" + url.PathEscape(bad) + "/revoke").want(http.StatusNotFound)
		}
		if got := len(v.allEntries()); got != before {
			t.Errorf("%d entries, want %d", got, before)
		}
		v.post("/ops/tokens", url.Values{"name": {"茶 ☕"}, "role": {"group_admin"}, "groups": {"tea\r\n\tcoffee"}, "days": {"90"}}).want(http.StatusOK)
	})
}

func (f *fixture) allEntries() []store.AuditEntry {
	f.t.Helper()
	page, err := f.store.ListAudit(f.t.Context(), store.AuditQuery{Limit: 500})
	if err != nil {
		f.t.Fatal(err)
	}
	return page.Items
}
