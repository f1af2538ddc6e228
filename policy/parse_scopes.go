package policy

// ParseDefaults reads the system's own document: what ParseDocument reads, and scopes. Errors are as its.
func ParseDefaults(data []byte) (Document, error) {
	var s scanner
	if err := s.parse(data); err != nil {
		return Document{}, err
	}
	p := documentParser{faults: faults{tree: &s.tree}, defaults: true}
	d := p.document(0, "the document")
	if err := p.err("the document is not valid"); err != nil {
		return Document{}, err
	}
	return d, nil
}

// systemOnly reads scopes where they may stand.
func (p *documentParser) systemOnly(k int32) map[Scope]map[string]ActionDocument {
	if !p.defaults {
		p.add(k, "unknown", "scopes belong to the system's defaults; a group's document has none")
		return nil
	}
	return p.scopes(k + 1)
}

// scopes reads the policies of the system's scopes. Scopes that state nothing are left out.
func (p *documentParser) scopes(i int32) (all map[Scope]map[string]ActionDocument) {
	if !p.isObject(i, "scopes") {
		return nil
	}
	for k := i + 1; k < p.nodes[i].next; k = p.nodes[k+1].next {
		scope := Scope(p.text(k))
		switch scope {
		case ScopeUser, ScopePeer, ScopeIP:
		case ScopeGroup:
			p.add(k, "unknown", "what members may do in a group stands under actions; scopes are user, peer and ip")
			continue
		default:
			p.unknown(k, scopeNames()...)
			continue
		}
		p.whole = true
		actions := p.actions(k + 1)
		p.whole = false
		p.noGroupLimits(k + 1)
		if len(actions) == 0 {
			continue
		}
		if all == nil {
			all = make(map[Scope]map[string]ActionDocument, len(SystemScopes()))
		}
		all[scope] = actions
	}
	return all
}

// noGroupLimits refuses limits of a whole group where there is none.
func (p *documentParser) noGroupLimits(scope int32) {
	if p.nodes[scope].kind != kindObject {
		return
	}
	for k := scope + 1; k < p.nodes[scope].next; k = p.nodes[k+1].next {
		if p.nodes[k+1].kind != kindObject {
			continue
		}
		if group := p.member(k+1, []byte("group")); group != 0 {
			p.add(group, "unknown", "group is a limit of a whole group, and has no place in a scope")
		}
	}
}
