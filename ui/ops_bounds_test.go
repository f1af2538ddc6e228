package ui_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
	"github.com/pacekeeper/pacekeeper/ui"
)

// boundsNow is the text of the bounds in force.
func (f *fixture) boundsNow() (version int64, text string) {
	f.t.Helper()
	record, err := f.store.Bounds(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	return record.Version, string(record.Bounds.JSON(record.System.ActionNames()))
}

func TestPublishingBoundsTellsWhatTheyDo(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		f.document(`{"actions":{"message":{"min_interval_ms":1500}}}`)
		f.group("coffee", "Coffee")
		v := f.signedIn(f.operator)
		v.get("/ops/bounds").want(http.StatusOK).has("Bounds as shipped", "gap 1 s to 10 s, 3 to 50 in one window", "Change something to see")
		form := v.edited("/ops/bounds", "message.gap.min", "3 s")
		v.post("/ops/bounds/preview", form, "HX-Request", "true").want(http.StatusOK).
			has("2 of 2 groups change.", "2 become stricter", "1 are newly held back", "Messages, shortest gap", "1.5 s", "would change", "Held back of the defaults: 1").
			hasNot("<html", "Type ")
		v.post("/ops/bounds", form).want(http.StatusUnprocessableEntity).has(`href="#reason"`, "Enter a reason", "2 of 2 groups change.", "was 1 s")
		form.Set("reason", "evening spam wave")
		to := v.post("/ops/bounds", form).want(http.StatusSeeOther).header.Get("Location")
		v.get(to).want(http.StatusOK).has("Bounds saved as version 1", "gap 3 s to 10 s")
		entry := f.entries("bounds.update", 1)[0]
		if entry.Reason != "evening spam wave" || entry.Channel != store.ChannelUI || entry.Actor != "bootstrap" {
			t.Errorf("the entry says %+v", entry)
		}
		v.get("/groups/tea").want(http.StatusOK).says("message-gap-n", "Your 1.5 s is held at 3 s by a system rule since "+time.Now().UTC().Format("2 January 2006")+".")
		v.get("/ops/audit").want(http.StatusOK).has("Messages, lowest gap: 1 s → 3 s")
	})
}

func TestC13_UnchangedBoundsSaveNothing(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		_, before := f.boundsNow()
		for _, lang := range []string{"en", "zh"} {
			v.post("/language", url.Values{"lang": {lang}})
			if to := v.post("/ops/bounds", v.edited("/ops/bounds")).want(http.StatusSeeOther).header.Get("Location"); to != "/ops/bounds?saved=same" {
				t.Errorf("%s: sent to %s: the form does not read its own page back", lang, to)
			}
		}
		if version, after := f.boundsNow(); version != 0 || before != after {
			t.Errorf("version %d: %s", version, cmp.Diff(before, after))
		}
	})
}

func TestEveryBoundGoesThroughTheForm(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		if _, _, err := f.store.PutAction(t.Context(), system, policy.ActionSpec{Name: "wave-2"}); err != nil {
			t.Fatal(err)
		}
		v := f.signedIn(f.operator)
		form := v.edited("/ops/bounds",
			"message.gap.min", "1500 ms", "message.gap.max", "0,5 min", "message.count.min", "4", "message.count.max", "40",
			"message.period.min", "6", "message.period.max", "5 min 30 s", "message.ban.max", "2 days",
			"message.capacity.min", "2", "message.capacity.max", "20", "message.refill.min", "1 s", "message.refill.max", "1 h",
			"message.leak.min", "2 s", "message.leak.max", "2 h", "message.buckets.min", "5", "message.buckets.max", "10",
			"message.algo.fixed_window", "", "message.off.soft", "", "message.by", "operator", "mute.max", "3 days", "forgive.min", "2 min",
			"steps", "4", "exemptions", "500", "own-roles", " helper  guest ", "reason", "all of it")
		v.post("/ops/bounds", form).want(http.StatusSeeOther)
		_, text := f.boundsNow()
		for _, want := range []string{
			`"message":{"min_interval_ms":{"min":1500,"max":30000},"window_limit":{"min":4,"max":40},"window_period_ms":{"min":6000,"max":330000},` +
				`"capacity":{"min":2,"max":20},"refill_ms":{"min":1000,"max":3600000},"leak_ms":{"min":2000,"max":7200000},"buckets":{"min":5,"max":10}`,
			`"max":172800000},"algorithms":["sliding_window","sliding_counter","token_bucket","leaky_bucket"],"may_disable":["interval","window"],"edited_by":"operator"}`,
			`"mute_ms":{"min":10000,"max":259200000},"forgive_one_every_ms":{"min":120000,`, `"ladder_steps_max":4,"exemptions_max":500,"roles":["helper","guest"]`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("lacks %s:\n%s", want, text)
			}
		}
		if to := v.post("/ops/bounds", v.edited("/ops/bounds")).want(http.StatusSeeOther).header.Get("Location"); to != "/ops/bounds?saved=same" {
			t.Errorf("the form does not read its own page back: sent to %s", to)
		}
	})
}

