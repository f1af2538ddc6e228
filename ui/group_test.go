package ui_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/pacekeeper/pacekeeper/policy"
)

func TestSavingAClampedGapSaysSo(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		v.get("/groups/tea").want(http.StatusOK).says("state", "System defaults, never changed").
			says("message-gap-h", "1 to 10 s, usually 2 s").says("message-period-h", "5 s to 5 min, usually 30 s").
			says("message-line", "every 2 s, 8 in 30 s").says("upload-line", "100 in 24 h")
		to := v.post("/groups/tea", v.edited("/groups/tea", "message-gap", "0.5")).want(http.StatusSeeOther).header.Get("Location")
		if to != "/groups/tea?saved=1" {
			t.Fatalf("sent to %s", to)
		}
		p := v.get(to).want(http.StatusOK).says("message-gap-n", "You set 0.5 s. Clamped to 1 s by the system.").
			says("message-line", "every 1 s, 8 in 30 s")
		if got := p.fields().Get("message-gap"); got != "0.5" {
			t.Errorf("the field shows %s, not what was asked for", got)
		}
		if got := f.requested("tea"); got != `{"actions":{"message":{"min_interval_ms":500}}}` {
			t.Errorf("requested %s: what was not changed must follow the defaults", got)
		}
	})
}

func TestC13_AnUnchangedFormSavesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		for _, path := range []string{"/groups/tea", "/groups/tea?edit=all"} {
			if to := v.post("/groups/tea", v.edited(path)).want(http.StatusSeeOther).header.Get("Location"); to != "/groups/tea?saved=same" {
				t.Errorf("sent to %s", to)
			}
		}
		if record, err := f.store.Policy(t.Context(), "tea"); err != nil || record.Version != 0 {
			t.Errorf("version %d, %v", record.Version, err)
		}
	})
}

// everything is a document that states every setting the pages know, none of them the defaults'.
const everything = `{"time_zone":"Asia/Shanghai","actions":{` +
	`"comment":{"mode":"soft","min_interval_ms":null,"window":null},` +
	`"like":{"ban":null},` +
	`"message":{"mode":"soft","min_interval_ms":3500,"window":{"algorithm":"sliding_window","limit":9,"period_ms":60000,"count_refused":true},"ban":{"for_ms":7200000},"on_failure":"refuse"},` +
	`"sms":{"enabled":false}},` +
	`"exempt_roles":["owner","vip"],"penalties":{"ladder":[{"after":2,"do":"mute","for_ms":90000},{"after":7,"do":"remove"}],"forgive_one_every_ms":172800000},` +
	`"notices":{"en":{"too_soon":"Slowly: {wait}"},"zh":{"too_many":"等 {wait}"}}}`

func TestEverySettingGoesThroughTheForm(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		form := v.edited("/groups/tea?edit=all",
			"zone", "Asia/Shanghai", "comment-mode", "soft", "comment-window-on", "", "like-ban", "",
			"message-mode", "soft", "message-gap", "3,5", "message-count", "9", "message-period", "1", "message-period-u", "m",
			"message-refused", "on", "message-ban", "2", "message-ban-u", "h", "message-failure", "refuse", "sms-enabled", "",
			"forgive", "2", "forgive-u", "d", "notice-en-too_soon", "Slowly: {wait}", "notice-zh-too_many", " 等 {wait} ")
		form["role"] = []string{"vip"}
		form["rung-after"], form["rung-do"] = []string{"2", "7"}, []string{"mute", "remove"}
		form["rung-for"], form["rung-for-u"] = []string{"1.5", ""}, []string{"m", "s"}
		v.post("/groups/tea", form).want(http.StatusSeeOther)
		want := strings.Replace(everything, `"min_interval_ms":null,`, "", 1) // comments have no gap by default: nothing was changed
		if got := f.requested("tea"); got != want {
			t.Errorf("requested\n%s, want\n%s", got, want)
		}
		if to := v.post("/groups/tea", v.edited("/groups/tea?edit=all")).want(http.StatusSeeOther).header.Get("Location"); to != "/groups/tea?saved=same" {
			t.Errorf("the form does not read its own page back: %s: %s", to, f.requested("tea"))
		}
	})
}

