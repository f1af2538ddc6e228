package policy

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// ConfigOp says what becomes of a thing that files of policy as config state.
type ConfigOp string

// The operations of a plan.
const (
	OpCreate    ConfigOp = "create"
	OpUpdate    ConfigOp = "update"
	OpUnchanged ConfigOp = "unchanged"
	OpRemove    ConfigOp = "remove" // of what files do not state; only where it was asked for
)

// ConfigKind says what a change of a plan is about.
type ConfigKind string

// The kinds of changes, in the order of a plan.
const (
	KindAction    ConfigKind = "action"
	KindBounds    ConfigKind = "bounds"
	KindDefaults  ConfigKind = "defaults"
	KindGroup     ConfigKind = "group" // the registration: name and locale
	KindPolicy    ConfigKind = "policy"
	KindExemption ConfigKind = "exemption"
)

// ConfigChange is one line of a plan.
type ConfigChange struct {
	Op      ConfigOp
	Kind    ConfigKind
	GroupID string // of group, policy and exemption
	Target  string // the user of an exemption, the name of an action
	Diff    []Change

	// Loosens and Tightens say which way the change goes: something passes, or may be set, that was refused or held
	// before, and the other way round.
	Loosens, Tightens bool
	Clamped           []Clamp // what of the stated is not in force afterwards
}

// ConfigPlan is what an apply would do. System is what is in force afterwards; it is the one before where nothing of it
// changes.
type ConfigPlan struct {
	System  *System
	Changes []ConfigChange
}

// Pending says how many changes are not unchanged.
func (p ConfigPlan) Pending() (n int) {
	for _, c := range p.Changes {
		if c.Op != OpUnchanged {
			n++
		}
	}
	return n
}

// Clamps are those of all changes, their paths into the files.
func (p ConfigPlan) Clamps() (all []Clamp) {
	for _, c := range p.Changes {
		base := "/defaults"
		if c.Kind == KindPolicy {
			base = "/groups/" + escapePointer(c.GroupID) + "/policy"
		}
		for _, clamp := range c.Clamped {
			clamp.Path = base + clamp.Path
			all = append(all, clamp)
		}
	}
	return all
}

// ConfigState is what the database has, as far as a plan looks at it.
type ConfigState struct {
	System *System
	Groups map[string]GroupState // those that the files name and those in the scope of a removal; who is not registered is not in it
}

// GroupState is a registered group.
type GroupState struct {
	Archived     bool
	Name, Locale string
	Document     Document
	// Exemptions by user: those that the files name, or all where removals of exemptions look at the group.
	Exemptions      map[string]ExemptionConfig
	ExemptionsCount int64 // of all
}

// ConfigPrune says what of the groups in its scope is removed where files do not state it. The zero ConfigPrune removes
// nothing.
type ConfigPrune struct {
	Policies   bool // back to the defaults
	Exemptions bool

	All    bool     // scope: every group
	Files  bool     // scope: the groups that the files name
	Groups []string // scope: these groups
}

// Any says whether anything may be removed.
func (p ConfigPrune) Any() bool { return p.Policies || p.Exemptions }

// Covers says whether a group is in the scope; named tells whether the files name it.
func (p ConfigPrune) Covers(group string, named bool) bool {
	return p.Any() && (p.All || p.Files && named || slices.Contains(p.Groups, group))
}

// Plan says what an apply would do, change by change: actions, bounds, defaults, then the groups by id. CodeInvalid with
// every fault of what the files state, its pointer into them; CodeConflict, likewise, for what does not fit the groups as
// they are: one that is not registered and has no name to register it by, one that is archived, one of the scope that is not
// there, more exemptions than one may have.
func (c Config) Plan(s ConfigState, prune ConfigPrune) (ConfigPlan, error) {
	p := planner{state: s, prune: prune}
	if err := p.system(c); err != nil {
		return ConfigPlan{}, err
	}
	for _, g := range p.groupsOf(c) {
		p.group(g)
	}
	p.scope(c)
	switch {
	case len(p.fields) > 0:
		return ConfigPlan{}, &Error{Code: CodeInvalid, Message: "the files are not valid", Fields: p.fields}
	case len(p.conflicts) > 0:
		return ConfigPlan{}, &Error{Code: CodeConflict, Message: "the files do not fit the groups as they are", Fields: p.conflicts}
	}
	return ConfigPlan{System: p.next, Changes: p.changes}, nil
}

// planner collects changes and faults.
type planner struct {
	state     ConfigState
	prune     ConfigPrune
	next      *System
	changes   []ConfigChange
	fields    []FieldError
	conflicts []FieldError
}

func (p *planner) fault(f FieldError) {
	if len(p.fields) < maxFaults {
		p.fields = append(p.fields, f)
	}
}

func (p *planner) conflict(path, code, detail string) {
	if len(p.conflicts) < maxFaults {
		p.conflicts = append(p.conflicts, FieldError{path, code, detail})
	}
}

