package policy

import "fmt"

func (p *documentParser) penalties(i int32) (d PenaltiesDocument) {
	if !p.isObject(i, "penalties") {
		return d
	}
	p.action = ""
	for k := i + 1; k < p.nodes[i].next; k = p.nodes[k+1].next {
		switch string(p.bytes(k)) {
		case "ladder":
			d.Ladder = p.ladder(k + 1)
		case "forgive_one_every_ms":
			d.ForgiveOneEveryMS = p.milliseconds(k+1, "forgive_one_every_ms")
		default:
			p.unknown(k, "ladder", "forgive_one_every_ms")
		}
	}
	return d
}

func (p *documentParser) ladder(i int32) (s Setting[[]Step]) {
	if !p.isArray(i, "ladder") {
		return s
	}
	if p.nodes[i].size > maxLadderDocument {
		p.add(i, "range", "ladder must hold 0 to 32 steps")
		return s
	}
	steps := make([]Step, 0, p.nodes[i].size)
	previous := int64(0)
	for v := i + 1; v < p.nodes[i].next; v = p.nodes[v].next {
		step, after := p.step(v)
		if after != 0 && step.After <= previous {
			p.add(after, "order", fmt.Sprintf("after must be more strikes than the step before, that is %d to %d", previous+1, MaxStrikes))
		}
		previous = max(previous, step.After)
		steps = append(steps, step)
	}
	return State(steps)
}

// step reads a step of the ladder; after is where its `after` stands, 0 = nowhere, or at fault.
func (p *documentParser) step(i int32) (s Step, after int32) {
	if !p.isObject(i, "a step") {
		return s, 0
	}
	var hasAfter bool
	var do, forMS int32
	for k := i + 1; k < p.nodes[i].next; k = p.nodes[k+1].next {
		switch string(p.bytes(k)) {
		case "after":
			hasAfter = true
			if n, ok := p.integer(k+1, number{"after", "strikes", 2, MaxStrikes}); ok {
				s.After, after = n, k+1
			}
		case "do":
			do = k + 1
			s.Do = p.penalty(do)
		case "for_ms":
			forMS = k + 1
			s.ForMS = p.milliseconds(forMS, "for_ms").Value
		default:
			p.unknown(k, "after", "do", "for_ms")
		}
	}
	if !hasAfter {
		p.missing(i, "after", "a step needs after: a number of strikes from 2 to 255")
	}
	if do == 0 {
		p.missing(i, "do", "a step needs do: mute, review or remove")
	}
	switch {
	case s.Do == Mute && forMS == 0:
		p.missing(i, "for_ms", "a mute needs for_ms: a number of milliseconds")
	case (s.Do == Review || s.Do == Remove) && forMS != 0:
		p.add(forMS, "forbidden", "for_ms belongs to mute alone; "+string(s.Do)+" takes none")
	}
	return s, after
}

func (p *documentParser) penalty(i int32) Penalty {
	if p.nodes[i].kind == kindString {
		switch string(p.bytes(i)) {
		case "mute":
			return Mute
		case "review":
			return Review
		case "remove":
			return Remove
		}
	}
	p.notOneOf(i, "do", "mute", "review", "remove")
	return ""
}

func (p *documentParser) notOneOf(i int32, name string, known ...string) {
	code := "type"
	if p.nodes[i].kind == kindString {
		code = "unknown"
	}
	p.add(i, code, name+" must be one of "+listed(known))
}