func TestC16_BoundsThatCannotBeReadAreNotSaved(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		for _, bad := range [][2]string{
			{"message.gap.min", ""},
			{"message.gap.min", "0"},
			{"message.gap.min", "-1 s"},
			{"message.gap.min", "2 parsecs"},
			{"message.gap.min", "0.0001 s"},
			{"message.gap.min", "20 s"}, // above the highest
			{"message.gap.max", "9999 days"},
			{"message.count.max", "1.5"},
			{"message.capacity.min", "3"}, // one end alone
			{"mute.max", "lots"},
			{"steps", "0"},
			{"steps", "99"},
			{"own-roles", "King!"},
			{"own-roles", "owner"},
		} {
			p := v.post("/ops/bounds", v.edited("/ops/bounds", bad[0], bad[1], "reason", "x")).want(http.StatusUnprocessableEntity).
				has("There is a problem", "Problem: ", `aria-invalid="true"`)
			if got := p.fields().Get(bad[0]); got != bad[1] {
				t.Errorf("%s: typed %q, kept %q", bad[0], bad[1], got)
			}
		}
		form := v.edited("/ops/bounds", "reason", "x")
		for _, algorithm := range policy.Algorithms() {
			form.Del("message.algo." + string(algorithm))
		}
		v.post("/ops/bounds", form).want(http.StatusUnprocessableEntity)
		v.post("/ops/bounds", url.Values{"version": {"0"}}).want(http.StatusBadRequest)
		if version, _ := f.boundsNow(); version != 0 {
			t.Errorf("version %d", version)
		}
	})
}

func TestC30_AConflictOfBoundsLosesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		v := f.signedIn(f.operator)
		form := v.edited("/ops/bounds", "message.gap.min", "3 s", "message.count.max", "20", "message.off.soft", "", "reason", "mine")
		f.bounds(func(b *policy.Bounds) { // a colleague publishes meanwhile
			own := b.Actions["message"]
			own.MinIntervalMS.Min, own.WindowPeriodMS.Max = 4000, 120_000
			b.Actions["message"] = own
		})
		p := v.post("/ops/bounds", form).want(http.StatusPreconditionFailed).
			has("test saved version 1 while you were editing", "Nothing of yours is lost", "Messages, Shortest gap, lowest", "Publish as version 2", "mine")
		merged := p.fields()
		for field, want := range map[string]string{
			"version": "1", "message.gap.min": "3 s", "message.count.max": "20", "message.period.max": "2 min", "message.off.soft": "",
			"pick-message.gap.min": "3000",
		} {
			if got := merged.Get(field); got != want {
				t.Errorf("%s is %q, want %q", field, got, want)
			}
		}
		merged.Set("pick-message.gap.min", "4000") // theirs
		v.post("/ops/bounds", merged).want(http.StatusSeeOther)
		_, text := f.boundsNow()
		want := `"message":{"min_interval_ms":{"min":4000,"max":10000},"window_limit":{"min":3,"max":20},"window_period_ms":{"min":5000,"max":120000}`
		if !strings.Contains(text, want) || !strings.Contains(text, `"may_disable":["interval","window"],"edited_by":"group"`) {
			t.Errorf("after the second save: %s", text)
		}
	})
}

