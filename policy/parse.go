package policy

import "slices"

// The caps of a document, whatever the bounds say.
const (
	maxLadderDocument = 32  // steps; bounds allow fewer, and more are clamped
	maxExemptRoles    = 32  // roles
	maxNoticeRunes    = 160 // characters of a notice
	maxZoneBytes      = 64
)

// ParseDocument reads a document, strictly: unknown and duplicate keys are errors. Numbers are whole (1e3 and 5.0 are,
// 1.5 and "2s" are not) and above 0; those beyond the bounds are kept as requested, and Resolve clamps them. What needs
// the system (registered actions, known roles, time zones) is for System.Validate. Errors are CodeMalformed for what is
// no JSON, else CodeInvalid with every fault (the first 100) and its pointer. Safe for concurrent use.
func ParseDocument(data []byte) (Document, error) { return parseDocument(data, nil) }

// ParseDocument is the function of that name, but its faults name the range that the bounds allow.
func (s *System) ParseDocument(data []byte) (Document, error) { return parseDocument(data, &s.Bounds) }

func parseDocument(data []byte, bounds *Bounds) (Document, error) {
	var s scanner
	if err := s.parse(data); err != nil {
		return Document{}, err
	}
	p := documentParser{faults: faults{tree: &s.tree}, bounds: bounds}
	d := p.document(0, "the document")
	if err := p.err("the document is not valid"); err != nil {
		return Document{}, err
	}
	return d, nil
}

// documentParser walks a tree and collects faults. The name of the action at hand chooses the bounds that faults name.
type documentParser struct {
	faults
	defaults bool    // the system's own document, which may state scopes
	bounds   *Bounds // nil = faults name no bounds
	action   string
	whole    bool // at a limit that is wider than a member's: of all members together, or of a scope
}

func (p *documentParser) document(i int32, name string) (d Document) {
	if !p.isObject(i, name) {
		return d
	}
	for k := i + 1; k < p.nodes[i].next; k = p.nodes[k+1].next {
		switch string(p.bytes(k)) {
		case "time_zone":
			d.TimeZone = p.timeZone(k + 1)
		case "actions":
			d.Actions = p.actions(k + 1)
		case "exempt_roles":
			d.ExemptRoles = p.exemptRoles(k + 1)
		case "penalties":
			d.Penalties = p.penalties(k + 1)
		case "notices":
			d.Notices = p.notices(k + 1)
		case "scopes":
			d.Scopes = p.systemOnly(k)
		default:
			p.unknown(k, "time_zone", "actions", "exempt_roles", "penalties", "notices")
		}
	}
	return d
}

func (p *documentParser) timeZone(i int32) (z Setting[string]) {
	if !p.isString(i, "time_zone") {
		return z
	}
	if text := p.bytes(i); string(text) == "UTC" {
		return State("UTC")
	} else if len(text) == 0 || len(text) > maxZoneBytes || string(text) == "Local" {
		p.add(i, "unknown", unknownZone)
		return z
	}
	return State(p.text(i))
}

func (p *documentParser) exemptRoles(i int32) (s Setting[[]string]) {
	const name = "exempt_roles"
	if !p.isArray(i, name) {
		return s
	}
	if p.nodes[i].size > maxExemptRoles {
		p.add(i, "range", "exempt_roles must hold 0 to 32 roles")
		return s
	}
	roles := make([]string, 0, p.nodes[i].size)
	for v := i + 1; v < p.nodes[i].next; v = p.nodes[v].next {
		if role, ok := p.role(v); ok {
			if slices.Contains(roles, role) {
				p.add(v, "duplicate", "the role "+role+" is named twice")
			}
			roles = append(roles, role)
		}
	}
	return State(roles)
}

func (p *documentParser) role(i int32) (string, bool) {
	if !p.isString(i, "a role") {
		return "", false
	}
	if text := p.bytes(i); validName(text) {
		return intern(text), true
	}
	p.add(i, "format", "a role must start with a–z and hold at most 32 of a–z, 0–9, _ and -")
	return "", false
}

// intern spares the common names an allocation.
func intern(text []byte) string {
	switch string(text) {
	case "message":
		return "message"
	case "comment":
		return "comment"
	case "like":
		return "like"
	case "upload":
		return "upload"
	case RoleOwner:
		return RoleOwner
	case RoleAdmin:
		return RoleAdmin
	case RoleBot:
		return RoleBot
	case RoleVIP:
		return RoleVIP
	case English:
		return English
	case Chinese:
		return Chinese
	case NoticeTooSoon:
		return NoticeTooSoon
	case NoticeTooMany:
		return NoticeTooMany
	}
	return string(text)
}
