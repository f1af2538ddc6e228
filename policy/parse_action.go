package policy

import "strconv"

func (p *documentParser) actions(i int32) map[string]ActionDocument {
	if !p.isObject(i, "actions") || p.nodes[i].size == 0 {
		return nil
	}
	actions := make(map[string]ActionDocument, p.nodes[i].size)
	for k := i + 1; k < p.nodes[i].next; k = p.nodes[k+1].next {
		name := p.bytes(k)
		if !validName(name) {
			p.add(k, "format", "an action's name must start with a–z and hold at most 32 of a–z, 0–9, _ and -")
			continue
		}
		p.action = intern(name)
		actions[p.action] = p.actionDocument(k + 1)
	}
	return actions
}

func (p *documentParser) actionDocument(i int32) (a ActionDocument) {
	if !p.isObject(i, "an action") {
		return a
	}
	for k := i + 1; k < p.nodes[i].next; k = p.nodes[k+1].next {
		v := k + 1
		switch string(p.bytes(k)) {
		case "enabled":
			a.Enabled = p.boolean(v, "enabled")
		case "mode":
			a.Mode = p.mode(v)
		case "min_interval_ms":
			a.MinIntervalMS = p.interval(v)
		case "window":
			a.Window = p.window(v)
		case "ban":
			a.Ban = p.ban(v)
		case "on_failure":
			a.OnFailure = p.onFailure(v)
		case "group":
			a.Group = p.group(v)
		default:
			p.unknown(k, "enabled", "mode", "min_interval_ms", "window", "ban", "on_failure", "group")
		}
	}
	return a
}

func (p *documentParser) boolean(i int32, name string) (s Setting[bool]) {
	if k := p.nodes[i].kind; k == kindTrue || k == kindFalse {
		return State(k == kindTrue)
	}
	p.add(i, "type", name+" must be true or false")
	return s
}

func (p *documentParser) mode(i int32) (s Setting[Mode]) {
	if p.nodes[i].kind == kindString {
		switch string(p.bytes(i)) {
		case "hard":
			return State(Hard)
		case "soft":
			return State(Soft)
		}
	}
	p.notOneOf(i, "mode", "hard", "soft")
	return s
}

func (p *documentParser) onFailure(i int32) (s Setting[OnFailure]) {
	if p.nodes[i].kind == kindString {
		switch string(p.bytes(i)) {
		case "allow":
			return State(Allow)
		case "refuse":
			return State(Refuse)
		}
	}
	p.notOneOf(i, "on_failure", "allow", "refuse")
	return s
}

func (p *documentParser) interval(i int32) Setting[int64] {
	if p.nodes[i].kind == kindNull {
		return None[int64]()
	}
	return p.milliseconds(i, "min_interval_ms")
}

// milliseconds reads a number of milliseconds above 0.
func (p *documentParser) milliseconds(i int32, name string) Setting[int64] {
	return p.positive(i, name, "milliseconds")
}

// positive reads a number above 0. A fault names what the bounds allow, where they are known.
func (p *documentParser) positive(i int32, name, unit string) (s Setting[int64]) {
	if p.nodes[i].kind == kindNumber {
		if v, whole := wholeNumber(p.raw(i)); whole && v > 0 && v <= maxStored {
			return State(v)
		}
	}
	want := number{name, unit, 1, maxStored}
	at := len(p.fields)
	p.integer(i, want)
	if p.bounds == nil || len(p.fields) == at {
		return s
	}
	r := p.bounds.of(p.action, name, p.whole)
	p.fields[at].Detail = name + " must be a whole number of " + unit + " above 0; this system allows " +
		strconv.FormatInt(r.Min, 10) + " to " + strconv.FormatInt(r.Max, 10)
	return s
}
