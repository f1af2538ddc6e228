package policy

import (
	"fmt"
	"slices"
)

// The caps of bounds.
const (
	maxOwnRoles   = 27      // with the five known ones as many as exempt_roles holds
	maxExemptions = 100_000 // entries of one group
)

// ParseBounds reads bounds as Bounds.JSON writes them. Everything is required but the ranges of capacity, refill_ms,
// leak_ms and buckets; actions need "*" alone. Errors are as those of ParseDocument.
func ParseBounds(data []byte) (Bounds, error) {
	var s scanner
	if err := s.parse(data); err != nil {
		return Bounds{}, err
	}
	p := boundsParser{faults{tree: &s.tree}}
	b := p.bounds(0)
	if err := p.err("the bounds are not valid"); err != nil {
		return Bounds{}, err
	}
	return b, nil
}

type boundsParser struct{ faults }

func (p *boundsParser) bounds(i int32) (b Bounds) {
	if !p.isObject(i, "the bounds") {
		return b
	}
	known := []string{"actions", "mute_ms", "forgive_one_every_ms", "ladder_steps_max", "exemptions_max", "roles"}
	for k := i + 1; k < p.nodes[i].next; k = p.nodes[k+1].next {
		v := k + 1
		switch p.text(k) {
		case "actions":
			b.Actions = p.actions(v)
		case "mute_ms":
			b.MuteMS = p.between(v, "mute_ms", "milliseconds", MaxMuteMS)
		case "forgive_one_every_ms":
			b.ForgiveOneEveryMS = p.between(v, "forgive_one_every_ms", "milliseconds", MaxForgiveMS)
		case "ladder_steps_max":
			b.LadderStepsMax, _ = p.integer(v, number{"ladder_steps_max", "steps", 1, MaxSteps})
		case "exemptions_max":
			b.ExemptionsMax, _ = p.integer(v, number{"exemptions_max", "entries", 1, maxExemptions})
		case "roles":
			b.Roles = p.roles(v)
		default:
			p.unknown(k, known...)
		}
	}
	p.required(i, known...)
	return b
}

// required reports which keys an object lacks.
func (p *boundsParser) required(object int32, keys ...string) {
	for _, key := range keys {
		if p.member(object, []byte(key)) == 0 {
			p.missing(object, key, key+" is required")
		}
	}
}

func (p *boundsParser) actions(i int32) map[string]ActionBounds {
	if !p.isObject(i, "actions") {
		return nil
	}
	all := make(map[string]ActionBounds, p.nodes[i].size)
	for k := i + 1; k < p.nodes[i].next; k = p.nodes[k+1].next {
		name := p.text(k)
		if name != anyAction && !ValidActionName(name) {
			p.add(k, "format", "an action's name must start with a–z and hold at most 32 of a–z, 0–9, _ and -")
			continue
		}
		all[name] = p.actionBounds(k + 1)
	}
	p.required(i, anyAction)
	return all
}

func (p *boundsParser) actionBounds(i int32) (b ActionBounds) {
	if !p.isObject(i, "an action's bounds") {
		return b
	}
	for k := i + 1; k < p.nodes[i].next; k = p.nodes[k+1].next {
		v, key := k+1, p.text(k)
		switch key {
		case "algorithms":
			b.Algorithms = p.algorithms(v)
		case "may_disable":
			b.MayDisable = p.names(v, key, SwitchInterval, SwitchWindow, SwitchAction, SwitchSoft)
		case "edited_by":
			b.EditedBy = p.text(v)
			if b.EditedBy != EditedByGroup && b.EditedBy != EditedByOperator || p.nodes[v].kind != kindString {
				p.add(v, "unknown", "edited_by must be group or operator")
			}
		default:
			p.actionRange(k, &b)
		}
	}
	for _, f := range rangeFields() {
		if !f.optional {
			p.required(i, f.key)
		}
	}
	p.required(i, "algorithms", "may_disable", "edited_by")
	return b
}

func (p *boundsParser) actionRange(k int32, b *ActionBounds) {
	key, known := p.text(k), make([]string, 0, 12)
	for _, f := range rangeFields() {
		if f.key == key {
			*f.of(b) = p.between(k+1, key, f.unit, f.max)
			return
		}
		known = append(known, f.key)
	}
	p.unknown(k, append(known, "algorithms", "may_disable", "edited_by")...)
}

// between reads {min, max}, both from 1 to most.
func (p *boundsParser) between(i int32, name, unit string, most int64) (r Range) {
	if !p.isObject(i, name) {
		return r
	}
	var low, high bool
	for k := i + 1; k < p.nodes[i].next; k = p.nodes[k+1].next {
		switch p.text(k) {
		case "min":
			r.Min, low = p.integer(k+1, number{name + ": min", unit, 1, most})
		case "max":
			r.Max, high = p.integer(k+1, number{name + ": max", unit, 1, most})
		default:
			p.unknown(k, "min", "max")
		}
	}
	p.required(i, "min", "max")
	if low && high && r.Min > r.Max {
		p.add(i, "order", fmt.Sprintf("%s: min must be at most max; %d %s is more than %d", name, r.Min, unit, r.Max))
	}
	return r
}

// names reads an array of names, each once, of the known ones.
func (p *boundsParser) names(i int32, name string, known ...string) []string {
	if !p.isArray(i, name) {
		return nil
	}
	all := make([]string, 0, p.nodes[i].size)
	for v := i + 1; v < p.nodes[i].next; v = p.nodes[v].next {
		text := p.text(v)
		switch {
		case p.nodes[v].kind != kindString || !slices.Contains(known, text):
			p.add(v, "unknown", name+" may hold "+listed(known))
		case slices.Contains(all, text):
			p.add(v, "duplicate", text+" is named twice")
		default:
			all = append(all, text)
		}
	}
	return all
}

func (p *boundsParser) algorithms(i int32) []Algorithm {
	names := p.names(i, "algorithms", algorithmNames()...)
	if p.nodes[i].kind == kindArray && p.nodes[i].size == 0 {
		p.add(i, "range", "algorithms must hold at least one of "+listed(algorithmNames()))
	}
	all := make([]Algorithm, 0, len(names))
	for _, name := range names {
		all = append(all, Algorithm(name))
	}
	return all
}

// roles reads the operator's own roles.
func (p *boundsParser) roles(i int32) []string {
	if !p.isArray(i, "roles") {
		return nil
	}
	if p.nodes[i].size > maxOwnRoles {
		p.add(i, "range", fmt.Sprintf("roles must hold 0 to %d roles of your own", maxOwnRoles))
		return nil
	}
	all := make([]string, 0, p.nodes[i].size)
	for v := i + 1; v < p.nodes[i].next; v = p.nodes[v].next {
		text := p.text(v)
		switch {
		case p.nodes[v].kind != kindString || !ValidActionName(text):
			p.add(v, "format", "a role must start with a–z and hold at most 32 of a–z, 0–9, _ and -")
		case slices.Contains(all, text) || slices.Contains(shippedRoles(), text):
			p.add(v, "duplicate", "the role "+text+" is known already")
		default:
			all = append(all, text)
		}
	}
	return all
}

func shippedRoles() []string { return []string{RoleOwner, RoleAdmin, RoleBot, RoleVIP, RoleMember} }
