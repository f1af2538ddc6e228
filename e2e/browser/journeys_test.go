package browser_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestSignInAndChangeThePaceOnAPhone(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.group(`{"actions":{"message":{"min_interval_ms":2000}}}`)
	w := s.window(phone)
	w.open("/groups/tea")
	w.has("Sign in")
	w.fill("token", "pk_wrong")
	w.away("form[action='/sign-in'] button")
	w.has("This token is not known")
	w.fill("token", operator)
	w.away("form[action='/sign-in'] button")
	w.has("Members may send one message every 2 s")
	w.wait("document.scrollingElement.scrollWidth<=innerWidth")
	w.fill("message-gap", "7")
	w.has("Members may send one message every 7 s") // the server said so, without a save
	w.wait("document.querySelector('[data-for=message-gap]').value==='7'")
	w.has("1 change not saved")
	if _, wait := s.check("before"); wait != 0 {
		t.Fatalf("the first message waits %v ms", wait)
	}
	w.away(".savebar .primary")
	w.has("Version 2, live")
	s.check("mei")
	if reason, wait := s.check("mei"); reason != "refused_interval" || wait < 6000 || wait > 7000 {
		t.Errorf("Redis says %s, %v ms", reason, wait)
	}
	w.sane()
}

func TestAClampIsSaidWhileTypingAndAfterSaving(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.group("")
	w := s.window(desktop)
	w.signIn(operator, "/groups/tea")
	w.fill("message-gap", "0.5")
	w.wait("document.getElementById('message-gap-n').textContent==='You set 0.5 s. Clamped to 1 s by the system.'")
	w.wait("document.getElementById('message-gap').closest('.field').classList.contains('is-clamped')")
	w.fill("message-count", "lots")
	w.wait("document.getElementById('message-count').getAttribute('aria-invalid')==='true'")
	w.away(".savebar .primary")
	w.wait("document.activeElement.classList.contains('errors')&&document.title.startsWith('Problem: ')")
	w.fill("message-count", "8")
	w.away(".savebar .primary")
	w.has("Saved as version 1, 1 value clamped")
	w.wait("document.getElementById('message-gap').value==='0.5'")
	w.has("Members may send one message every 1 s")
	s.check("mei")
	if reason, wait := s.check("mei"); reason != "refused_interval" || wait > 1000 {
		t.Errorf("Redis says %s, %v ms", reason, wait)
	}
	w.sane()
}

func TestStepsOfTheLadderComeAndGo(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.group("")
	w := s.window(desktop)
	w.signIn(operator, "/groups/tea")
	w.click("[value=remove-rung-0]")
	w.wait("document.querySelectorAll('.rung').length===4&&document.getElementById('rung-0').value==='4'")
	w.has("After 4 times, they’re muted for 5 min; after 5, for 1 h")
	w.click("#add-rung")
	w.wait("document.activeElement.id==='rung-3'&&document.activeElement.value==='7'")
	w.fill("rung-0", "2")
	w.fill("rung-0-for", "3")
	w.has("After 2 times, they’re muted for 3 min")
	w.away(".savebar .primary")
	w.has("Version 1, live")
	for range 2 { // strikes are counted at most once a second
		s.check("mei")
		eventually(t, "a strike is counted", func() bool {
			reason, _ := s.check("mei")
			return reason != "allowed"
		})
	}
	eventually(t, "the second strike mutes for 3 min", func() bool {
		reason, wait := s.check("mei")
		return reason == "refused_muted" && wait > 170_000 && wait <= 180_000
	})
	w.sane()
}

func TestANamedMemberIsFreeAtOnceAndLimitedAgain(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.group("")
	w := s.window(phone)
	w.signIn(operator, "/groups/tea")
	w.fill("message-gap", "9") // not saved: must survive
	w.fill("nm", "mei")
	w.click("[name=add]")
	w.has("mei is not limited any more")
	w.wait("document.getElementById('message-gap').value==='9'")
	s.check("mei")
	eventually(t, "Redis lets mei pass", func() bool {
		reason, _ := s.check("mei")
		return reason == "allowed_exempt"
	})
	w.click("[name=remove][value=mei]")
	w.has("mei is limited again")
	eventually(t, "Redis limits mei again", func() bool {
		reason, _ := s.check("mei")
		return reason == "refused_interval"
	})
	w.sane()
}

func TestC30_AConflictIsMergedSettingBySetting(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.group("")
	w := s.window(desktop)
	w.signIn(operator, "/groups/tea")
	w.fill("message-gap", "3")
	w.fill("message-count", "5")
	s.save(`{"actions":{"message":{"min_interval_ms":4000}}}`)
	w.away(".savebar .primary")
	w.has("bootstrap saved version 1 while you were editing")
	w.wait("document.getElementById('message-gap').value==='3'")
	w.click("[name=pick-message-gap][value='4000']")
	w.wait("document.getElementById('message-gap').value==='4'")
	w.has("Members may send one message every 4 s, and at most 5 in 30 s")
	w.away(".banner .primary")
	w.has("Version 2, live")
	got := s.call(http.MethodGet, "/v1/groups/tea/policy", "", http.StatusOK)
	message := got["effective"].(map[string]any)["actions"].(map[string]any)["message"].(map[string]any)
	if message["min_interval_ms"] != 4000.0 || message["window"].(map[string]any)["limit"] != 5.0 {
		t.Errorf("in force: %v", message)
	}
	s.check("mei")
	if reason, wait := s.check("mei"); reason != "refused_interval" || wait < 3000 || wait > 4000 {
		t.Errorf("Redis says %s, %v ms", reason, wait)
	}
	w.sane()
}

