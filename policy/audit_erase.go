package policy

import (
	"crypto/hmac"
	"encoding/hex"
	"strings"
)

// AuditErase is the action of the entry that an erasure writes. It names nobody; its id stands in what it erased.
const AuditErase = "person.erase"

// The parts of an entry that can be erased.
const (
	AuditWho  = "who"
	AuditWhat = "what"
)

// EraseWho returns the record without actor and address, erased by the entry with the id erasure.
func (r AuditRecord) EraseWho(key []byte, erasure string) AuditRecord {
	r.Who = r.erased(key, erasure, AuditWho, r.Who.digest([]string{r.Actor, r.Address}))
	r.Actor, r.Address = "", ""
	return r
}

// EraseWhat returns the record without target, before, after and reason, erased by the entry with the id erasure.
func (r AuditRecord) EraseWhat(key []byte, erasure string) AuditRecord {
	r.What = r.erased(key, erasure, AuditWhat, r.What.digest([]string{r.Target, r.Before, r.After, r.Reason}))
	r.Target, r.Before, r.After, r.Reason, r.Changed = "", "", "", "", ""
	return r
}

func (r AuditRecord) erased(key []byte, erasure, part string, digest []byte) AuditSeal {
	return AuditSeal{Digest: digest, Erasure: erasure + ":" + hex.EncodeToString(r.signErasure(key, erasure, part, digest))}
}

// signErasure is the MAC of an erasure: without the key nobody can make one, and none fits another entry, part or text.
func (r AuditRecord) signErasure(key []byte, erasure, part string, digest []byte) []byte {
	return sign(key, canon(nil).text("pacekeeper audit erasure 1").text(erasure).text(r.ID).text(part).bytes(digest))
}

// Proof is what exports show of an erased part: its digest as hex, a colon and its Erasure; "" for one that is not.
func (s AuditSeal) Proof() string {
	if s.Erasure == "" {
		return hex.EncodeToString(s.Digest)
	}
	return hex.EncodeToString(s.Digest) + ":" + s.Erasure
}

// erasures checks the proofs of what was erased of an entry, and returns the ids of the entries that erased it. Key nil =
// the proofs are not checked.
func (r AuditRecord) erasures(key []byte) (ids []string, ok bool) {
	for _, part := range [...]struct {
		name string
		AuditSeal
	}{{AuditWho, r.Who}, {AuditWhat, r.What}} {
		if !part.Erased() {
			if part.Erasure != "" {
				return nil, false
			}
			continue
		}
		id, mac, _ := strings.Cut(part.Erasure, ":")
		if key != nil && !hmac.Equal([]byte(hex.EncodeToString(r.signErasure(key, id, part.name, part.Digest))), []byte(mac)) {
			return nil, false
		}
		ids = append(ids, id)
	}
	return ids, true
}

// erasedKept is how many numbers of erased entries a verification keeps.
const erasedKept = 1000

// noteErasure counts an erased entry and remembers which entries must follow that erased it.
func (c *AuditChain) noteErasure(r AuditRecord) *AuditFault {
	ids, ok := r.erasures(c.Key)
	if !ok {
		return fault(r.Seq, "the entry was erased without a record of it: no server with this key did that")
	}
	for _, id := range ids {
		if c.owing == nil {
			c.owing = map[string]int64{}
		}
		if _, known := c.owing[id]; !known {
			c.owing[id] = r.Seq
		}
	}
	if len(ids) > 0 {
		if c.Erased++; len(c.ErasedSeqs) < erasedKept {
			c.ErasedSeqs = append(c.ErasedSeqs, r.Seq)
		}
	}
	if r.Action == AuditErase {
		delete(c.owing, r.ID)
	}
	return nil
}

// unrecorded is the first entry of which the erasing entry did not follow.
func (c *AuditChain) unrecorded() *AuditFault {
	var first int64
	for _, seq := range c.owing {
		if first == 0 || seq < first {
			first = seq
		}
	}
	if first == 0 || c.Filtered {
		return nil
	}
	return fault(first, "the entry was erased without a record of it: the entry that erased it is not there")
}
