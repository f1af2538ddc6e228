package enforce

import "strconv"

// How publish.lua is told a publication.
const (
	toldByDifference = '='
	toldWhole        = '*'
)

// publishArgs are the ARGV of publish.lua. The hashes of a call mostly have the same fields, and the same values in most
// of them: these are told once. Words go as pointers, which an interface holds as they are; a string would be copied
// for each.
func publishArgs(pubs []Publication) []any {
	base := baseOf(pubs)
	kinds, differs, v := make([]byte, len(pubs)), make([]bool, len(base)), 0
	for i := range pubs {
		kinds[i] = toldWhole
		if pubs[i].likens(base) {
			kinds[i] = toldByDifference
			v += pubs[i].Hash.mark(base, differs)
		}
	}
	args := make([]any, 0, 3+len(base)+v+len(pubs)*v)
	args = append(args, kinds, len(base)/2)
	for i := range base {
		args = append(args, &base[i])
	}
	args = append(args, v)
	for i := 1; i < len(base); i += 2 {
		if differs[i] {
			args = append(args, i/2+1)
		}
	}
	for i := range pubs {
		if kinds[i] == toldWhole {
			args = pubs[i].appendWhole(args)
			continue
		}
		for k := 1; k < len(base); k += 2 {
			if differs[k] {
				args = append(args, &pubs[i].Hash[k])
			}
		}
	}
	return args
}

// baseOf answers the first hash of which others can be told as what differs; nil = there is none.
func baseOf(pubs []Publication) Hash {
	for i := range pubs {
		if !pubs[i].Delete && !pubs[i].Repair {
			return pubs[i].Hash
		}
	}
	return nil
}

// likens says that the publication is guarded as ever and has the fields of base.
func (pub *Publication) likens(base Hash) bool {
	if pub.Delete || pub.Repair || len(pub.Hash) != len(base) {
		return false
	}
	for i := 0; i < len(base); i += 2 {
		if pub.Hash[i] != base[i] {
			return false
		}
	}
	return true
}

// mark marks the values that differ from those of base, and answers how many were not marked yet.
func (h Hash) mark(base Hash, differs []bool) (fresh int) {
	for i := 1; i < len(base); i += 2 {
		if !differs[i] && h[i] != base[i] {
			differs[i] = true
			fresh++
		}
	}
	return fresh
}

// appendWhole appends the publication with all of its words.
func (pub *Publication) appendWhole(args []any) []any {
	hash, seen := pub.Hash, ""
	if pub.Repair {
		seen = itoa(pub.Seen)
	}
	head := &[4]string{itoa(pub.Order), hash.Get("digest"), hash.Get("format"), hash.Get("next_offset_at")}
	if pub.Delete {
		hash, head[1], head[3] = tombstone(pub.Order), "", ""
	}
	if head[2] == "" {
		head[2] = strconv.Itoa(HashFormat)
	}
	args = append(args, len(hash), seen, &head[0], &head[1], &head[2], &head[3])
	for i := range hash {
		args = append(args, &hash[i])
	}
	return args
}
