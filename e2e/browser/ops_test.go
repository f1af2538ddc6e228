package browser_test

import (
	"fmt"
	"net/http"
	"testing"
)

func TestBoundsAreTightenedAfterTheirImpactWasSeen(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.group(`{"actions":{"message":{"min_interval_ms":1000}}}`)
	s.many(101)
	w := s.window(desktop)
	w.signIn(operator, "/ops/bounds")
	w.fill("message.gap.min", "4 s")
	w.has("102 of 102 groups change.") // counted by the server while it was typed
	w.wait("document.querySelectorAll('#impact svg .hit').length===1&&!document.querySelector('#impact svg .keep')")
	w.wait("document.getElementById('dirty').textContent==='1 change not saved'")
	w.away(".savebar .primary")
	w.wait("document.activeElement.classList.contains('errors')&&document.title.startsWith('Problem: ')")
	w.has("Enter a reason")
	w.fill("reason", "evening spam wave")
	w.fill("sure", "102")
	w.away(".savebar .primary")
	w.has("Bounds saved as version 1")
	w.wait("document.getElementById('state').textContent==='Bounds 1, live'") // by itself, once every group has them
	s.check("mei")
	if reason, wait := s.check("mei"); reason != "refused_interval" || wait < 3000 || wait > 4000 {
		t.Errorf("Redis says %s, %v ms", reason, wait)
	}
	w.open("/groups/tea")
	w.has("Your 1 s is held at 4 s by a system rule since")
	w.sane()
}

func TestAChangeIsReviewedInTheAuditLogAndTakenBack(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.group(`{"actions":{"message":{"min_interval_ms":2000}}}`)
	s.save(`{"actions":{"message":{"min_interval_ms":9000}}}`)
	w := s.window(phone)
	w.signIn(operator, "/ops/audit")
	w.has("Chain verified")
	w.fill("changed", "/actions/message")
	w.away(".filters .primary")
	w.has("Messages, shortest gap: 2 s → 9 s")
	w.wait("document.querySelectorAll('.log details').length===2")
	w.click(".log li:first-child summary")
	w.wait("document.querySelector('.log li:first-child ins')&&document.querySelector('.log li:first-child ins').textContent==='9 s'")
	w.wait("document.querySelector('.log li:first-child del').textContent==='2 s'")
	w.wait("document.scrollingElement.scrollWidth<=innerWidth")
	w.sane()
	w.away(".log li:first-child .kv a") // to the group
	w.has("Members may send one message every 9 s")
	w.open("/groups/tea/history")
	w.away("[aria-label='Restore version 1']")
	w.away("form .primary")
	w.has("Version 1 is restored as version 3")
	eventually(t, "Redis holds messages to one each 2 s", func() bool {
		s.check("mei")
		reason, wait := s.check("mei")
		return reason == "refused_interval" && wait <= 2000
	})
	w.open("/ops/audit?action=policy.restore")
	w.has("Messages, shortest gap: 9 s → 2 s")
	w.sane()
}

func TestATokenIsCopiedOnceAndRevoked(t *testing.T) {
	t.Parallel()
	s := serve(t)
	s.group("")
	w := s.window(phone)
	w.signIn(operator, "/ops/tokens")
	w.fill("name", "gate-1")
	w.away("form .primary")
	w.has("Copy the token for gate-1 now")
	token := w.eval("document.getElementById('tok').textContent")
	s.call(http.MethodPost, "/v1/groups/tea/check", `{"user_id":"mei","action":"message"}`, http.StatusOK, "Authorization", "Bearer "+token)
	w.open("/ops/tokens")
	w.wait("!document.body.innerText.includes(" + quoted(token) + ")")
	w.away("[aria-label='Revoke gate-1']")
	w.away("form .danger")
	w.has("gate-1 is revoked")
	s.call(http.MethodPost, "/v1/groups/tea/check", `{"user_id":"mei","action":"message"}`, http.StatusUnauthorized, "Authorization", "Bearer "+token)
	w.sane()
}

// many registers so many groups without settings of their own.
func (s *server) many(n int) {
	s.t.Helper()
	for i := range n {
		s.call(http.MethodPut, fmt.Sprintf("/v1/groups/g%d", i), fmt.Sprintf(`{"name":"Reading club %d","locale":"en"}`, i), http.StatusCreated)
	}
}