func TestManyGroupsAreConfirmedByTheirNumber(t *testing.T) {
	t.Parallel()
	f := newFixture(t, postgres(t))
	for i := range 101 {
		f.group(fmt.Sprintf("g%d", i), "x")
	}
	v := f.signedIn(f.operator)
	form := v.edited("/ops/bounds", "message.gap.min", "3 s", "reason", "x")
	v.post("/ops/bounds/preview", form, "HX-Request", "true").want(http.StatusOK).has("102 of 102 groups change.", "Type 102 to confirm", `hx-swap-oob="true"`)
	p := v.post("/ops/bounds", form).want(http.StatusUnprocessableEntity).has(`href="#sure"`, "Type 102 to confirm that so many groups change")
	form = p.fields()
	form.Set("sure", "101")
	v.post("/ops/bounds", form).want(http.StatusUnprocessableEntity).has(`href="#sure"`)
	f.group("late", "x") // one more than the page showed: near enough
	form.Set("sure", "102")
	v.post("/ops/bounds", form).want(http.StatusSeeOther)
	f.entries("bounds.update", 1)
}

func TestTheBoundsPageWaitsUntilAllGroupsHaveThem(t *testing.T) {
	t.Parallel()
	var job ui.SyncFleet
	f := newFixtureWith(t, postgres(t), func(cfg *ui.Config) { cfg.Sync = func() ui.SyncState { return ui.SyncState{Fleet: job} } })
	job.Ended, job.Rate = time.Now().Add(-time.Hour), 0.5
	v := f.signedIn(f.operator)
	form := v.edited("/ops/bounds", "message.gap.min", "3 s", "reason", "x")
	v.post("/ops/bounds/preview", form, "HX-Request", "true").want(http.StatusOK).has("Live everywhere in about 2 s")
	v.post("/ops/bounds", form).want(http.StatusSeeOther)
	v.get("/ops/bounds").want(http.StatusOK).says("state", "Publishing bounds 1").has(`hx-get="/ops/bounds/state"`)
	job.Running, job.Left = true, 90*time.Second
	v.get("/ops/bounds/state").want(http.StatusOK).says("state", "Publishing bounds 1, about 90 s left")
	job.Running, job.Ended = false, time.Now().Add(time.Minute)
	v.get("/ops/bounds/state").want(http.StatusOK).says("state", "Bounds 1, live").hasNot("hx-get")
}

func TestAuditorsReadTheBounds(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		_, secret := f.token(store.RoleAuditor)
		v := f.signedIn(secret)
		p := v.get("/ops/bounds").want(http.StatusOK).has("View only", "gap 1 s to 10 s").hasNot("What this changes", "Publish bounds")
		for name := range p.fields() {
			if name != "version" && name != "was" {
				t.Errorf("the field %s can be edited", name)
			}
		}
		v.post("/ops/bounds", p.fields()).want(http.StatusForbidden)
		v.post("/ops/bounds/preview", p.fields()).want(http.StatusForbidden)
	})
}

// The form of all the actions that may be registered, with names as long as they may be, can be sent.
func TestTheBoundsOfAsManyActionsAsThereMayBeAreSaved(t *testing.T) {
	t.Parallel()
	f := newFixture(t, postgres(t))
	record, err := f.store.Bounds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	for i := len(record.System.ActionNames()); i < policy.MaxActions; i++ {
		last = fmt.Sprintf("a-name-of-thirty-two-letters-%03d", i)
		if _, _, err := f.store.PutAction(t.Context(), system, policy.ActionSpec{Name: last}); err != nil {
			t.Fatal(err)
		}
	}
	v := f.signedIn(f.operator)
	v.post("/ops/bounds", v.edited("/ops/bounds", last+".gap.min", "3 s", "reason", strings.Repeat("长", 500))).want(http.StatusSeeOther)
	f.entries("bounds.update", 1)
	v.post("/ops/defaults", v.edited("/ops/defaults", "message-gap", "4", "reason", strings.Repeat("长", 500))).want(http.StatusSeeOther)
}
