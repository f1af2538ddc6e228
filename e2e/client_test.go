package e2e_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/oapi-codegen/nullable"

	"github.com/pacekeeper/pacekeeper/client"
)

// The README's walk-through, step by step, through the generated Go client.
func TestWalkThroughByGoClient(t *testing.T) {
	t.Parallel()
	w := newWalk(t, embedded(t).url)
	w.register()

	policy := w.save(500)
	if len(policy.Clamped) != 1 {
		t.Fatalf("clamped: %+v", policy.Clamped)
	}
	w.wantInForce(policy, 1000)

	muted := w.checkUntilMuted()
	if muted.Reason != "refused_interval" || muted.Step != 1 || muted.Strikes != 3 || muted.WaitMs != 60_000 {
		t.Fatalf("the third strike answered %+v", muted)
	}
	if again := w.check(); again.Reason != "refused_muted" {
		t.Fatalf("muted: %+v", again)
	}
	w.lift()
	eventually(t, 5*time.Second, "mei may speak again", func() bool { return w.check().Allowed })

	w.bound(2000)
	w.wantInForce(w.policy(), 2000)
	w.bound(500)
	relaxed := w.policy()
	w.wantInForce(relaxed, 500)
	if len(relaxed.Clamped) != 0 || relaxed.Version != policy.Version {
		t.Fatalf("relaxed: %+v", relaxed)
	}
}

// walk is the walk-through's actor.
type walk struct {
	t   *testing.T
	api *client.ClientWithResponses
}

func newWalk(t *testing.T, url string) walk {
	t.Helper()
	bearer := func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+operator)
		return nil
	}
	api, err := client.NewClientWithResponses(url, client.WithRequestEditorFn(bearer))
	if err != nil {
		t.Fatal(err)
	}
	return walk{t: t, api: api}
}

// must fails the test unless the call answered with the status.
func (w walk) must(err error, got, want int, body []byte) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	if got != want {
		w.t.Fatalf("status %d, want %d: %s", got, want, body)
	}
}

func (w walk) register() {
	w.t.Helper()
	got, err := w.api.PutGroupWithResponse(w.t.Context(), "tea", nil, client.PutGroupJSONRequestBody{Name: "Tea house"})
	w.must(err, got.StatusCode(), http.StatusCreated, got.Body)
}

func (w walk) save(intervalMS int64) *client.Policy {
	w.t.Helper()
	force, wait := "*", "wait=5"
	actions := map[string]client.ActionSettings{"message": {MinIntervalMs: nullable.NewNullableWithValue(intervalMS)}}
	got, err := w.api.PutPolicyWithResponse(w.t.Context(), "tea", &client.PutPolicyParams{IfMatch: &force, Prefer: &wait}, client.Document{Actions: &actions})
	w.must(err, got.StatusCode(), http.StatusOK, got.Body)
	return got.JSON200
}

func (w walk) policy() *client.Policy {
	w.t.Helper()
	got, err := w.api.GetPolicyWithResponse(w.t.Context(), "tea")
	w.must(err, got.StatusCode(), http.StatusOK, got.Body)
	return got.JSON200
}

func (w walk) wantInForce(p *client.Policy, intervalMS int64) {
	w.t.Helper()
	if got := (*p.Effective.Actions)["message"].MinIntervalMs.MustGet(); got != intervalMS {
		w.t.Fatalf("in force: %d ms, want %d", got, intervalMS)
	}
}

func (w walk) check() *client.Decision {
	w.t.Helper()
	got, err := w.api.CheckWithResponse(w.t.Context(), "tea", client.CheckInput{UserId: "mei", Action: "message"})
	w.must(err, got.StatusCode(), http.StatusOK, got.Body)
	return got.JSON200
}

// checkUntilMuted speaks too fast until a call takes a step of the ladder, and returns its answer.
func (w walk) checkUntilMuted() *client.Decision {
	w.t.Helper()
	var last *client.Decision
	eventually(w.t, 20*time.Second, "a mute", func() bool {
		last = w.check()
		return last.Step > 0
	})
	return last
}

func (w walk) lift() {
	w.t.Helper()
	got, err := w.api.LiftMuteWithResponse(w.t.Context(), "tea", "mei", nil)
	w.must(err, got.StatusCode(), http.StatusNoContent, got.Body)
}

func (w walk) bound(leastMS int64) {
	w.t.Helper()
	now, err := w.api.GetBoundsWithResponse(w.t.Context())
	w.must(err, now.StatusCode(), http.StatusOK, now.Body)
	b := now.JSON200
	message := b.Actions["message"]
	message.MinIntervalMs = &client.Range{Min: leastMS, Max: message.MinIntervalMs.Max}
	b.Actions["message"] = message
	force := "*"
	got, err := w.api.PutBoundsWithResponse(w.t.Context(), &client.PutBoundsParams{IfMatch: &force}, client.BoundsInput{
		Actions: &b.Actions, ExemptionsMax: &b.ExemptionsMax, ForgiveOneEveryMs: &b.ForgiveOneEveryMs,
		LadderStepsMax: &b.LadderStepsMax, MuteMs: &b.MuteMs, Roles: &b.Roles,
	})
	w.must(err, got.StatusCode(), http.StatusOK, got.Body)
}