func TestC16_WhatCannotBeReadIsNotSaved(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		for _, bad := range []string{"", "0", "-1", "lots", "1e3", "2s", "NaN", "0.0001", "99999999999999999999"} {
			for _, field := range []string{"message-gap", "message-count", "message-period", "forgive", "rung-after", "rung-for"} {
				p := v.post("/groups/tea", v.edited("/groups/tea", field, bad)).want(http.StatusUnprocessableEntity).
					has("There is a problem", `aria-invalid="true"`, "Problem: ").hasNot("Clamped")
				if got := p.fields().Get(field); got != bad {
					t.Errorf("%s: typed %q, kept %q", field, bad, got)
				}
			}
		}
		for field, bad := range map[string]string{
			"zone": "Mars/Base", "message-mode": "fierce", "message-algo": "dice", "notice-en-too_soon": "Wait a bit", "role": "king",
			"notice-zh-too_soon": strings.Repeat("长", 155) + "{wait}",
		} {
			v.post("/groups/tea", v.edited("/groups/tea", field, bad)).want(http.StatusUnprocessableEntity)
		}
		v.post("/groups/tea", url.Values{"message-gap": {"3"}}).want(http.StatusBadRequest)
		if got := f.requested("tea"); got != "{}" {
			t.Errorf("saved %s", got)
		}
	})
}

func TestTheLadderIsInOrder(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		form := v.edited("/groups/tea")
		form["rung-after"] = []string{"3", "3", "5", "6"}
		v.post("/groups/tea", form).want(http.StatusUnprocessableEntity).has(`href="#rung-1"`, "Step 3 must need more times than step 2. Enter 4 or more")
		form["rung-after"] = []string{"1", "3", "5", "6"}
		v.post("/groups/tea", form).want(http.StatusUnprocessableEntity).has(`href="#rung-0"`)
		form.Set("op", "remove-rung-0")
		form = v.post("/groups/tea", form).want(http.StatusOK).fields()
		form.Set("op", "add-rung")
		form = v.post("/groups/tea", form).want(http.StatusOK).fields()
		if got := strings.Join(form["rung-after"], " "); got != "3 5 6 7" {
			t.Fatalf("after removing and adding: %s", got)
		}
		if got := f.requested("tea"); got != "{}" {
			t.Fatalf("buttons saved %s", got)
		}
		v.post("/groups/tea", form).want(http.StatusSeeOther)
		want := `{"penalties":{"ladder":[{"after":3,"do":"mute","for_ms":300000},{"after":5,"do":"mute","for_ms":3600000},{"after":6,"do":"review"},{"after":7,"do":"mute","for_ms":3600000}]}}`
		if got := f.requested("tea"); got != want {
			t.Errorf("saved %s", got)
		}
	})
}

func TestC30_ASecondSaveIsToldAndLosesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		form := v.edited("/groups/tea", "message-count", "5", "message-gap", "3")
		f.document(`{"actions":{"message":{"min_interval_ms":4000}},"penalties":{"ladder":[]}}`) // a colleague saves meanwhile
		p := v.post("/groups/tea", form).want(http.StatusPreconditionFailed).
			has("test saved version 1 while you were editing", "Nothing of yours is lost", "Messages, Shortest gap", "Save as version 2")
		if got := f.requested("tea"); strings.Contains(got, "window") {
			t.Fatalf("the conflict wrote: %s", got)
		}
		merged := p.fields()
		for field, want := range map[string]string{
			"version": "1", "message-gap": "3", "message-count": "5", "pick-message-gap": "3000", "pick-ladder": "", "rung-after": "",
		} {
			if got := merged.Get(field); got != want {
				t.Errorf("%s is %q, want %q", field, got, want)
			}
		}
		merged.Set("pick-message-gap", "4000") // theirs
		v.post("/groups/tea", merged).want(http.StatusSeeOther)
		want := `{"actions":{"message":{"min_interval_ms":4000,"window":{"algorithm":"sliding_window","limit":5,"period_ms":30000,"count_refused":false}}},"penalties":{"ladder":[]}}`
		if got := f.requested("tea"); got != want {
			t.Fatalf("after the second save: %s", got)
		}
	})
}

func TestAFieldEditedAfterAChoiceCounts(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		form := v.edited("/groups/tea", "message-gap", "3")
		f.document(`{"actions":{"message":{"min_interval_ms":4000}}}`)
		merged := v.post("/groups/tea", form).want(http.StatusPreconditionFailed).fields()
		merged.Set("message-gap", "6")
		v.post("/groups/tea", merged).want(http.StatusSeeOther)
		if got := f.requested("tea"); !strings.Contains(got, "6000") {
			t.Errorf("saved %s", got)
		}
	})
}

func TestNoneStaysNone(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.document(`{"actions":{"message":{"min_interval_ms":null}}}`)
		v := f.signedIn(f.operator)
		v.post("/groups/tea", v.edited("/groups/tea", "message-count", "9")).want(http.StatusSeeOther)
		if got := f.requested("tea"); !strings.Contains(got, `"min_interval_ms":null`) || !strings.Contains(got, `"limit":9`) {
			t.Errorf("requested %s", got)
		}
		v.get("/groups/tea").says("message-line", "9 in 30 s")
	})
}

