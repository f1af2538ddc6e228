package ui_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
)

func TestAClampSaysWhetherItWasTypedOrCameWithANewerBound(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		lowest := func(ms int64) {
			f.bounds(func(b *policy.Bounds) {
				own := b.Actions["message"]
				own.MinIntervalMS.Min = ms
				b.Actions["message"] = own
			})
		}
		lowest(2000)
		f.document(`{"actions":{"message":{"min_interval_ms":1500}}}`)
		lowest(2500)
		v := f.signedIn(f.operator)
		v.get("/groups/tea").want(http.StatusOK).says("message-gap-n", "You set 1.5 s. Clamped to 2.5 s by the system.") // as it was typed
		f.document(`{"actions":{"message":{"min_interval_ms":3000}}}`)
		lowest(4000)
		lowest(5000)
		since := "Your 3 s is held at 5 s by a system rule since " + time.Now().UTC().Format("2 January 2006") + "."
		v.get("/groups/tea").want(http.StatusOK).says("message-gap-n", since)
		form := v.edited("/groups/tea", "message-count", "7")
		v.post("/groups/tea/preview", form).want(http.StatusOK).says("message-gap-n", since)
		form.Set("message-gap", "3.5") // typed now
		v.post("/groups/tea/preview", form).want(http.StatusOK).says("message-gap-n", "You set 3.5 s. Clamped to 5 s by the system.")
		lowest(1000)
		v.get("/groups/tea").want(http.StatusOK).says("message-gap-n", "")
	})
}
