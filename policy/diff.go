package policy

// Change is one difference between two JSON texts. Before and After are values as the texts state them; nil = absent,
// which for a document means that the defaults decide.
type Change struct {
	Path   string // RFC 6901 pointer into the texts; "" = the whole text
	Before []byte
	After  []byte
}

// Diff lists what differs between two documents, in the order of the contract. A window, a ban, a ladder or a list of
// roles that only one of them states is one change; a window that both state is looked into.
func Diff(before, after Document) []Change {
	changes, _ := DiffJSON(before.JSON(), after.JSON()) // canonical texts are well formed
	return changes
}

// DiffJSON lists what differs between two JSON texts, each "" or nil for nothing: documents, bounds, groups, exemptions
// as the audit log holds them. Objects are looked into, arrays and plain values are compared as they stand. The order is
// that of the texts, with what only the second has before its next neighbour that both have. The error is CodeMalformed.
func DiffJSON(before, after []byte) ([]Change, error) {
	b, err := treeOf(before)
	if err != nil {
		return nil, err
	}
	a, err := treeOf(after)
	if err != nil {
		return nil, err
	}
	d := differ{before: b, after: a}
	d.value("", rootOf(d.before), rootOf(d.after))
	return d.changes, nil
}

// treeOf reads a text; the tree of nothing has no nodes.
func treeOf(text []byte) (*tree, error) {
	var s scanner
	if len(text) == 0 {
		return &s.tree, nil
	}
	err := s.parse(text)
	return &s.tree, err
}

func rootOf(t *tree) int32 {
	if len(t.nodes) == 0 {
		return absent
	}
	return 0
}

// differ walks two trees side by side. An index is absent where its text has nothing.
type differ struct {
	before, after *tree
	changes       []Change
}

func (d *differ) value(path string, b, a int32) {
	switch {
	case d.before.isOpen(b) && d.after.isOpen(a):
		d.members(path, b, a)
	case a == absent && d.opensAlone(d.before, b, path), b == absent && d.opensAlone(d.after, a, path):
		d.members(path, b, a)
	case d.before.same(b, d.after, a):
	default:
		d.changes = append(d.changes, Change{path, d.before.stated(b), d.after.stated(a)})
	}
}

// opensAlone says whether an object that the other side lacks is told member by member: an action is, a window is one
// thing.
func (d *differ) opensAlone(t *tree, i int32, path string) bool {
	return t.isOpen(i) && t.nodes[i].size > 0 && !isWhole(path)
}

// isWhole says whether the pointer names what documents take whole (contract §3).
func isWhole(path string) bool {
	return hasLastToken(path, "window") || hasLastToken(path, "ban")
}

func hasLastToken(path, token string) bool {
	at := len(path) - len(token)
	return at > 0 && path[at-1] == '/' && path[at:] == token
}

// members compares two objects, or one with nothing.
func (d *differ) members(path string, b, a int32) {
	next := d.after.firstKey(a)
	for k := d.before.firstKey(b); k != absent; k = d.before.nextKey(b, k) {
		next = d.added(path, b, a, next)
		key := d.before.bytes(k)
		other := d.after.valueOf(a, key)
		d.value(path+"/"+escapePointer(string(key)), k+1, other)
		if other != absent && next != absent && other == next+1 {
			next = d.after.nextKey(a, next)
		}
	}
	for next != absent {
		key := d.after.bytes(next)
		if d.before.valueOf(b, key) == absent {
			d.value(path+"/"+escapePointer(string(key)), absent, next+1)
		}
		next = d.after.nextKey(a, next)
	}
}

// added tells of the keys from next on that only the second text has, up to one that both have.
func (d *differ) added(path string, b, a, next int32) int32 {
	for next != absent {
		key := d.after.bytes(next)
		if d.before.valueOf(b, key) != absent {
			return next
		}
		d.value(path+"/"+escapePointer(string(key)), absent, next+1)
		next = d.after.nextKey(a, next)
	}
	return absent
}

func (t *tree) isOpen(i int32) bool { return i != absent && t.nodes[i].kind == kindObject }

// firstKey and nextKey walk the keys of an object; absent at the end, and of what is no object.
func (t *tree) firstKey(object int32) int32 {
	if !t.isOpen(object) || t.nodes[object].size == 0 {
		return absent
	}
	return object + 1
}

func (t *tree) nextKey(object, key int32) int32 {
	if next := t.nodes[key+1].next; next < t.nodes[object].next {
		return next
	}
	return absent
}

// valueOf is the value of a key of an object, or absent.
func (t *tree) valueOf(object int32, key []byte) int32 {
	if !t.isOpen(object) {
		return absent
	}
	if v := t.member(object, key); v != 0 {
		return v
	}
	return absent
}

// stated is a value as it stands, nil for absent.
func (t *tree) stated(i int32) []byte {
	if i == absent {
		return nil
	}
	return t.source(i)
}

// same says whether two values are equal: texts by what they spell, objects by their members in any order, numbers by
// their value where they are whole.
func (t *tree) same(i int32, other *tree, j int32) bool {
	if i == absent || j == absent {
		return i == j
	}
	if t.nodes[i].kind != other.nodes[j].kind {
		return false
	}
	switch t.nodes[i].kind { //nolint:exhaustive // the kinds with an inside
	case kindString:
		return string(t.bytes(i)) == string(other.bytes(j))
	case kindArray:
		return t.sameElements(i, other, j)
	case kindObject:
		return t.sameMembers(i, other, j)
	case kindNumber:
		v, whole := wholeNumber(t.raw(i))
		w, also := wholeNumber(other.raw(j))
		return whole && also && v == w || string(t.raw(i)) == string(other.raw(j))
	}
	return string(t.raw(i)) == string(other.raw(j))
}

func (t *tree) sameElements(i int32, other *tree, j int32) bool {
	v, w := i+1, j+1
	for v < t.nodes[i].next && w < other.nodes[j].next {
		if !t.same(v, other, w) {
			return false
		}
		v, w = t.nodes[v].next, other.nodes[w].next
	}
	return v >= t.nodes[i].next && w >= other.nodes[j].next
}

func (t *tree) sameMembers(i int32, other *tree, j int32) bool {
	if t.nodes[i].size != other.nodes[j].size {
		return false
	}
	for k := t.firstKey(i); k != absent; k = t.nextKey(i, k) {
		if v := other.valueOf(j, t.bytes(k)); v == absent || !t.same(k+1, other, v) {
			return false
		}
	}
	return true
}
