package main

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/pacekeeper/pacekeeper/enforce"
	"github.com/pacekeeper/pacekeeper/policy"
)

const (
	start  = int64(1_764_547_200_000) // of every trace, ms since the epoch
	traces = 40                       // calls of each policy's random trace
)

// policyVector is one hash of the control plane.
type policyVector struct {
	Key    string            `json:"key"`
	Fields map[string]string `json:"fields"` // name → base64
}

type exemptVector struct {
	Key    string `json:"key"`
	User   string `json:"user"`
	Expiry string `json:"expiry"` // score: ms since the epoch, or +inf
}

// callVector is one call of the script, and its answer.
type callVector struct {
	Tag    string   `json:"tag"` // of the shard that the client has to compute: of the group, in a scope of the subject
	Action string   `json:"action"`
	Group  string   `json:"group"` // or a scope: ~user, ~peer, ~ip
	User   string   `json:"user"`  // in a scope its subject
	Roles  []string `json:"roles"`
	Cost   int64    `json:"cost"`
	NowMS  int64    `json:"now_ms"`
	Want   [7]int64 `json:"want"` // code, wait_ms, remaining, limit, strikes, step, version
}

type vectors struct {
	policies   []policyVector
	exemptions []exemptVector
	calls      []callVector

	compiled map[[2]string]policy.Compiled // by action and group
	exempt   map[[2]string]int64           // until, by group and user
	states   map[[3]string]policy.ActionState
	wholes   map[[2]string]policy.ActionState // of all members, by action and group
	members  map[[2]string]policy.MemberRecord
}

func compute() *vectors {
	v := &vectors{
		compiled: map[[2]string]policy.Compiled{}, exempt: map[[2]string]int64{},
		states: map[[3]string]policy.ActionState{}, wholes: map[[2]string]policy.ActionState{},
		members: map[[2]string]policy.MemberRecord{},
	}
	v.scenes()
	r := rand.New(rand.NewPCG(4, 20)) //nolint:gosec // the same numbers each time are the point
	for i, p := range variety() {
		group := fmt.Sprintf("trace-%d", i)
		v.publish("message", group, p)
		v.trace(r, group, p)
	}
	v.groupScenes()
	v.scopeScenes()
	return v
}

// publish makes p the policy of an action in a group.
func (v *vectors) publish(action, group string, p policy.Compiled) {
	v.publishAt(enforce.NewKeys("").Policy(action, group), action, group, p)
}

// publishScope makes p the policy of an action in a scope, in the shard of a subject, as every shard has one.
func (v *vectors) publishScope(action string, scope policy.Scope, p policy.Compiled, subject string) {
	v.publishAt(enforce.NewKeys("").ScopePolicy(enforce.Shard(subject), action, scope), action, scope.Place(), p)
}

func (v *vectors) publishAt(key, action, group string, p policy.Compiled) {
	p.Action, p.Order, p.Version = action, 1, int64(len(v.policies)+1)
	fields := map[string]string{}
	for name, value := range enforce.PolicyHash(p).Map() {
		fields[name] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	v.policies = append(v.policies, policyVector{key, fields})
	v.compiled[[2]string{action, group}] = p
}

func (v *vectors) exemptUser(group, user string) {
	v.exemptions = append(v.exemptions, exemptVector{enforce.NewKeys("").Exempt(group), user, "+inf"})
	v.exempt[[2]string{group, user}] = math.MaxInt64
}

// call asks the evaluator, at so many ms after the start.
func (v *vectors) call(action, group, user string, at, cost int64, roles ...string) policy.Decision {
	p, ok := v.compiled[[2]string{action, group}]
	if !ok { // the script cannot know the action: what is built in counts strikes of any
		p = policy.FactoryPolicy("message")
	}
	state, whole, member := [3]string{action, group, user}, [2]string{action, group}, [2]string{group, user}
	var d policy.Decision
	d, v.states[state], v.wholes[whole], v.members[member], _ = policy.DecideInGroup(p, v.states[state], v.wholes[whole], v.members[member],
		policy.Attempt{NowMS: start + at, Cost: cost, Roles: roles, ExemptUntilMS: v.exempt[member]})
	if roles == nil {
		roles = []string{}
	}
	v.calls = append(v.calls, callVector{
		Tag: enforce.ShardTag(shardOf(group, user)), Action: action, Group: group, User: user, Roles: roles, Cost: cost, NowMS: start + at,
		Want: [7]int64{int64(d.Code), d.WaitMS, d.Remaining, d.Limit, d.Strikes, d.Step, d.Version},
	})
	return d
}

// shardOf is the shard of an attempt's keys.
func shardOf(group, user string) uint8 {
	if strings.HasPrefix(group, "~") {
		return enforce.Shard(user)
	}
	return enforce.Shard(group)
}

// trace is a member who tries at random moments, often just when he is told to, or 1 ms before.
func (v *vectors) trace(r *rand.Rand, group string, p policy.Compiled) {
	at, wait := int64(0), int64(0)
	for range traces {
		switch step := r.IntN(5); {
		case step == 0:
			at += r.Int64N(max(1, p.PeriodMS/4))
		case step == 1 && wait > 1:
			at += wait - 1
		case step == 2:
			at += wait
		default:
			at += r.Int64N(max(1, p.PeriodMS/20))
		}
		cost := int64(1)
		if r.IntN(6) == 0 {
			cost = r.Int64N(4)
		}
		wait = v.call("message", group, "u1", at, cost).WaitMS
	}
}