func TestUnsavedChangesAreGuarded(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.group("")
	w := s.window(desktop)
	w.signIn(operator, "/groups/tea")
	w.fill("message-gap", "3")
	w.click(".areas a")
	w.has("Leave without saving?")
	w.click("#leave [data-close]")
	w.wait("!document.getElementById('leave').open&&location.pathname==='/groups/tea'")
	w.click(".areas a")
	w.away("#leave-go")
	w.wait("location.pathname==='/groups'")
	w.sane()
}

func TestASessionThatEndsMeanwhileLosesNothing(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.group("")
	made := s.call(http.MethodPost, "/v1/tokens", `{"name":"mei","role":"group_admin","groups":["tea"]}`, http.StatusCreated)
	w := s.window(phone)
	w.signIn(made["token"].(string), "/groups/tea")
	w.fill("message-gap", "6")
	s.call(http.MethodDelete, "/v1/tokens/"+made["id"].(string), "", http.StatusNoContent)
	w.fill("message-count", "5")
	w.has("You were signed out")
	w.away(".savebar .primary")
	w.has("You are not signed in any more")
	w.eval("fetch('/sign-in',{method:'POST',body:new URLSearchParams({token:" + quoted(operator) + "})}).then(r=>window.__in=r.ok)&&1")
	w.wait("window.__in")
	w.away("form .primary")
	w.has("Version 1, live")
	s.check("mei")
	if reason, wait := s.check("mei"); reason != "refused_interval" || wait < 5000 {
		t.Errorf("Redis says %s, %v ms", reason, wait)
	}
}

func TestAPortalLinkLeadsFromTheChatToTheGroup(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.group("")
	made := s.call(http.MethodPost, "/v1/portal-sessions", `{"user_id":"u17","name":"Mei","groups":["tea"],"locale":"en"}`, http.StatusCreated)
	link := strings.TrimPrefix(made["url"].(string), s.url)
	w := s.window(phone)
	w.open(link) // a link preview: uses nothing up
	w.open(link)
	w.has("Open your groups")
	w.away("form button")
	w.has("Members may send one message every 2 s")
	w.fill("message-gap", "8")
	w.away(".savebar .primary")
	w.has("Version 1, live")
	s.check("mei")
	if reason, wait := s.check("mei"); reason != "refused_interval" || wait < 7000 {
		t.Errorf("Redis says %s, %v ms", reason, wait)
	}
	w.sane()
	again := s.window(phone)
	again.open(link)
	again.away("form button")
	again.has("This link was used already")
	s.call(http.MethodDelete, "/v1/portal-sessions/"+made["id"].(string), "", http.StatusNoContent)
	w.open("/groups/tea")
	w.has("Access token")
}

func TestAMuteIsLiftedFromThePage(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.group("")
	s.call(http.MethodPut, "/v1/groups/tea/mutes/rafi", `{"for_ms":3600000}`, http.StatusOK, "Prefer", "wait=5")
	if reason, _ := s.check("rafi"); reason != "refused_muted" {
		t.Fatalf("Redis says %s", reason)
	}
	w := s.window(phone)
	w.signIn(operator, "/groups/tea/members")
	w.has("rafi")
	w.away("[name=lift][value=rafi]")
	w.has("rafi may speak again")
	eventually(t, "Redis lets rafi speak", func() bool {
		reason, _ := s.check("rafi")
		return reason == "allowed"
	})
	w.sane()
}

func TestC38_ARestoreTellsWhatANewerBoundHoldsBack(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.group(`{"actions":{"message":{"min_interval_ms":1000}}}`)
	s.save(`{"actions":{"message":{"min_interval_ms":9000}}}`)
	s.bounds(func(bounds map[string]any) {
		bounds["actions"].(map[string]any)["message"].(map[string]any)["min_interval_ms"] = map[string]any{"min": 3000, "max": 10000}
	})
	w := s.window(desktop)
	w.signIn(operator, "/groups/tea/history")
	w.away("[aria-label='Restore version 1']")
	w.has("stays at 3 s")
	w.away("form .primary")
	w.has("Version 1 is restored as version 3")
	eventually(t, "Redis holds messages to one each 3 s", func() bool {
		s.check("mei")
		reason, wait := s.check("mei")
		return reason == "refused_interval" && wait > 2000 && wait <= 3000
	})
	w.sane()
}
