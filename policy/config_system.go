package policy

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// system plans what concerns every group, and makes the system that is in force afterwards: registry first, then bounds,
// then defaults, each judged by those before it. The error is that of the faults; without bounds that are bounds nothing
// else can be judged.
func (p *planner) system(c Config) error {
	old := p.state.System
	cfg := old.SystemConfig
	p.next = old
	cfg.Actions = p.actions(c.Actions, old.Actions)
	p.remake(cfg, false)
	p.bounds(c.Bounds, &cfg)
	p.remake(cfg, false)
	if len(p.fields) == 0 {
		p.defaults(c.Defaults, &cfg)
	}
	if len(p.fields) > 0 {
		return &Error{Code: CodeInvalid, Message: "the files are not valid", Fields: p.fields}
	}
	p.remake(p.counted(cfg), true)
	for i := range p.changes {
		if p.changes[i].Kind == KindDefaults {
			p.changes[i].Clamped = p.next.DefaultsClamped
		}
	}
	return nil
}

// remake makes the next system of what is known of it so far; always = also where no change made it differ.
func (p *planner) remake(cfg SystemConfig, always bool) {
	if !always && p.pending() == 0 || always && cfg.BoundsVersion == p.state.System.BoundsVersion &&
		cfg.DefaultsVersion == p.state.System.DefaultsVersion {
		return
	}
	next, err := NewSystem(cfg)
	if err != nil {
		p.faultsOf("", err)
		return
	}
	p.next = next
}

func (p *planner) pending() int { return ConfigPlan{Changes: p.changes}.Pending() }

// counted bumps the counters of what changes. Registry and defaults share one.
func (p *planner) counted(cfg SystemConfig) SystemConfig {
	for _, c := range p.changes {
		switch {
		case c.Op == OpUnchanged:
		case c.Kind == KindBounds:
			cfg.BoundsVersion = p.state.System.BoundsVersion + 1
		default:
			cfg.DefaultsVersion = p.state.System.DefaultsVersion + 1
		}
	}
	return cfg
}

// faultsOf takes the faults of an error, their pointers put below path.
func (p *planner) faultsOf(path string, err error) {
	var known *Error
	if err == nil || !errors.As(err, &known) {
		return
	}
	if len(known.Fields) == 0 {
		p.fault(FieldError{path, "format", known.Message})
	}
	for _, f := range known.Fields {
		f.Pointer = path + f.Pointer
		p.fault(f)
	}
}

func (p *planner) actions(stated, old []ActionSpec) []ActionSpec {
	all := slices.Clone(old)
	for _, spec := range stated {
		change := ConfigChange{Op: OpUpdate, Kind: KindAction, Target: spec.Name}
		var before []byte
		i := slices.IndexFunc(all, func(a ActionSpec) bool { return a.Name == spec.Name })
		if i < 0 {
			change.Op = OpCreate
			if all = append(all, spec); len(all) > MaxActions {
				p.fault(FieldError{"/actions/" + spec.Name, "range", "at most " + strconv.Itoa(MaxActions) + " actions may be registered"})
			}
		} else {
			before = speechJSON(all[i])
			change.Loosens, change.Tightens = all[i].Speech && !spec.Speech, spec.Speech && !all[i].Speech
			all[i] = spec
		}
		p.add(change, before, speechJSON(spec))
	}
	slices.SortFunc(all, func(a, b ActionSpec) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func speechJSON(a ActionSpec) []byte {
	p := &printer{}
	p.open('{')
	p.key("speech")
	p.boolean(a.Speech)
	p.shut('}')
	return p.out
}

func (p *planner) bounds(stated *Bounds, cfg *SystemConfig) {
	if stated == nil {
		return
	}
	p.faultsOf("/bounds", p.next.ValidateBounds(*stated))
	names := p.next.ActionNames()
	change := ConfigChange{Op: OpUpdate, Kind: KindBounds}
	change.Loosens, change.Tightens = cfg.Bounds.widened(*stated, names), stated.widened(cfg.Bounds, names)
	p.add(change, cfg.Bounds.JSON(names), stated.JSON(names))
	cfg.Bounds = *stated
}

func (p *planner) defaults(stated *Document, cfg *SystemConfig) {
	if stated == nil {
		return
	}
	p.faultsOf("/defaults", p.next.ValidateDefaults(cfg.Defaults, *stated))
	change := ConfigChange{Op: OpUpdate, Kind: KindDefaults}
	before := cfg.Defaults
	cfg.Defaults = *stated
	if after, err := NewSystem(*cfg); err == nil {
		way := CompareDefaults(p.next, after)
		change.Loosens, change.Tightens = way.Loosens(), way.Tightens()
	}
	p.add(change, before.JSON(), stated.JSON())
}

// widened says whether b allows what a does not: a value, a switch, an algorithm, a role, a hand that edits.
func (a Bounds) widened(b Bounds, actions []string) bool {
	wider := a.MuteMS.widened(b.MuteMS) || a.ForgiveOneEveryMS.widened(b.ForgiveOneEveryMS) ||
		b.LadderStepsMax > a.LadderStepsMax || b.ExemptionsMax > a.ExemptionsMax || adds(a.Roles, b.Roles)
	for _, name := range append([]string{anyAction}, actions...) {
		was, is := a.For(name), b.For(name)
		for _, f := range rangeFields() {
			wider = wider || f.of(&was).widened(*f.of(&is))
		}
		wider = wider || adds(was.Algorithms, is.Algorithms) || adds(was.MayDisable, is.MayDisable) ||
			was.EditedBy == EditedByOperator && is.EditedBy == EditedByGroup
	}
	return wider
}

// widened says whether b holds a value that r does not; a range that is not given holds every value.
func (r Range) widened(b Range) bool {
	return r != Range{} && (b == Range{} || b.Min < r.Min || b.Max > r.Max)
}

// adds says whether b has what a lacks.
func adds[T comparable](a, b []T) bool {
	return slices.ContainsFunc(b, func(v T) bool { return !slices.Contains(a, v) })
}
