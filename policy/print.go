package policy

import (
	"maps"
	"slices"
	"strconv"
)

// printer writes JSON texts without white space.
type printer struct {
	out   []byte
	comma bool // something stands before, so that a comma is due
}

func (p *printer) open(bracket byte) {
	p.separate()
	p.out = append(p.out, bracket)
	p.comma = false
}

func (p *printer) shut(bracket byte) {
	p.out = append(p.out, bracket)
	p.comma = true
}

func (p *printer) separate() {
	if p.comma {
		p.out = append(p.out, ',')
	}
	p.comma = true
}

func (p *printer) key(k string) {
	p.separate()
	p.out = append(appendString(p.out, k), ':')
	p.comma = false
}

func (p *printer) str(s string) {
	p.separate()
	p.out = appendString(p.out, s)
}

func (p *printer) integer(v int64) {
	p.separate()
	p.out = strconv.AppendInt(p.out, v, 10)
}

func (p *printer) boolean(v bool) {
	p.separate()
	p.out = strconv.AppendBool(p.out, v)
}

func (p *printer) null() {
	p.separate()
	p.out = append(p.out, "null"...)
}

func (p *printer) strings(all []string) {
	p.open('[')
	for _, s := range all {
		p.str(s)
	}
	p.shut(']')
}

// setting writes a stated setting under its key, and nothing for an absent one.
func setting[T any](p *printer, key string, s Setting[T], write func(T)) {
	if !s.Set {
		return
	}
	p.key(key)
	if s.Null {
		p.null()
	} else {
		write(s.Value)
	}
}

// JSON is the canonical text of a document: the key order of the contract, actions by name, no white space. Equal
// documents have equal texts, and ParseDocument reads the text back as the same document.
func (d Document) JSON() []byte {
	p := &printer{out: make([]byte, 0, 512)}
	p.open('{')
	setting(p, "time_zone", d.TimeZone, p.str)
	if len(d.Actions) > 0 {
		p.key("actions")
		p.actionDocuments(d.Actions)
	}
	setting(p, "exempt_roles", d.ExemptRoles, p.strings)
	if d.Penalties.Ladder.Set || d.Penalties.ForgiveOneEveryMS.Set {
		p.key("penalties")
		p.open('{')
		setting(p, "ladder", d.Penalties.Ladder, p.ladder)
		setting(p, "forgive_one_every_ms", d.Penalties.ForgiveOneEveryMS, p.integer)
		p.shut('}')
	}
	p.notices(d.Notices)
	p.scopes(d.Scopes)
	p.shut('}')
	return p.out
}

// scopes writes what is stated of scopes, in the order of answers, and nothing where that is nothing.
func (p *printer) scopes(all map[Scope]map[string]ActionDocument) {
	stated := slices.ContainsFunc(SystemScopes(), func(s Scope) bool { return len(all[s]) > 0 })
	if !stated {
		return
	}
	p.key("scopes")
	p.open('{')
	for _, scope := range SystemScopes() {
		if len(all[scope]) > 0 {
			p.key(string(scope))
			p.actionDocuments(all[scope])
		}
	}
	p.shut('}')
}

// actionDocuments writes actions by name.
func (p *printer) actionDocuments(all map[string]ActionDocument) {
	p.open('{')
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p.key(name)
		p.actionDocument(all[name])
	}
	p.shut('}')
}

func (p *printer) actionDocument(a ActionDocument) {
	p.open('{')
	setting(p, "enabled", a.Enabled, p.boolean)
	setting(p, "mode", a.Mode, func(m Mode) { p.str(string(m)) })
	setting(p, "min_interval_ms", a.MinIntervalMS, p.integer)
	setting(p, "window", a.Window, p.window)
	setting(p, "ban", a.Ban, p.ban)
	setting(p, "on_failure", a.OnFailure, func(f OnFailure) { p.str(string(f)) })
	setting(p, "group", a.Group, p.group)
	p.shut('}')
}

func (p *printer) window(w Window) {
	p.open('{')
	p.key("algorithm")
	p.str(string(w.Algorithm))
	form := formOf(w.Algorithm)
	for _, key := range form.keys[:form.all] {
		p.key(key)
		switch key {
		case "align":
			p.str(string(w.Align))
		case "queue":
			p.boolean(w.Queue)
		default:
			p.integer(*w.number(key))
		}
	}
	p.key("count_refused")
	p.boolean(w.CountRefused)
	p.shut('}')
}

func (p *printer) group(g GroupLimit) {
	p.open('{')
	p.key("window")
	p.window(g.Window)
	p.shut('}')
}

func (p *printer) ban(b Ban) {
	p.open('{')
	if b.EndOfDay {
		p.key("until")
		p.str("end_of_day")
	} else {
		p.key("for_ms")
		p.integer(b.ForMS)
	}
	p.shut('}')
}

func (p *printer) ladder(steps []Step) {
	p.open('[')
	for _, s := range steps {
		p.open('{')
		p.key("after")
		p.integer(s.After)
		p.key("do")
		p.str(string(s.Do))
		if s.Do == Mute {
			p.key("for_ms")
			p.integer(s.ForMS)
		}
		p.shut('}')
	}
	p.shut(']')
}

// notices writes the texts that are stated, in the contract's order, and nothing where there are none.
func (p *printer) notices(all map[string]map[string]string) {
	if len(all[English]) == 0 && len(all[Chinese]) == 0 {
		return
	}
	p.key("notices")
	p.open('{')
	for _, language := range [...]string{English, Chinese} {
		if len(all[language]) == 0 {
			continue
		}
		p.key(language)
		p.open('{')
		for _, key := range [...]string{NoticeTooSoon, NoticeTooMany} {
			if text, ok := all[language][key]; ok {
				p.key(key)
				p.str(text)
			}
		}
		p.shut('}')
	}
	p.shut('}')
}
