package policy

import "slices"

// windowForm lists the settings of an algorithm beside count_refused, those it needs first. It is a value without
// memory of its own: every document that is read or written looks at one.
type windowForm struct {
	keys        [3]string
	all, needed int
}

func formOf(a Algorithm) windowForm {
	switch a {
	case FixedWindow:
		return windowForm{[3]string{"limit", "period_ms", "align"}, 3, 2}
	case SlidingCounter:
		return windowForm{[3]string{"limit", "period_ms", "buckets"}, 3, 3}
	case TokenBucket:
		return windowForm{[3]string{"capacity", "refill_ms"}, 2, 2}
	case LeakyBucket:
		return windowForm{[3]string{"capacity", "leak_ms", "queue"}, 3, 2}
	case SlidingWindow:
	}
	return windowForm{[3]string{"limit", "period_ms"}, 2, 2}
}

func (f *windowForm) has(key string) bool { return slices.Contains(f.keys[:f.all], key) }

func (p *documentParser) window(i int32) (s Setting[Window]) {
	if p.nodes[i].kind == kindNull {
		return None[Window]()
	}
	if !p.isObject(i, "window") {
		return s
	}
	w, known := p.algorithm(i)
	if !known {
		return s
	}
	form := formOf(w.Algorithm)
	for k := i + 1; k < p.nodes[i].next; k = p.nodes[k+1].next {
		switch key := string(p.bytes(k)); {
		case key == "algorithm":
		case key == "count_refused":
			w.CountRefused = p.boolean(k+1, key).Value
		case form.has(key):
			p.windowKey(k, key, &w)
		default:
			p.unknown(k, append([]string{"algorithm", "count_refused"}, form.keys[:form.all]...)...)
		}
	}
	for _, key := range form.keys[:form.needed] {
		if p.member(i, []byte(key)) == 0 {
			p.missing(i, key, string(w.Algorithm)+" needs "+key+": a number of "+windowUnit(key))
		}
	}
	return State(w)
}

// windowKey reads one setting of an algorithm.
func (p *documentParser) windowKey(k int32, key string, w *Window) {
	switch v := k + 1; key {
	case "align":
		w.Align = p.align(v)
	case "queue":
		w.Queue = p.boolean(v, key).Value
	case "period_ms":
		w.PeriodMS = p.milliseconds(v, key).Value
		if w.Align == AlignCalendar {
			p.calendarUnit(v, w.PeriodMS)
		}
	default:
		*w.number(key) = p.positive(v, key, windowUnit(key)).Value
	}
}

// number is where a number of a window is kept.
func (w *Window) number(key string) *int64 {
	switch key {
	case "period_ms":
		return &w.PeriodMS
	case "buckets":
		return &w.Buckets
	case "capacity":
		return &w.Capacity
	case "refill_ms":
		return &w.RefillMS
	case "leak_ms":
		return &w.LeakMS
	}
	return &w.Limit
}

func windowUnit(key string) string {
	switch key {
	case "limit", "capacity":
		return "attempts"
	case "buckets":
		return key
	}
	return "milliseconds"
}

// calendarUnit refuses periods that no calendar has.
func (p *documentParser) calendarUnit(i int32, period int64) {
	if period > 0 && !slices.Contains(calendarUnits(), period) {
		p.add(i, "range", "period_ms must be 60000, 3600000 or 86400000 (a minute, an hour, a day) where align is calendar")
	}
}

func (p *documentParser) align(i int32) Align {
	if p.nodes[i].kind == kindString {
		switch a := Align(p.bytes(i)); a {
		case AlignFirst, AlignCalendar:
			return a
		}
	}
	p.notOneOf(i, "align", string(AlignFirst), string(AlignCalendar))
	return AlignFirst
}

// algorithm reads the algorithm of a window first, because the other keys hang on it, and with it how a fixed window is
// aligned, because its period hangs on that. A window of an unknown algorithm is not looked at further.
func (p *documentParser) algorithm(window int32) (w Window, known bool) {
	i := p.member(window, []byte("algorithm"))
	if i == 0 {
		p.missing(window, "algorithm", "a window needs algorithm: "+listed(algorithmNames()))
		return Window{Algorithm: SlidingWindow}, true
	}
	if p.nodes[i].kind == kindString {
		w.Algorithm = knownAlgorithm(p.bytes(i))
	}
	if w.Algorithm == "" {
		p.notOneOf(i, "algorithm", algorithmNames()...)
		return w, false
	}
	if w.Algorithm == FixedWindow {
		w.Align = AlignFirst
		if at := p.member(window, []byte("align")); at != 0 && string(p.bytes(at)) == string(AlignCalendar) {
			w.Align = AlignCalendar
		}
	}
	return w, true
}

// knownAlgorithm is the algorithm of a name, or "".
func knownAlgorithm(name []byte) Algorithm {
	switch string(name) {
	case string(SlidingWindow):
		return SlidingWindow
	case string(FixedWindow):
		return FixedWindow
	case string(SlidingCounter):
		return SlidingCounter
	case string(TokenBucket):
		return TokenBucket
	case string(LeakyBucket):
		return LeakyBucket
	}
	return ""
}

func (p *documentParser) ban(i int32) (s Setting[Ban]) {
	if p.nodes[i].kind == kindNull {
		return None[Ban]()
	}
	if !p.isObject(i, "ban") {
		return s
	}
	for k := i + 1; k < p.nodes[i].next; k = p.nodes[k+1].next {
		twice := s.Set
		switch v := k + 1; string(p.bytes(k)) {
		case "for_ms":
			s = State(Ban{ForMS: p.milliseconds(v, "for_ms").Value})
		case "until":
			s = State(Ban{EndOfDay: true})
			if p.nodes[v].kind != kindString || string(p.bytes(v)) != "end_of_day" {
				p.notOneOf(v, "until", "end_of_day")
			}
		default:
			p.unknown(k, "for_ms", "until")
			continue
		}
		if twice {
			p.add(k, "conflict", "a ban holds for a time (for_ms) or until a moment (until), not both")
		}
	}
	if !s.Set {
		p.missing(i, "for_ms", "a ban needs for_ms: a number of milliseconds, or until: end_of_day")
	}
	return s
}

func (p *documentParser) group(i int32) (s Setting[GroupLimit]) {
	if p.nodes[i].kind == kindNull {
		return None[GroupLimit]()
	}
	if !p.isObject(i, "group") {
		return s
	}
	at := int32(0)
	for k := i + 1; k < p.nodes[i].next; k = p.nodes[k+1].next {
		if string(p.bytes(k)) == "window" {
			at = k + 1
			continue
		}
		p.unknown(k, "window")
	}
	switch {
	case at == 0:
		p.missing(i, "window", "group needs window: the limit of all members together")
		return s
	case p.nodes[at].kind == kindNull:
		p.add(at, "type", "window must be an object; for no limit of the whole group, group itself is null")
		return s
	}
	defer func(before bool) { p.whole = before }(p.whole)
	p.whole = true
	return State(GroupLimit{p.window(at).Value})
}
