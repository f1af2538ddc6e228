package ui

import (
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pacekeeper/pacekeeper/policy"
	"github.com/pacekeeper/pacekeeper/store"
)

// chainCheck remembers what the last verification of the audit log found. One runs at a time: it reads all there is.
// Safe for concurrent use.
type chainCheck struct {
	running chan struct{} // holds one entry while the log is verified
	mu      sync.Mutex
	verdict store.AuditVerdict
	at      time.Time // zero = never verified by this process
}

func newChainCheck() *chainCheck { return &chainCheck{running: make(chan struct{}, 1)} }

func (k *chainCheck) last() (store.AuditVerdict, time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.verdict, k.at
}

func (k *chainCheck) keep(v store.AuditVerdict, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.verdict, k.at = v, at
}

// chainFresh is how long a verdict is shown before the page asks for another by itself.
const chainFresh = 10 * time.Minute

// chainView is what is known of the log's chain. Ask has the page verify by itself; Why names the fault.
type chainView struct {
	base
	Badge    badgeView
	Ask      bool
	Why      string
	Verifies bool // there is a button to verify now
}

func (u *UI) chainView(b base) chainView {
	verdict, at := u.chain.last()
	now := u.cfg.Now()
	v := chainView{base: b, Ask: now.Sub(at) > chainFresh, Verifies: true}
	switch {
	case at.IsZero():
		v.Badge = badgeView{Text: b.Say("chain_unknown")}
	case verdict.OK:
		v.Badge = badgeView{Kind: "good", Icon: "check", Text: b.Say("chain_good", thousands(verdict.Entries), b.ago(now.Sub(at)))}
	default:
		v.Badge = badgeView{Kind: "bad", Icon: "warn", Text: b.Say("chain_broken", thousands(verdict.FirstBad.Seq))}
		v.Why = verdict.FirstBad.Why
	}
	return v
}

// ago is how long something is past, roughly.
func (b base) ago(d time.Duration) string {
	if d < time.Minute {
		return b.Say("just_now")
	}
	return b.Say("ago", policy.DurationText(d.Truncate(time.Minute).Milliseconds(), b.Lang))
}

// verifyChain verifies the whole log, unless somebody just did, and says what it found.
func (u *UI) verifyChain(c echo.Context) error {
	ctx, asked := c.Request().Context(), u.cfg.Now()
	select {
	case u.chain.running <- struct{}{}:
		defer func() { <-u.chain.running }()
	case <-ctx.Done():
		return policy.Errorf(policy.CodeUnavailable, "another verification is under way")
	}
	if _, at := u.chain.last(); at.Before(asked) { // nobody else did while this one waited
		verdict, err := u.cfg.Store.VerifyAudit(ctx, "")
		if err != nil {
			return err
		}
		u.chain.keep(verdict, u.cfg.Now())
	}
	if !wantsFragment(c) {
		return c.Redirect(http.StatusSeeOther, "/ops/audit")
	}
	view := u.chainView(u.base(c.Request(), "audit"))
	view.Ask = false
	return u.fragment(c.Response(), "ops_audit/chain", view)
}
