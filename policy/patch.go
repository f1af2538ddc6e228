package policy

// MergePatch applies an RFC 7396 merge patch to a target: null removes a member, objects merge, all else replaces. Both
// are JSON texts; an empty target is {}. The result keeps the target's order and the texts' own spelling of values. The
// error is CodeMalformed and speaks of the patch.
func MergePatch(target, patch []byte) ([]byte, error) {
	var onto, by scanner
	if err := by.parse(patch); err != nil {
		return nil, err
	}
	if len(target) == 0 {
		target = []byte("{}")
	}
	if err := onto.parse(target); err != nil {
		return nil, err
	}
	m := merger{onto: &onto.tree, by: &by.tree, out: make([]byte, 0, len(target)+len(patch))}
	m.merge(0, 0)
	return m.out, nil
}

type merger struct {
	onto, by *tree
	out      []byte
}

// absent stands for a target that is not there; the target's root never is a member.
const absent = -1

func (m *merger) merge(target, patch int32) {
	if m.by.nodes[patch].kind != kindObject {
		m.out = append(m.out, m.by.source(patch)...)
		return
	}
	if target != absent && m.onto.nodes[target].kind != kindObject {
		target = absent
	}
	m.out = append(m.out, '{')
	first := len(m.out)
	if target != absent {
		m.members(target, patch, first)
	}
	m.added(target, patch, first)
	m.out = append(m.out, '}')
}

// members writes what the target has: merged where the patch names it, as it stands where not.
func (m *merger) members(target, patch int32, first int) {
	for k := target + 1; k < m.onto.nodes[target].next; k = m.onto.nodes[k+1].next {
		by := m.by.member(patch, m.onto.bytes(k))
		switch {
		case by == 0:
			m.key(m.onto, k, first)
			m.out = append(m.out, m.onto.source(k+1)...)
		case m.by.nodes[by].kind != kindNull:
			m.key(m.onto, k, first)
			m.merge(k+1, by)
		}
	}
}

// added writes what the patch names and the target lacks.
func (m *merger) added(target, patch int32, first int) {
	for k := patch + 1; k < m.by.nodes[patch].next; k = m.by.nodes[k+1].next {
		if m.by.nodes[k+1].kind == kindNull {
			continue
		}
		if target != absent && m.onto.member(target, m.by.bytes(k)) != 0 {
			continue
		}
		m.key(m.by, k, first)
		m.merge(absent, k+1)
	}
}

func (m *merger) key(from *tree, k int32, first int) {
	if len(m.out) > first {
		m.out = append(m.out, ',')
	}
	m.out = append(m.out, from.source(k)...)
	m.out = append(m.out, ':')
}
