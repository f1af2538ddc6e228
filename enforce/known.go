package enforce

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pacekeeper/pacekeeper/policy"
)

const (
	knownMax = 20_000      // policies remembered at most, about 10 MB without texts of the groups' own
	knownFor = time.Minute // then a policy is read again, with the next check

	absentFor = time.Second // for so long a scope that does not limit an action is not asked for it
)

// known remembers what was read of policies lately: two generations of maps, of which the older is dropped when the younger
// is half full. Safe for concurrent use.
type known struct {
	mu         sync.Mutex
	young, old map[policyName]lastKnown
}

type policyName struct{ action, group string }

// lastKnown is a policy as it was read last.
type lastKnown struct {
	rule     policy.OnFailure
	version  int64
	compiled policy.Compiled              // what notices tell of: limit, period and algorithm
	texts    map[string]map[string]string // the group's own notices
	absent   bool                         // of a scope: it does not limit the action
	until    time.Time                    // then it is read again
}

func newKnown() *known { return &known{young: map[policyName]lastKnown{}} }

func (k *known) get(name policyName) (lastKnown, bool) {
	if e, ok := k.young[name]; ok {
		return e, true
	}
	e, ok := k.old[name]
	if ok {
		k.put(name, e)
	}
	return e, ok
}

func (k *known) put(name policyName, e lastKnown) {
	if len(k.young) >= knownMax/2 {
		k.old, k.young = k.young, map[policyName]lastKnown{}
	}
	k.young[name] = e
}

// fresh says whether the policy need not be read again.
func (k *known) fresh(name policyName, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, ok := k.get(name)
	return ok && now.Before(e.until)
}

// seen notes the version of an answer; another one than known makes the policy stale.
func (k *known) seen(name policyName, version int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e, ok := k.get(name); ok && e.version != version {
		e.until, e.version = time.Time{}, version
		k.put(name, e)
	}
}

// without says that a scope was seen a moment ago to limit no such action.
func (k *known) without(name policyName, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, ok := k.get(name)
	return ok && e.absent && now.Before(e.until.Add(absentFor-knownFor))
}

func (k *known) learn(name policyName, e lastKnown, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e.until = now.Add(knownFor)
	k.put(name, e)
}

// stale has a policy read again with its next check.
func (k *known) stale(name policyName) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e, ok := k.get(name); ok {
		e.until = time.Time{}
		k.put(name, e)
	}
}

// last answers what is known of a policy, or what is built in.
func (k *known) last(name policyName) lastKnown {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e, ok := k.get(name); ok {
		return e
	}
	return lastKnown{rule: builtIn(name.action), compiled: policy.FactoryPolicy(name.action)}
}

// told answers by which policy a decision is told, and nothing where it passes without a word.
func (k *known) told(name policyName, d policy.Decision) lastKnown {
	if d.Allowed() && d.Code != policy.AllowedWarned {
		return lastKnown{}
	}
	return k.last(name)
}

// actionsOf are the actions of a group of which something is known.
func (k *known) actionsOf(group string) (actions []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, names := range []map[policyName]lastKnown{k.young, k.old} {
		for name := range names {
			if name.group == group {
				actions = append(actions, name.action)
			}
		}
	}
	return actions
}

// doubt makes all stale: each is read again with its next check.
func (k *known) doubt() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, names := range []map[policyName]lastKnown{k.young, k.old} {
		for name, e := range names {
			e.until = time.Time{}
			names[name] = e
		}
	}
}

// reading is what is read of a policy beside a check.
type reading struct {
	own, def *redis.SliceCmd
	notice   *redis.MapStringStringCmd
}

// read adds the reading of a policy to a pipeline. Scopes have neither defaults nor texts of their own.
func (c *Client) read(ctx context.Context, pipe redis.Pipeliner, req Request) reading {
	keys, _ := c.call(req)
	r := reading{own: pipe.HMGet(ctx, keys[0], "on_failure", "program", "group_program")}
	if !isScope(req.Group) {
		r.def = pipe.HMGet(ctx, keys[1], "on_failure", "program", "group_program")
		r.notice = pipe.HGetAll(ctx, c.keys.Notice(req.Group))
	}
	return r
}

// policy is what was read; the defaults, or what is built in, where nothing of the group's own can be read.
func (r reading) policy(action string) lastKnown {
	e := lastKnown{rule: builtIn(action), compiled: policy.FactoryPolicy(action), absent: r.def == nil}
	if r.notice != nil {
		e.texts = NoticeTexts(r.notice.Val())
	}
	for _, source := range []*redis.SliceCmd{r.def, r.own} {
		if source == nil {
			continue
		}
		values := source.Val()
		if len(values) < 3 {
			continue
		}
		text, _ := values[0].(string)
		if rule := policy.OnFailure(text); rule == policy.Allow || rule == policy.Refuse {
			e.rule = rule
		}
		program, _ := values[1].(string)
		ofGroup, _ := values[2].(string)
		if compiled, ok := DecodeProgram([]byte(program), []byte(ofGroup)); ok {
			e.compiled, e.absent = compiled, false
			if source == r.own {
				e.version = compiled.Version
			}
		}
	}
	e.compiled.Action = action
	return e
}

// found says whether a policy was there to be read. One that was not is no news while Redis decides nothing.
func (r reading) found() (found bool) {
	for _, source := range []*redis.SliceCmd{r.def, r.own} {
		if source == nil {
			continue
		}
		if err := source.Err(); err != nil && !isWrongType(err) {
			return false
		}
		if values := source.Val(); len(values) == 3 {
			program, _ := values[1].(string)
			_, ok := DecodeProgram([]byte(program), nil)
			found = found || ok
		}
	}
	return found
}
