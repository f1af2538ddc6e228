package policy

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const lettersAndDigits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// The caps of what files state beside documents and bounds.
const (
	maxGroupName = 200 // characters
	maxLocale    = 35  // bytes
	maxNote      = 500 // characters
)

// ParseConfig reads a file of policy as config, strictly and as JSON: bounds as Bounds.JSON has them, defaults, actions,
// and groups by id with name, locale, policy and exemptions by user; "$schema" is let pass. Faults name what allowed
// allows; nil = no bounds are known. Errors are as those of ParseDocument. Safe for concurrent use.
func ParseConfig(data []byte, allowed *Bounds) (Config, error) {
	var s scanner
	if err := s.parse(data); err != nil {
		return Config{}, err
	}
	p := configParser{faults: faults{tree: &s.tree}, allowed: allowed}
	c := p.config()
	if err := p.err("the file is not valid"); err != nil {
		return Config{}, err
	}
	return c, nil
}

type configParser struct {
	faults
	allowed *Bounds
}

func (p *configParser) config() (c Config) {
	if !p.isObject(0, "the file") {
		return c
	}
	if i := p.member(0, []byte("bounds")); i != 0 { // the others are judged by them
		c.Bounds = p.bounds(i)
	}
	for k := int32(1); k < p.nodes[0].next; k = p.nodes[k+1].next {
		switch v := k + 1; string(p.bytes(k)) {
		case "bounds", "$schema":
		case "defaults":
			c.Defaults = p.document(v, "the defaults", true)
		case "actions":
			c.Actions = p.actions(v)
		case "groups":
			c.Groups = p.groups(v)
		default:
			p.unknown(k, "bounds", "defaults", "actions", "groups")
		}
	}
	return c
}

func (p *configParser) bounds(i int32) *Bounds {
	sub := boundsParser{faults{tree: p.tree}}
	b := sub.bounds(i)
	p.take(sub.fields)
	if len(sub.fields) == 0 {
		p.allowed = &b
	}
	return &b
}

// document reads a document that stands inside the file.
func (p *configParser) document(i int32, name string, defaults bool) *Document {
	sub := documentParser{faults: faults{tree: p.tree}, bounds: p.allowed, defaults: defaults}
	d := sub.document(i, name)
	p.take(sub.fields)
	return &d
}

func (p *configParser) take(fields []FieldError) {
	p.fields = append(p.fields, fields[:min(len(fields), maxFaults-len(p.fields))]...)
}

