package policy

import (
	"maps"
	"slices"
)

// anyAction is the entry of bounds that holds for actions without one of their own.
const anyAction = "*"

// For is what holds for an action: its own entry, or that of "*".
func (b Bounds) For(action string) ActionBounds {
	if own, ok := b.Actions[action]; ok {
		return own
	}
	return b.Actions[anyAction]
}

// of is the range of a number of a document, by its key; without an action, for_ms is that of mutes.
func (b Bounds) of(action, key string, whole bool) Range {
	own := b.For(action)
	if whole {
		own = own.ofGroup()
	}
	switch {
	case key == "min_interval_ms":
		return own.MinIntervalMS
	case key == "limit":
		return own.WindowLimit
	case key == "period_ms":
		return own.WindowPeriodMS
	case key == "capacity":
		return own.capacity()
	case key == "refill_ms":
		return own.rate(own.RefillMS)
	case key == "leak_ms":
		return own.rate(own.LeakMS)
	case key == "buckets":
		return own.buckets()
	case key == "forgive_one_every_ms":
		return b.ForgiveOneEveryMS
	case action == "":
		return b.MuteMS
	}
	return own.BanMS
}

// rangeField is one range of an action's bounds: where it is kept and what it may hold.
type rangeField struct {
	key      string
	of       func(*ActionBounds) *Range
	unit     string
	max      int64
	optional bool // beside the window's own bounds; zero = not given
}

// rangeFields are the ranges of an action in the order they are printed.
func rangeFields() []rangeField {
	return []rangeField{
		{"min_interval_ms", func(b *ActionBounds) *Range { return &b.MinIntervalMS }, "milliseconds", MaxIntervalMS, false},
		{"window_limit", func(b *ActionBounds) *Range { return &b.WindowLimit }, "attempts", MaxLimit, false},
		{"window_period_ms", func(b *ActionBounds) *Range { return &b.WindowPeriodMS }, "milliseconds", MaxPeriodMS, false},
		{"capacity", func(b *ActionBounds) *Range { return &b.Capacity }, "attempts", MaxLimit, true},
		{"refill_ms", func(b *ActionBounds) *Range { return &b.RefillMS }, "milliseconds", MaxPeriodMS, true},
		{"leak_ms", func(b *ActionBounds) *Range { return &b.LeakMS }, "milliseconds", MaxPeriodMS, true},
		{"buckets", func(b *ActionBounds) *Range { return &b.Buckets }, "buckets", MaxBuckets, true},
		{"ban_ms", func(b *ActionBounds) *Range { return &b.BanMS }, "milliseconds", MaxBanMS, false},
	}
}

// JSON is the canonical text of bounds, without a version: "*", every registered action and every action with an entry
// of its own, each in full. ParseBounds reads it back.
func (b Bounds) JSON(registered []string) []byte {
	names := map[string]struct{}{anyAction: {}}
	for _, name := range registered {
		names[name] = struct{}{}
	}
	for name := range b.Actions {
		names[name] = struct{}{}
	}
	p := &printer{out: make([]byte, 0, 512*len(names))}
	p.open('{')
	p.key("actions")
	p.open('{')
	for _, name := range slices.Sorted(maps.Keys(names)) {
		p.key(name)
		p.actionBounds(b.For(name))
	}
	p.shut('}')
	p.key("mute_ms")
	p.between(b.MuteMS)
	p.key("forgive_one_every_ms")
	p.between(b.ForgiveOneEveryMS)
	p.key("ladder_steps_max")
	p.integer(b.LadderStepsMax)
	p.key("exemptions_max")
	p.integer(b.ExemptionsMax)
	p.key("roles")
	p.strings(b.Roles)
	p.shut('}')
	return p.out
}

func (p *printer) actionBounds(b ActionBounds) {
	p.open('{')
	for _, f := range rangeFields() {
		if r := *f.of(&b); !f.optional || r != (Range{}) {
			p.key(f.key)
			p.between(r)
		}
	}
	p.key("algorithms")
	p.open('[')
	for _, a := range b.Algorithms {
		p.str(string(a))
	}
	p.shut(']')
	p.key("may_disable")
	p.strings(b.MayDisable)
	p.key("edited_by")
	p.str(b.EditedBy)
	p.shut('}')
}

func (p *printer) between(r Range) {
	p.open('{')
	p.key("min")
	p.integer(r.Min)
	p.key("max")
	p.integer(r.Max)
	p.shut('}')
}
