package policy

import (
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
	fields := make(fieldSet, 0, 8)
	for _, c := range changes {
		fields.addValue(c.Path, c.Before)
		fields.addValue(c.Path, c.After)
	}
	slices.Sort(fields)
	return strings.Join(fields, " ")
}

// DeriveChanged is AuditChanged of the record: what its Changed must be.
func (r AuditRecord) DeriveChanged() string { return AuditChanged(r.Before, r.After) }

// fieldSet is a list without repeats: most entries have a handful, which a map would make dearer.
type fieldSet []string

// addValue adds the pointers of a value that changed as a whole, and of what is in it.
func (f *fieldSet) addValue(path string, value []byte) {
	if len(value) == 0 || value[0] != '{' {
		f.add(path)
		return
	}
	t, err := treeOf(value)
	if err != nil || t.nodes[0].size == 0 {
		f.add(path)
		return
	}
	for k := t.firstKey(0); k != absent; k = t.nextKey(0, k) {
		f.addValue(path+"/"+escapePointer(t.text(k)), t.source(k+1))
	}
}

// add adds a pointer and all that lead to it.
func (f *fieldSet) add(path string) {
	for path != "" && !slices.Contains(*f, path) {
		*f = append(*f, path)
		path = path[:strings.LastIndexByte(path, '/')]
	}
}