func (p *configParser) actions(i int32) []ActionSpec {
	if !p.isObject(i, "actions") {
		return nil
	}
	all := make([]ActionSpec, 0, p.nodes[i].size)
	for k := i + 1; k < p.nodes[i].next; k = p.nodes[k+1].next {
		if !validName(p.bytes(k)) {
			p.add(k, "format", "an action's name must start with a–z and hold at most 32 of a–z, 0–9, _ and -")
			continue
		}
		all = append(all, ActionSpec{Name: p.text(k), Speech: p.speech(k + 1)})
	}
	slices.SortFunc(all, func(a, b ActionSpec) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (p *configParser) speech(i int32) (speech bool) {
	if !p.isObject(i, "an entry of actions") {
		return false
	}
	stated := false
	for k := i + 1; k < p.nodes[i].next; k = p.nodes[k+1].next {
		if string(p.bytes(k)) != "speech" {
			p.unknown(k, "speech")
			continue
		}
		stated, speech = true, p.nodes[k+1].kind == kindTrue
		if !speech && p.nodes[k+1].kind != kindFalse {
			p.add(k+1, "type", "speech must be true or false")
		}
	}
	if !stated {
		p.missing(i, "speech", "an action needs speech: true or false")
	}
	return speech
}

func (p *configParser) groups(i int32) []GroupConfig {
	if !p.isObject(i, "groups") {
		return nil
	}
	all := make([]GroupConfig, 0, p.nodes[i].size)
	for k := i + 1; k < p.nodes[i].next; k = p.nodes[k+1].next {
		if p.isID(k) {
			all = append(all, p.group(p.text(k), k+1))
		}
	}
	slices.SortFunc(all, func(a, b GroupConfig) int { return strings.Compare(a.ID, b.ID) })
	return all
}

func (p *configParser) isID(key int32) bool {
	code, detail := idFault(p.text(key))
	if code != "" {
		p.add(key, code, detail)
	}
	return code == ""
}

func (p *configParser) group(id string, i int32) (g GroupConfig) {
	g.ID = id
	if !p.isObject(i, "a group") {
		return g
	}
	for k := i + 1; k < p.nodes[i].next; k = p.nodes[k+1].next {
		switch v := k + 1; string(p.bytes(k)) {
		case "name":
			if text, ok := p.shortText(v, "name", maxGroupName); ok {
				g.Name = State(text)
			}
		case "locale":
			g.Locale = p.locale(v)
		case "policy":
			g.Policy = p.document(v, "a policy", false)
		case "exemptions":
			g.Exemptions = p.exemptions(v)
		default:
			p.unknown(k, "name", "locale", "policy", "exemptions")
		}
	}
	return g
}

// shortText reads a text of at most so many characters.
func (p *configParser) shortText(i int32, name string, most int) (string, bool) {
	if !p.isString(i, name) {
		return "", false
	}
	text := p.text(i)
	switch {
	case !IsLine(text):
		p.add(i, "format", name+" "+LineRule)
		return "", false
	case utf8.RuneCountInString(text) <= most:
		return text, true
	}
	p.add(i, "range", name+" must be at most "+strconv.Itoa(most)+" characters long")
	return "", false
}

func (p *configParser) locale(i int32) (s Setting[string]) {
	if !p.isString(i, "locale") {
		return s
	}
	if text := p.text(i); isLocale(text) {
		return State(text)
	}
	p.add(i, "format", "locale must be a language tag, such as en or zh-CN")
	return s
}

// isLocale takes the form of language tags (RFC 5646: parts of 1 to 8 letters and digits, the first of letters), with _ as
// platforms write it.
func isLocale(text string) bool {
	if len(text) > maxLocale {
		return false
	}
	for n, part := range strings.Split(strings.ReplaceAll(text, "_", "-"), "-") {
		if part == "" || len(part) > 8 || strings.Trim(part, lettersAndDigits) != "" ||
			n == 0 && strings.ContainsAny(part, "0123456789") {
			return false
		}
	}
	return true
}

func (p *configParser) exemptions(i int32) []ExemptionConfig {
	if !p.isObject(i, "exemptions") {
		return nil
	}
	all := make([]ExemptionConfig, 0, p.nodes[i].size)
	for k := i + 1; k < p.nodes[i].next; k = p.nodes[k+1].next {
		if p.isID(k) {
			all = append(all, p.exemption(p.text(k), k+1))
		}
	}
	slices.SortFunc(all, func(a, b ExemptionConfig) int { return strings.Compare(a.UserID, b.UserID) })
	return all
}

func (p *configParser) exemption(user string, i int32) (e ExemptionConfig) {
	e.UserID = user
	if !p.isObject(i, "an exemption") {
		return e
	}
	for k := i + 1; k < p.nodes[i].next; k = p.nodes[k+1].next {
		switch v := k + 1; string(p.bytes(k)) {
		case "expires_at":
			e.ExpiresAt = p.moment(v)
		case "note":
			e.Note, _ = p.shortText(v, "note", maxNote)
		default:
			p.unknown(k, "expires_at", "note")
		}
	}
	return e
}

func (p *configParser) moment(i int32) time.Time {
	if p.nodes[i].kind == kindNull {
		return time.Time{}
	}
	if p.nodes[i].kind == kindString {
		if t, ok := ParseMoment(p.text(i)); ok && !t.IsZero() {
			return t.Truncate(time.Microsecond)
		}
	}
	p.add(i, "format", "expires_at must be an RFC 3339 moment with a zone, such as 2030-01-01T00:00:00Z, or null for no end")
	return time.Time{}
}