func TestWhatBoundsForbidIsSavedAndHeldBack(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.bounds(func(b *policy.Bounds) {
			own := b.Actions["message"]
			own.MayDisable = nil
			b.Actions["message"] = own
		})
		f.document(`{"actions":{"message":{"min_interval_ms":null,"mode":"soft"}}}`)
		f.signedIn(f.operator).get("/groups/tea").says("message-gap-n", "No limit was asked for; the system holds it at 2 s.").
			says("message-mode-n", "The system does not allow this; its own setting counts.").says("message-line", "every 2 s, 8 in 30 s")
	})
}

func TestPreviewSpeaksOfTheFormAndSavesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		form := v.edited("/groups/tea", "message-gap", "0.2", "message-count", "many", "pattern", "spammer")
		p := v.post("/groups/tea/preview", form).want(http.StatusOK).has(`hx-swap-oob="true"`).hasNot("<html").
			says("message-gap-n", "You set 0.2 s. Clamped to 1 s by the system.").
			says("message-count-n", "Enter a whole number above 0 for “Most in one window”").says("message-line", "every 1 s, 8 in 30 s")
		if !strings.Contains(p.body, "tried while held") {
			t.Error("a spammer is not held")
		}
		form.Set("op", "preview")
		form.Set("of", "like")
		v.post("/groups/tea", form).want(http.StatusOK).has("Members may like at most 10 times in 10 s; who tries more can’t like for 1 h.").hasNot("There is a problem")
		if got := f.requested("tea"); got != "{}" {
			t.Errorf("saved %s", got)
		}
	})
}

func TestEveryAlgorithmGoesThroughTheForm(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		for _, test := range []struct {
			algorithm  string
			changes    []string
			want, line string
		}{
			{
				"token_bucket",
				[]string{"message-capacity", "6", "message-refill", "3"},
				`"window":{"algorithm":"token_bucket","capacity":6,"refill_ms":3000,"count_refused":false}`, "every 2 s, 6 at once, then one every 3 s",
			},
			{
				"leaky_bucket",
				[]string{"message-queue", "on"},
				`"window":{"algorithm":"leaky_bucket","capacity":6,"leak_ms":3000,"queue":true,"count_refused":false}`, "every 2 s, 6 at once, then one every 3 s",
			},
			{
				"fixed_window",
				[]string{"message-align", "calendar", "message-period", "1", "message-period-u", "m"},
				`"window":{"algorithm":"fixed_window","limit":6,"period_ms":60000,"align":"calendar","count_refused":false}`, "every 2 s, 6 in 1 min",
			},
			{"sliding_counter", nil, `"window":{"algorithm":"sliding_counter","limit":6,"period_ms":60000,"buckets":10,"count_refused":false}`, "every 2 s, 6 in 1 min"},
		} {
			form := v.edited("/groups/tea", "message-algo", test.algorithm)
			v.post("/groups/tea/preview?fold=message", form, "HX-Request", "true").want(http.StatusOK).has(`<details class="act"`).hasNot("<html")
			form.Set("op", "preview") // the page with the numbers of the algorithm
			form = v.post("/groups/tea", form).want(http.StatusOK).fields()
			for i := 0; i < len(test.changes); i += 2 {
				form.Set(test.changes[i], test.changes[i+1])
			}
			v.post("/groups/tea", form).want(http.StatusSeeOther)
			if got := f.requested("tea"); !strings.Contains(got, test.want) {
				t.Errorf("%s: %s", test.algorithm, got)
			}
			v.get("/groups/tea").says("message-line", test.line)
			if to := v.post("/groups/tea", v.edited("/groups/tea?edit=all")).want(http.StatusSeeOther).header.Get("Location"); to != "/groups/tea?saved=same" {
				t.Errorf("%s is not read back: %s", test.algorithm, f.requested("tea"))
			}
		}
	})
}

func TestAFoldIsFetchedWhenItIsOpened(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		v.get("/groups/tea").want(http.StatusOK).says("upload-line", "100 in 24 h").hasNot(`name="upload-count"`)
		v.get("/groups/tea/fold?action=upload", "HX-Request", "true").want(http.StatusOK).has(`name="upload-count"`, "until the day ends").hasNot("<html")
		if to := v.get("/groups/tea/fold?action=upload").want(http.StatusSeeOther).header.Get("Location"); to != "/groups/tea?open=upload" {
			t.Errorf("without scripts: %s", to)
		}
		v.get("/groups/tea/fold?action=nothing", "HX-Request", "true").want(http.StatusNotFound)
		v.post("/groups/tea", v.edited("/groups/tea?open=upload", "upload-count", "90")).want(http.StatusSeeOther)
		want := `{"actions":{"upload":{"window":{"algorithm":"fixed_window","limit":90,"period_ms":86400000,"align":"calendar","count_refused":false}}}}`
		if got := f.requested("tea"); got != want {
			t.Errorf("saved %s", got)
		}
	})
}
