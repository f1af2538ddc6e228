package store

import (
	"context"
	"strings"
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
)

// LiftScopeBan writes that a ban of the system was lifted, and has it lifted: Redis alone holds it, so lift does it, after
// the entry is written and before it is committed. lift answers false where there is no ban: then nothing is written, and
// the error is CodeNotFound.
func (s *Store) LiftScopeBan(ctx context.Context, a Actor, b policy.ScopeBan, lift func(context.Context) (bool, error)) error {
	return s.write(ctx, func(t *tx) error {
		t.audit(a, entry{action: "ban.lift", target: b.Action + "/" + b.Subject, before: scopeBanJSON(b)})
		if err := t.flush(); err != nil {
			return err
		}
		t.last = nil
		lifted, err := lift(ctx)
		if err == nil && !lifted {
			err = errNoBan()
		}
		return err
	})
}

// scopeBanJSON is the ban as audit entries show it, each person by his own id.
func scopeBanJSON(b policy.ScopeBan) string {
	shown := struct {
		Scope  policy.Scope `json:"scope"`
		Action string       `json:"action"`
		UserID string       `json:"user_id,omitempty"`
		PeerID string       `json:"peer_id,omitempty"`
		IP     string       `json:"ip,omitempty"`
		Start  string       `json:"start"`
		Until  string       `json:"until"`
	}{Scope: b.Scope, Action: b.Action, Start: jsonTime(time.UnixMilli(b.StartMS)), Until: jsonTime(time.UnixMilli(b.EndMS))}
	if b.Scope == policy.ScopeIP {
		shown.IP = b.Subject
	} else {
		shown.UserID, shown.PeerID, _ = strings.Cut(b.Subject, "|")
	}
	return asJSON(shown)
}
