package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

func TestMutesAreShownGivenAndLifted(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		now := time.Now().UnixMilli()
		batch := store.EventBatch{Shard: 0, Cursor: "1-0", Events: []store.HoldEvent{
			{GroupID: "tea", Action: "message", UserID: "rafi", Cause: store.CauseLadder, Step: 2, MuteStartMS: now, MuteEndMS: now + 300_000},
			{GroupID: "tea", Action: "message", UserID: "jun", Cause: store.CauseReview, Step: 4, MuteStartMS: now, MuteEndMS: now + policy.ReviewHoldMS},
		}}
		if err := f.store.ApplyEvents(t.Context(), []store.EventBatch{batch}); err != nil {
			t.Fatal(err)
		}
		v := f.signedIn(f.operator)
		v.get("/groups/tea/members").want(http.StatusOK).has("Muted now 1", "rafi", "step 3 of the ladder", "Waiting for review 1", "jun", "5 min")
		mute := url.Values{"user": {"mei"}, "for": {"90"}, "for-u": {"m"}, "reason": {"asked to"}}
		to := v.post("/groups/tea/members", mute).want(http.StatusSeeOther).header.Get("Location")
		v.get(to).has("mei is muted", "Muted by bootstrap", "asked to", "90 min left")
		to = v.post("/groups/tea/members", url.Values{"lift": {"mei"}}).want(http.StatusSeeOther).header.Get("Location")
		v.get(to).has("mei may speak again").hasNot("Muted by bootstrap")
		v.post("/groups/tea/members", url.Values{"lift": {"mei"}}).want(http.StatusOK).has("The mute of mei was already lifted by bootstrap")
		if m, err := f.store.MuteForPublish(t.Context(), "tea", "mei"); err != nil || m.LiftedBy != "bootstrap" || m.Reason != "asked to" {
			t.Errorf("%+v, %v", m, err)
		}
	})
}

func TestAMuteThatCannotBeReadIsNotGiven(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		for _, bad := range []url.Values{
			{"user": {"two words"}, "for": {"5"}, "for-u": {"m"}},
			{"user": {"mei"}, "for": {"0"}, "for-u": {"m"}},
			{"user": {"mei"}, "for": {"31"}, "for-u": {"d"}},
			{"user": {"mei"}, "for": {"5"}, "for-u": {"years"}},
		} {
			v.post("/groups/tea/members", bad).want(http.StatusUnprocessableEntity).has("There is a problem", `aria-invalid="true"`, `value="`+bad.Get("user")+`"`)
		}
		if page, err := f.store.ListMutes(t.Context(), "tea", "", 10); err != nil || len(page.Items) != 0 {
			t.Errorf("muted %v, %v", page.Items, err)
		}
		_, auditor := f.token(store.RoleAuditor)
		reader := f.signedIn(auditor)
		reader.get("/groups/tea/members").want(http.StatusOK).has("Nobody is muted").hasNot("Mute a member")
		reader.post("/groups/tea/members", url.Values{"user": {"mei"}, "for": {"5"}, "for-u": {"m"}}).want(http.StatusForbidden)
	})
}

func TestC38_HistoryTellsInWordsAndRestoresAnew(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		v.get("/groups/tea/history").want(http.StatusOK).has("never changed")
		v.post("/groups/tea", v.edited("/groups/tea", "message-gap", "1", "reason", "Book night")).want(http.StatusSeeOther)
		v.post("/groups/tea", v.edited("/groups/tea", "message-gap", "9")).want(http.StatusSeeOther)
		v.get("/groups/tea/history").want(http.StatusOK).has("Version 2", "Version 1", "Book night", "Saved by bootstrap", "1 change", "<del>1 s</del>", "<ins>9 s</ins>")
		f.bounds(func(b *policy.Bounds) {
			own := b.Actions["message"]
			own.MinIntervalMS.Min = 2000
			b.Actions["message"] = own
		})
		ask := v.get("/groups/tea/history/1/restore").want(http.StatusOK).
			has("Restore version 1?", "<del>9 s</del>", "<ins>1 s</ins>", "Messages, Shortest gap: stays at 2 s")
		if !strings.Contains(ask.body, `name="version" value="2"`) {
			t.Error("the form does not name the version that it was compared with")
		}
		v.post("/groups/tea/history/1/restore", url.Values{"version": {"1"}}).want(http.StatusPreconditionFailed)
		to := v.post("/groups/tea/history/1/restore", url.Values{"version": {"2"}}).want(http.StatusSeeOther).header.Get("Location")
		v.get(to).want(http.StatusOK).has("Version 1 is restored as version 3", "Restored by bootstrap")
		v.get("/groups/tea").says("message-gap-n", "You set 1 s. Clamped to 2 s by the system.")
		v.post("/groups/tea", v.edited("/groups/tea")).want(http.StatusSeeOther)
		if got := f.requested("tea"); got != `{"actions":{"message":{"min_interval_ms":1000}}}` {
			t.Errorf("after a save without a change: %s", got)
		}
		if to := v.post("/groups/tea/history/3/restore", url.Values{"version": {"3"}}).want(http.StatusSeeOther).header.Get("Location"); !strings.HasSuffix(to, "restored=same") {
			t.Errorf("restoring what is there: %s", to)
		}
		v.get("/groups/tea/history/77/restore").want(http.StatusNotFound)
	})
}
