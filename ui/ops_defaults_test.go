package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// defaultsNow is the text of the system's own document.
func (f *fixture) defaultsNow() (version int64, text string) {
	f.t.Helper()
	record, err := f.store.Defaults(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return record.Version, string(record.Document.JSON())
}

func TestPublishingDefaultsTellsWhatTheyDo(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.group("coffee", "Coffee")
		f.document(`{"actions":{"message":{"min_interval_ms":3000}}}`)
		v := f.signedIn(f.operator)
		v.get("/ops/defaults").want(http.StatusOK).has("Defaults as shipped", "Members may send one message every 2 s", "Change something to see").
			says("message-gap-h", "1 to 10 s, usually 2 s")
		form := v.edited("/ops/defaults", "message-gap", "0.5", "forgive", "20")
		v.post("/ops/defaults/preview", form, "HX-Request", "true").want(http.StatusOK).hasNot("<html").
			says("message-gap-n", "You set 0.5 s. Clamped to 1 s by the system.")
		v.post("/ops/defaults/impact", form, "HX-Request", "true").want(http.StatusOK).has("2 of 2 groups change.", "become stricter", "become looser").hasNot("<html")
		v.post("/ops/defaults", form).want(http.StatusUnprocessableEntity).has(`href="#reason"`, "2 of 2 groups change.")
		form.Set("reason", "calmer evenings")
		to := v.post("/ops/defaults", form).want(http.StatusSeeOther).header.Get("Location")
		v.get(to).want(http.StatusOK).has("Defaults saved as version 1").says("message-gap-n", "You set 0.5 s. Clamped to 1 s by the system.")
		if _, text := f.defaultsNow(); !strings.Contains(text, `"min_interval_ms":500`) || !strings.Contains(text, `"forgive_one_every_ms":1200000`) {
			t.Errorf("saved %s", text)
		}
		if entry := f.entries("defaults.update", 1)[0]; entry.Reason != "calmer evenings" || entry.Channel != store.ChannelUI {
			t.Errorf("the entry says %+v", entry)
		}
		v.get("/groups/coffee").want(http.StatusOK).says("message-line", "every 1 s, 8 in 30 s")
		if to := v.post("/ops/defaults", v.edited("/ops/defaults")).want(http.StatusSeeOther).header.Get("Location"); to != "/ops/defaults?saved=same" {
			t.Errorf("sent to %s: the form does not read its own page back", to)
		}
	})
}

func TestC30_AConflictOfDefaultsLosesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		form := v.edited("/ops/defaults", "message-gap", "3", "message-count", "5", "reason", "mine")
		theirs := v.edited("/ops/defaults", "message-gap", "4", "comment-count", "7", "reason", "theirs")
		v.post("/ops/defaults", theirs).want(http.StatusSeeOther)
		p := v.post("/ops/defaults", form).want(http.StatusPreconditionFailed).
			has("bootstrap saved version 1 while you were editing", "Nothing of yours is lost", "Messages, Shortest gap", "Publish as version 2")
		merged := p.fields()
		for field, want := range map[string]string{"version": "1", "message-gap": "3", "message-count": "5", "comment-count": "7", "reason": "mine"} {
			if got := merged.Get(field); got != want {
				t.Errorf("%s is %q, want %q", field, got, want)
			}
		}
		merged.Set("pick-message-gap", "4000")
		v.post("/ops/defaults", merged).want(http.StatusSeeOther)
		_, text := f.defaultsNow()
		if !strings.Contains(text, `"min_interval_ms":4000`) || !strings.Contains(text, `"limit":5`) || !strings.Contains(text, `"limit":7`) {
			t.Errorf("after the second save: %s", text)
		}
	})
}

// TestThePageOfDefaultsKeepsScopes: the form does not show what files and the API state of the system's scopes.
func TestThePageOfDefaultsKeepsScopes(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		const scopes = `"scopes":{"ip":{"like":{"window":{"algorithm":"fixed_window","limit":60,"period_ms":60000,"align":"first","count_refused":false}}}}`
		stated, err := policy.ParseDefaults([]byte("{" + scopes + "}"))
		if err != nil {
			f.t.Fatal(err)
		}
		if _, _, err := f.store.UpdateDefaults(f.t.Context(), system, store.Anything(), stated); err != nil {
			f.t.Fatal(err)
		}
		v := f.signedIn(f.operator)
		v.post("/ops/defaults", v.edited("/ops/defaults", "message-gap", "3", "reason", "slower")).want(http.StatusSeeOther)
		if version, text := f.defaultsNow(); version != 2 || !strings.Contains(text, scopes) || !strings.Contains(text, `"min_interval_ms":3000`) {
			f.t.Errorf("version %d says %s", version, text)
		}
	})
}

func TestDefaultsThatCannotBeReadAreNotSaved(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		for field, bad := range map[string]string{"message-gap": "0", "zone": "Mars/Base", "rung-after": "1", "notice-en-too_soon": "Wait"} {
			v.post("/ops/defaults", v.edited("/ops/defaults", field, bad, "reason", "x")).want(http.StatusUnprocessableEntity).has("There is a problem", "Problem: ")
		}
		form := v.edited("/ops/defaults", "op", "remove-rung-0")
		form = v.post("/ops/defaults", form).want(http.StatusOK).fields()
		if got := strings.Join(form["rung-after"], " "); got != "4 5 6" {
			t.Errorf("after removing a step: %s", got)
		}
		v.post("/ops/defaults", url.Values{"version": {"0"}}).want(http.StatusBadRequest)
		if version, _ := f.defaultsNow(); version != 0 {
			t.Errorf("version %d", version)
		}
		_, secret := f.token(store.RoleAuditor)
		reader := f.signedIn(secret)
		p := reader.get("/ops/defaults").want(http.StatusOK).has("View only").hasNot("Publish defaults", "What this changes", "Add a step")
		reader.post("/ops/defaults", p.fields()).want(http.StatusForbidden)
	})
}
