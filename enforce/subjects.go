package enforce

import (
	"errors"
	"strings"

	"github.com/pacekeeper/pacekeeper/policy"
)

// Subjects names one attempt and all whose limits it must pass. Those that are empty are not asked.
type Subjects struct {
	Action string
	Group  string   // the member's limits in the group, and the group's own; needs User
	User   string   // also across all groups
	Peer   string   // whom the user writes to: both together, whoever of them writes; needs User
	IP     string   // the client's address in any notation, without a port; see policy.IPSubject
	Roles  []string // of the user in the group; they exempt from the limits of groups alone
	Cost   int64    // 0 = 1; all or nothing
	Peek   bool     // answer what the attempt would be answered, change nothing
}

// Answer is the answer to Subjects: the decision of one scope.
type Answer struct {
	Decision

	Scope policy.Scope // whose decision it is
}

// scoped is one scope of an attempt.
type scoped struct {
	scope    policy.Scope
	req      Request
	decision Decision
	call     *asked
	charged  bool // the decision is that of a real attempt
}

// isScope says whether a name in a group's place is that of a scope of the system.
func isScope(group string) bool { return strings.HasPrefix(group, "~") }

// scopes makes the requests, in the order of answers. The error is CodeInvalid, with the pointer of what is at fault.
func (s Subjects) scopes() ([]*scoped, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	request := Request{Action: s.Action, User: s.User, Cost: max(s.Cost, 1), Peek: s.Peek}
	var all []*scoped
	add := func(scope policy.Scope, group, subject string, roles []string) {
		one := request
		one.Group, one.User, one.Roles = group, subject, roles
		all = append(all, &scoped{scope: scope, req: one})
	}
	if s.Group != "" {
		add(policy.ScopeGroup, s.Group, s.User, s.Roles)
	}
	if s.User != "" {
		add(policy.ScopeUser, policy.ScopeUser.Place(), s.User, nil)
	}
	if s.Peer != "" {
		add(policy.ScopePeer, policy.ScopePeer.Place(), policy.PeerSubject(s.User, s.Peer), nil)
	}
	if s.IP != "" {
		address, err := policy.IPSubject("/subjects/ip", s.IP)
		if err != nil {
			return nil, err
		}
		add(policy.ScopeIP, policy.ScopeIP.Place(), address, nil)
	}
	return all, nil
}

// check refuses what names nobody, or would not make a key.
func (s Subjects) check() error {
	if !policy.ValidActionName(s.Action) {
		return fault("/action", "format", "an action's name is a lower-case letter, then up to 31 of a-z, 0-9, _ and -")
	}
	if s.Cost < 0 {
		return fault("/cost", "range", "cost must be an integer of at least 0")
	}
	switch {
	case s.Group == "" && s.User == "" && s.Peer == "" && s.IP == "":
		return fault("/subjects", "required", "subjects must name at least a user or an ip; a group and a peer come with the user")
	case s.User == "" && (s.Group != "" || s.Peer != ""):
		return fault("/subjects/user", "required", "a group and a peer need the user")
	}
	for _, id := range [...]struct{ pointer, id string }{
		{"/subjects/group", s.Group}, {"/subjects/user", s.User}, {"/subjects/peer", s.Peer},
	} {
		if id.id == "" {
			continue
		}
		if err := policy.CheckID(id.pointer, id.id); err != nil {
			return err
		}
	}
	return nil
}

func fault(pointer, code, detail string) error {
	return &policy.Error{
		Code: policy.CodeInvalid, Message: "the attempt is not valid",
		Fields: []policy.FieldError{{Pointer: pointer, Code: code, Detail: detail}},
	}
}

// refuses says whether the attempt does not pass, as far as a peek can tell: it knows of the first of several.
func (s *scoped) refuses() bool {
	d := s.decision
	return !d.Allowed() || !s.charged && d.Code != policy.AllowedWarned && d.Limit > 0 && d.Remaining < s.req.Cost
}

// certain says whether the refusal of a peek is all that there is to know: an attempt would leave no trace either.
func (s *scoped) certain() bool {
	p := s.call.policy.compiled
	return s.charged || s.call.err != nil || !s.decision.Allowed() && s.req.Cost == 1 && !p.CountRefused && p.BanForMS == 0 && !p.BanToEndOfDay
}

// gravest is the answer of several: a refusal before a delay, before a warning, before what could not be asked, before what
// passes; of these the longest wait; of these the first.
func gravest(all []*scoped) Answer {
	best := all[0]
	for _, s := range all[1:] {
		a, b := gravity(s.decision), gravity(best.decision)
		if a > b || a == b && s.decision.WaitMS > best.decision.WaitMS {
			best = s
		}
	}
	return Answer{Decision: best.decision, Scope: best.scope}
}

func gravity(d Decision) int {
	switch {
	case !d.Allowed():
		return 4
	case d.Code == policy.Delay:
		return 3
	case d.Code == policy.AllowedWarned:
		return 2
	case d.Code == policy.AllowedDegraded:
		return 1
	}
	return 0
}

var errDamagedScope = errors.New("the scope's policy cannot be read")

// damage is an error where a scope has a policy that cannot be read: that is not the same as none.
func (r reading) damage(e lastKnown) error {
	if r.def != nil || !e.absent {
		return nil
	}
	if err := r.own.Err(); isWrongType(err) {
		return errDamagedScope
	} else if err != nil {
		return err
	}
	if values := r.own.Val(); len(values) > 1 && values[1] != nil {
		return errDamagedScope
	}
	return nil
}
