package api

import (
	"context"
	"sync"
	"time"

	"github.com/pacekeeper/pacekeeper/policy"
)

// notices remembers what groups tell their refused members, so that a flood of refusals does not become a flood of
// reads. The zero value is ready.
type notices struct {
	mu    sync.Mutex
	known map[string]knownNotice
}

type knownNotice struct {
	effective policy.Effective
	version   int64
	at        time.Time
}

const (
	noticeAge  = 5 * time.Second // an edit of the document shows at once: its version is asked for
	noticesMax = 4096
	noticeWait = 150 * time.Millisecond
)

// notice is what a refused or warned member is told, nil for others. A database that is away leaves the defaults' words.
func (a *API) notice(ctx context.Context, sys *policy.System, group, action string, d policy.Decision) *Notice {
	if d.Code != policy.AllowedWarned && d.Allowed() {
		return nil
	}
	effective, ok := a.notices.get(group, d.Version, a.cfg.Now())
	if !ok && sys != nil {
		effective = a.readNotice(ctx, sys, group, d.Version)
	}
	compiled := policy.FactoryPolicy(action)
	if sys != nil {
		compiled = sys.Compile(effective, action, d.Version, 0)
	}
	return &Notice{
		En: policy.Notice(policy.English, effective.Notices, d, compiled),
		Zh: policy.Notice(policy.Chinese, effective.Notices, d, compiled),
	}
}

// readNotice reads the effective policy of a group, and keeps it.
func (a *API) readNotice(ctx context.Context, sys *policy.System, group string, version int64) policy.Effective {
	ctx, cancel := context.WithTimeout(ctx, noticeWait)
	defer cancel()
	record, err := a.cfg.Store.Policy(ctx, group)
	switch {
	case err == nil && !record.Group.Archived():
		effective, _ := record.System.Resolve(record.Document)
		a.notices.keep(group, knownNotice{effective: effective, version: record.Version, at: a.cfg.Now()})
		return effective
	case err != nil && !hasCode(err, policy.CodeNotFound):
		return sys.DefaultsEffective()
	}
	a.notices.keep(group, knownNotice{effective: sys.DefaultsEffective(), version: version, at: a.cfg.Now()})
	return sys.DefaultsEffective()
}

func (n *notices) get(group string, version int64, now time.Time) (policy.Effective, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	known, ok := n.known[group]
	return known.effective, ok && known.version == version && now.Sub(known.at) < noticeAge
}

func (n *notices) keep(group string, k knownNotice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil || len(n.known) >= noticesMax {
		n.known = make(map[string]knownNotice)
	}
	n.known[group] = k
}
