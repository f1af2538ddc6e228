package browser_test

import (
	"encoding/json"
	"net/http"
	"testing"
)

// state is a page as somebody may meet it: where it is, and what he does there. Several windows are at it at once, so
// nothing that others look at is changed.
type state struct {
	name, path string
	then       func(w *window)
	folded     bool // its folds are looked at in another state of the page
}

// exhibits fills a server with what the states show, and makes an auditor.
func (s *server) exhibits() (auditor string) {
	s.t.Helper()
	s.group(`{"actions":{"message":{"min_interval_ms":500}},"notices":{"en":{"too_soon":"Slowly: {wait}"}}}`)
	s.call(http.MethodPut, "/v1/groups/book", `{"name":"Lantern Book Circle","locale":"en"}`, http.StatusCreated)
	s.call(http.MethodPut, "/v1/groups/go", `{"name":"云上围棋社","locale":"zh"}`, http.StatusCreated)
	s.call(http.MethodPut, "/v1/groups/tea/exemptions/mei", `{"note":"guest"}`, http.StatusCreated)
	s.call(http.MethodPut, "/v1/groups/tea/mutes/rafi", `{"for_ms":3600000,"reason":"asked to"}`, http.StatusOK)
	s.bounds(func(bounds map[string]any) { bounds["exemptions_max"] = 9000 })
	s.call(http.MethodPut, "/v1/system/defaults", `{"actions":{"message":{"min_interval_ms":3000}}}`, http.StatusOK, "If-Match", "*")
	s.call(http.MethodPost, "/v1/tokens", `{"name":"gate-1","role":"gateway","expires_at":"2099-01-01T00:00:00Z"}`, http.StatusCreated)
	return s.token("auditor", "")
}

// bounds changes the bounds as operators do.
func (s *server) bounds(change func(bounds map[string]any)) {
	s.t.Helper()
	bounds := s.call(http.MethodGet, "/v1/system/bounds", "", http.StatusOK)
	delete(bounds, "version")
	change(bounds)
	body, err := json.Marshal(bounds)
	if err != nil {
		s.t.Fatal(err)
	}
	s.call(http.MethodPut, "/v1/system/bounds", string(body), http.StatusOK, "If-Match", "*")
}

// states are all pages and states by who meets them, in the order in which they are looked at.
func states() map[string][]state {
	return map[string][]state{
		"": {
			{name: "sign-in", path: "/sign-in"},
			{name: "sign-in-wrong", path: "/sign-in", then: func(w *window) {
				w.fill("token", "wrong")
				w.away("form[action='/sign-in'] button")
			}},
			{name: "portal", path: "/portal/0000"},
		},
		"auditor": {
			{name: "settings-readonly", path: "/groups/tea", folded: true},
			{name: "bounds-readonly", path: "/ops/bounds", folded: true},
			{name: "tokens-readonly", path: "/ops/tokens"},
		},
		"operator": append(groupStates(), operatorStates()...),
	}
}

func groupStates() []state {
	return []state{
		{name: "groups", path: "/groups"},
		{name: "groups-none-found", path: "/groups?query=nothing"},
		{name: "not-found", path: "/groups/nowhere"},
		{name: "settings", path: "/groups/tea?saved=1"},
		{name: "settings-errors", path: "/groups/tea", folded: true, then: func(w *window) {
			w.fill("rung-1", "2")
			w.fill("message-count", "x")
			w.fill("message-period", "900")
			w.away(".savebar .primary")
		}},
		{name: "settings-conflict", path: "/groups/tea", folded: true, then: func(w *window) {
			w.fill("message-gap", "3")
			w.stale()
			w.away(".savebar .primary")
		}},
		{name: "settings-leave", path: "/groups/tea", folded: true, then: func(w *window) {
			w.fill("message-gap", "3")
			w.click("#discard")
			w.wait("document.getElementById('leave').open")
		}},
		{name: "members", path: "/groups/tea/members"},
		{name: "members-nobody", path: "/groups/book/members"},
		{name: "history", path: "/groups/tea/history"},
		{name: "history-empty", path: "/groups/book/history"},
		{name: "restore", path: "/groups/tea/history/1/restore"},
	}
}

func operatorStates() []state {
	return []state{
		{name: "fleet", path: "/ops"},
		{name: "fleet-none-found", path: "/ops?query=nothing"},
		{name: "bounds", path: "/ops/bounds"},
		{name: "bounds-impact", path: "/ops/bounds", folded: true, then: func(w *window) {
			w.fill("message.gap.min", "4 s")
			w.wait("document.querySelector('#impact .hit')")
		}},
		{name: "bounds-errors", path: "/ops/bounds", folded: true, then: func(w *window) {
			w.fill("message.gap.min", "20 s")
			w.fill("message.count.max", "lots")
			w.away(".savebar .primary")
		}},
		{name: "bounds-conflict", path: "/ops/bounds", folded: true, then: func(w *window) {
			w.fill("message.gap.min", "3 s")
			w.stale()
			w.away(".savebar .primary")
		}},
		{name: "defaults", path: "/ops/defaults"},
		{name: "audit", path: "/ops/audit", folded: true, then: func(w *window) { w.wait("document.querySelector('#chain .good')") }},
		{name: "audit-open", path: "/ops/audit?action=bounds.update", then: func(w *window) {
			w.click(".log summary")
			w.wait("document.querySelector('.log ins')")
		}},
		{name: "audit-none", path: "/ops/audit?actor=nobody"},
		{name: "audit-errors", path: "/ops/audit?changed=x"},
		{name: "audit-entry", path: "/ops/audit/1"},
		{name: "tokens", path: "/ops/tokens"},
		{name: "tokens-errors", path: "/ops/tokens", then: func(w *window) { w.away("form .primary") }},
		{name: "tokens-made", path: "/ops/tokens", then: func(w *window) {
			w.fill("name", "gate-2")
			w.away("form .primary")
		}},
		{name: "tokens-revoke", path: "/ops/tokens", then: func(w *window) { w.away("tbody tr:last-child .quiet") }},
	}
}

// statesWithoutRedis are what pages say while Redis is away.
func statesWithoutRedis() []state {
	return []state{
		{name: "fleet-redis-away", path: "/ops", then: func(w *window) { w.wait("document.querySelector('#sync .banner')") }},
		{name: "members-redis-away", path: "/groups/tea/members"},
		{name: "settings-redis-away", path: "/groups/book", folded: true, then: func(w *window) {
			w.fill("message-gap", "5")
			w.away(".savebar .primary")
			w.wait("document.querySelector('#state.warn')")
		}},
	}
}

// stale makes the form one that was opened before the last save.
func (w *window) stale() {
	w.t.Helper()
	w.eval("document.querySelector('[name=version]').value='0'")
}

// in is the server for a test below the one that started it.
func (s *server) in(t *testing.T) *server {
	t.Helper()
	below := *s
	below.t = t
	return &below
}
