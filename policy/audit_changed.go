package policy

import (
	"maps"
	"slices"
	"strings"
)

// AuditChanged lists the fields in which two JSON texts differ ("" = nothing there), each by its JSON pointer and those of
// all it stands in, sorted, without repeats, with spaces between them; "" = none. An array is one field. Text that is no
// JSON has no fields.
func AuditChanged(before, after string) string {
	changes, err := DiffJSON([]byte(before), []byte(after))
	if err != nil {
		return ""
	}
	paths := map[string]struct{}{}
	for _, c := range changes {
		addFields(paths, c.Path, c.Before)
		addFields(paths, c.Path, c.After)
	}
	return strings.Join(slices.Sorted(maps.Keys(paths)), " ")
}

// DeriveChanged is AuditChanged of the record: what its Changed must be.
func (r AuditRecord) DeriveChanged() string { return AuditChanged(r.Before, r.After) }

// addFields adds the pointers of a value that changed as a whole, and of what is in it.
func addFields(paths map[string]struct{}, path string, value []byte) {
	if len(value) == 0 || value[0] != '{' {
		addPath(paths, path)
		return
	}
	t, err := treeOf(value)
	if err != nil || t.nodes[0].size == 0 {
		addPath(paths, path)
		return
	}
	for k := t.firstKey(0); k != absent; k = t.nextKey(0, k) {
		addFields(paths, path+"/"+escapePointer(t.text(k)), t.source(k+1))
	}
}

// addPath adds a pointer and all that lead to it.
func addPath(paths map[string]struct{}, path string) {
	for path != "" {
		if _, known := paths[path]; known {
			return
		}
		paths[path] = struct{}{}
		path = path[:strings.LastIndexByte(path, '/')]
	}
}
