package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// writer edits, or asks, through one server until the editing ends. What it does depends on its seed alone.
type writer struct {
	soak *soak
	seat *seat
	name string
	rng  *rand.Rand
}

// document is a policy with everything that is published of one: limits and notices.
func document(rng *rand.Rand) string {
	return fmt.Sprintf(`{"actions":{"message":{"min_interval_ms":%d,"window":{"algorithm":"sliding_window","limit":%d,"period_ms":30000}}},`+
		`"notices":{"en":{"too_soon":"{wait}, %d"}}}`, 1000+rng.IntN(9000), 3+rng.IntN(48), rng.IntN(1000))
}

// edit does what group admins and moderators do, about 25 times a second.
func (w *writer) edit() {
	for !w.soak.over.Load() {
		switch n := w.rng.IntN(100); {
		case n < 25:
			w.savePolicy(watchedGroup(w.rng.IntN(watched)))
		case n < 45:
			w.savePolicy(sturdyGroup(w.rng.IntN(sturdy)))
		case n < 55:
			w.savePolicy(freeGroup(w.rng.IntN(free)))
		case n < 71:
			w.exempt(w.anyGroup())
		case n < 75:
			w.importExemptions(w.anyGroup())
		case n < 88:
			w.mute(w.anyGroup())
		case n < 94:
			_, _ = w.send("policy deleted", http.MethodDelete, "/v1/groups/"+freeGroup(w.rng.IntN(free))+"/policy", "", "If-Match", "*")
		default:
			w.archive(freeGroup(w.rng.IntN(free)))
		}
		waitFor(time.Duration(10+w.rng.IntN(60)) * time.Millisecond)
	}
}

func (w *writer) anyGroup() string {
	if w.rng.IntN(2) == 0 {
		return freeGroup(w.rng.IntN(free))
	}
	return sturdyGroup(w.rng.IntN(sturdy))
}

// send sends a request and holds its answer against what the contract allows in such weather.
func (w *writer) send(what, method, path, body string, headers ...string) (answer, error) {
	got, err := w.seat.life.Load().try(method, path, body, headers...)
	w.soak.tally.count(what, got.status, err)
	if err == nil && !allowed(got.status) {
		w.soak.tally.fault("%s: %s %s answered %d: %v", what, method, path, got.status, got.body)
	}
	return got, err
}

// allowed are success, archived or gone meanwhile, stale, and away.
func allowed(status int) bool {
	return status/100 == 2 || slices.Contains([]int{http.StatusNotFound, http.StatusConflict, http.StatusPreconditionFailed, http.StatusServiceUnavailable}, status)
}

func (w *writer) savePolicy(group string) {
	got, err := w.send("policy saved", http.MethodPut, "/v1/groups/"+group+"/policy", document(w.rng), "If-Match", "*")
	if version, ok := got.at("version").(float64); err == nil && got.status == http.StatusOK && ok {
		w.soak.tally.answered(group, int64(version))
	}
}

// exempt puts or removes one of the writer's own users, so that the last answer says what must stand at the end.
func (w *writer) exempt(group string) {
	user := fmt.Sprintf("%s-%d", w.name, w.rng.IntN(6))
	path := "/v1/groups/" + group + "/exemptions/" + user
	what, method, body := "exemption put", http.MethodPut, fmt.Sprintf(`{"note":"%d"}`, w.rng.IntN(1000))
	if w.rng.IntN(3) == 0 {
		what, method, body = "exemption removed", http.MethodDelete, ""
	}
	got, err := w.send(what, method, path, body)
	w.soak.tally.exempted(group, user, method == http.MethodPut, got.status, err)
}

// importExemptions puts three of the writer's own users at once.
func (w *writer) importExemptions(group string) {
	first := w.rng.IntN(4)
	items := make([]string, 3)
	for n := range items {
		items[n] = fmt.Sprintf(`{"user_id":"%s-%d","note":"%d"}`, w.name, first+n, w.rng.IntN(1000))
	}
	got, err := w.send("exemptions imported", http.MethodPost, "/v1/groups/"+group+"/exemptions/import", `{"items":[`+strings.Join(items, ",")+`]}`)
	for n := range items {
		w.soak.tally.exempted(group, fmt.Sprintf("%s-%d", w.name, first+n), true, got.status, err)
	}
}