// groupsOf are the groups to look at, by id: those of the files, and with an empty statement those of the scope alone.
func (p *planner) groupsOf(c Config) []statedGroup {
	all := make([]statedGroup, 0, len(c.Groups))
	for _, g := range c.Groups {
		all = append(all, statedGroup{g, true})
	}
	for id, g := range p.state.Groups {
		if _, named := c.Group(id); !named && !g.Archived && p.prune.Covers(id, false) {
			all = append(all, statedGroup{GroupConfig{ID: id}, false})
		}
	}
	slices.SortFunc(all, func(a, b statedGroup) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// scope refuses groups that only a scope of removals names and of which there is nothing to remove: a misspelt id must not
// look like a group that is as it should be.
func (p *planner) scope(c Config) {
	if !p.prune.Any() {
		return
	}
	for _, id := range p.prune.Groups {
		old, registered := p.state.Groups[id]
		_, named := c.Group(id)
		switch path := "/groups/" + escapePointer(id); {
		case named:
		case !registered:
			p.conflict(path, "not_registered", "the scope of the removals names the group "+id+", which is not registered")
		case old.Archived:
			p.conflict(path, "archived", "the scope of the removals names the group "+id+", which is archived")
		}
	}
}

// statedGroup is a group of the files, or one that only the scope of a removal brings in.
type statedGroup struct {
	GroupConfig
	named bool
}

func (p *planner) group(g statedGroup) {
	path := "/groups/" + escapePointer(g.ID)
	old, registered := p.state.Groups[g.ID]
	switch {
	case old.Archived:
		p.conflict(path, "archived", "the group "+g.ID+" is archived; register it again to change it")
	case !registered && !g.Name.Set:
		p.conflict(path, "not_registered", "the group "+g.ID+" is not registered; give it a name to register it")
	}
	p.registration(g, old, registered)
	p.policy(path, g, old)
	p.exemptions(path, g, old)
}

func (p *planner) registration(g statedGroup, old GroupState, registered bool) {
	if !g.Name.Set && !g.Locale.Set {
		return
	}
	name, locale := old.Name, old.Locale
	if !registered {
		locale = English
	}
	if g.Name.Set {
		name = g.Name.Value
	}
	if g.Locale.Set {
		locale = g.Locale.Value
	}
	var before []byte
	op := OpCreate
	if registered {
		op, before = OpUpdate, registrationJSON(old.Name, old.Locale)
	}
	p.add(ConfigChange{Op: op, Kind: KindGroup, GroupID: g.ID}, before, registrationJSON(name, locale))
}

func registrationJSON(name, locale string) []byte {
	return GroupConfig{Name: State(name), Locale: State(locale)}.JSON()
}

// add finds the differences; without any the change is none.
func (p *planner) add(c ConfigChange, before, after []byte) {
	if bytes.Equal(before, after) {
		c.Op, c.Loosens, c.Tightens = OpUnchanged, false, false
	} else {
		c.Diff, _ = DiffJSON(before, after) // canonical texts are well formed
	}
	p.changes = append(p.changes, c)
}

func (p *planner) policy(path string, g statedGroup, old GroupState) {
	change := ConfigChange{Op: OpUpdate, Kind: KindPolicy, GroupID: g.ID}
	before, after := old.Document.JSON(), []byte("{}")
	var stated Document
	switch {
	case g.Policy != nil:
		stated = *g.Policy
		after = stated.JSON()
		p.validate(path+"/policy", old.Document, stated)
		if string(before) == "{}" {
			change.Op = OpCreate
		}
	case p.prune.Policies && p.prune.Covers(g.ID, g.named) && string(before) != "{}":
		change.Op = OpRemove
	default:
		return
	}
	in, clamps := p.next.Resolve(stated)
	if !bytes.Equal(before, after) {
		was, _ := p.next.Resolve(old.Document)
		way := Compare(was, in)
		change.Loosens, change.Tightens = way.Loosens(), way.Tightens()
	}
	change.Clamped = clamps
	p.add(change, before, after)
}

// validate collects the faults of a document that stands at path.
func (p *planner) validate(path string, before, stated Document) {
	p.faultsOf(path, p.next.ValidateChange(before, stated))
}

func (p *planner) exemptions(path string, g statedGroup, old GroupState) {
	count, added := old.ExemptionsCount, false
	for _, e := range g.Exemptions {
		change := ConfigChange{Op: OpUpdate, Kind: KindExemption, GroupID: g.ID, Target: e.UserID}
		var before []byte
		if was, there := old.Exemptions[e.UserID]; there {
			before = was.JSON()
			change.Loosens, change.Tightens = longer(was, e), longer(e, was)
		} else {
			change.Op, change.Loosens, added = OpCreate, true, true
			count++
		}
		p.add(change, before, e.JSON())
	}
	count -= p.removals(g, old)
	if most := p.next.Bounds.ExemptionsMax; added && count > most {
		p.tooMany(path, int64(len(g.Exemptions)) > most, most)
	}
}

// tooMany is a fault of the files where they alone state too many, else a conflict with what is there.
func (p *planner) tooMany(path string, alone bool, most int64) {
	detail := "a group has at most " + strconv.FormatInt(most, 10) + " exemptions"
	if alone {
		p.fault(FieldError{path + "/exemptions", "range", detail})
		return
	}
	p.conflict(path+"/exemptions", "range", detail+", counting those that the files do not name")
}

// removals adds those of exemptions, and says how many there are.
func (p *planner) removals(g statedGroup, old GroupState) (n int64) {
	if !p.prune.Exemptions || !p.prune.Covers(g.ID, g.named) {
		return 0
	}
	stated := make(map[string]bool, len(g.Exemptions))
	for _, e := range g.Exemptions {
		stated[e.UserID] = true
	}
	gone := make([]string, 0, len(old.Exemptions))
	for user := range old.Exemptions {
		if !stated[user] {
			gone = append(gone, user)
		}
	}
	slices.Sort(gone)
	for _, user := range gone {
		p.add(ConfigChange{Op: OpRemove, Kind: KindExemption, GroupID: g.ID, Target: user, Tightens: true},
			old.Exemptions[user].JSON(), nil)
	}
	return int64(len(gone))
}

// longer says whether b ends later than a.
func longer(a, b ExemptionConfig) bool {
	return !a.ExpiresAt.IsZero() && (b.ExpiresAt.IsZero() || b.ExpiresAt.After(a.ExpiresAt))
}