func (w *writer) mute(group string) {
	path := fmt.Sprintf("/v1/groups/%s/mutes/%s-%d", group, w.name, w.rng.IntN(3))
	if w.rng.IntN(3) == 0 {
		_, _ = w.send("mute lifted", http.MethodDelete, path, "")
		return
	}
	_, _ = w.send("mute put", http.MethodPut, path, `{"for_ms":7200000,"reason":"soak"}`)
}

func (w *writer) archive(group string) {
	if w.rng.IntN(2) == 0 {
		_, _ = w.send("group archived", http.MethodDelete, "/v1/groups/"+group, "")
	}
	_, _ = w.send("group put", http.MethodPut, "/v1/groups/"+group, fmt.Sprintf(`{"name":"%d","locale":"en"}`, w.rng.IntN(100)))
}

// operate changes bounds and defaults, each of which is a fleet job.
func (w *writer) operate() {
	for !w.soak.over.Load() {
		if w.rng.IntN(2) == 0 {
			least := 1000 + 100*w.rng.IntN(30)
			w.change("bounds changed", "/v1/system/bounds", least, "actions", "message", "min_interval_ms", "min")
		} else {
			w.change("defaults changed", "/v1/system/defaults", 5+w.rng.IntN(40), "actions", "comment", "window", "limit")
		}
		waitFor(time.Duration(500+w.rng.IntN(2000)) * time.Millisecond)
	}
}

// change reads a document of the system, sets one number in it and puts it back.
func (w *writer) change(what, url string, value int, path ...string) {
	got, err := w.send(what+": read", http.MethodGet, url, "")
	if err != nil || got.status != http.StatusOK {
		return
	}
	delete(got.body, "version")
	delete(got.body, "clamped")
	at, _ := got.at(path[:len(path)-1]...).(map[string]any)
	if at == nil {
		w.soak.tally.fault("%s: %s is not in %v", what, strings.Join(path, "."), got.body)
		return
	}
	at[path[len(path)-1]] = value
	body, err := json.Marshal(got.body)
	if err != nil {
		w.soak.tally.fault("%s: %v", what, err)
		return
	}
	_, _ = w.send(what, http.MethodPut, url, string(body), "If-Match", "*")
}

// speak asks for decisions, as members who speak do.
func (w *writer) speak() {
	for !w.soak.over.Load() {
		group := w.anyGroup()
		got, err := w.send("check", http.MethodPost, "/v1/groups/"+group+"/check",
			fmt.Sprintf(`{"user_id":"member-%d","action":"message"}`, w.rng.IntN(20)))
		if err == nil && got.status != http.StatusOK && got.status != http.StatusServiceUnavailable {
			w.soak.tally.fault("check in %s answered %d: %v", group, got.status, got.body)
		}
		if got.at("degraded") == true {
			w.soak.tally.count("check degraded", got.status, err)
		}
		waitFor(time.Duration(5+w.rng.IntN(30)) * time.Millisecond)
	}
}

// editDirectly saves through the instance whose clock steps.
func (w *writer) editDirectly() {
	actor := store.Actor{Name: w.name, Role: store.RoleOperator, Channel: store.ChannelAPI}
	for !w.soak.over.Load() {
		group := sturdyGroup(w.rng.IntN(sturdy))
		doc, err := policy.ParseDocument([]byte(document(w.rng)))
		if err != nil {
			w.soak.tally.fault("parse: %v", err)
			return
		}
		record, _, err := w.soak.third.store.UpdatePolicy(w.soak.Context(), actor, group, store.Anything(),
			func(*policy.System, policy.Document) (policy.Document, error) { return doc, nil })
		w.soak.tally.count("policy saved by the stepping clock", map[bool]int{true: http.StatusOK}[err == nil], err)
		if err == nil {
			w.soak.tally.answered(group, record.Version)
		}
		waitFor(time.Duration(50+w.rng.IntN(200)) * time.Millisecond)
	}
}
