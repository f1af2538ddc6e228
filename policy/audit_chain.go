package policy

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"hash"
	"slices"
)

// AuditFault is the first thing that is wrong with an audit log, and its place.
type AuditFault struct {
	Seq int64 // the entry's number, or the number where one should be
	Why string
}

// AuditChain checks an audit log, entry by entry in the order of their numbers: Next for each, then End. It keeps
// nothing but the place where it is. Not safe for concurrent use.
type AuditChain struct {
	// Key is the audit key; nil = the MACs are not checked.
	Key []byte
	// Filtered says that entries are left out on purpose: only neighbours are held against each other.
	Filtered bool
	// Known are heads that the chain must contain.
	Known []AuditHead

	Entries    int64            // found good so far
	Erased     int64            // of them, those of which a part was erased
	ErasedSeqs []int64          // their numbers, the first 1,000
	owing      map[string]int64 // id of an erasing entry that must follow → the first entry that it erased
	last       AuditHead
	mac        hash.Hash // with the key
}

// Next checks one entry; nil = good.
func (c *AuditChain) Next(r AuditRecord) *AuditFault {
	switch next := c.last.Seq + 1; {
	case c.Filtered && r.Seq > next:
		c.last = AuditHead{Seq: r.Seq - 1, Hash: r.PrevHash}
	case r.Seq > next:
		return fault(next, "the entry is missing: deleted or moved")
	case r.Seq < next:
		return fault(r.Seq, "the entry is out of order")
	}
	head, content := AuditHead{Seq: r.Seq, Hash: r.Hash}, r.content()
	switch {
	case r.PrevHash != c.last.Hash:
		return fault(r.Seq, "prev_hash is not the hash of the entry before: altered, swapped or put in")
	case r.link(c.last.Hash, content) != r.Hash:
		return fault(r.Seq, "the entry does not give its hash: altered, swapped or put in")
	case c.Key != nil && !hmac.Equal(c.sign(content), r.MAC):
		return fault(r.Seq, "no server with this key wrote the entry: forged, or written with another key")
	case slices.ContainsFunc(c.Known, head.unlike):
		return fault(r.Seq, "a known head has another hash here: the log was rewritten")
	}
	if bad := c.noteErasure(r); bad != nil {
		return bad
	}
	c.last = head
	c.Entries++
	return nil
}

// sign is the MAC of a message; setting a key up anew for each costs as much as the MAC.
func (c *AuditChain) sign(message []byte) []byte {
	if c.mac == nil {
		c.mac = hmac.New(sha256.New, c.Key)
	}
	c.mac.Reset()
	c.mac.Write(message)
	return c.mac.Sum(nil)
}

// unlike reports a known head of the same place that has another hash.
func (h AuditHead) unlike(known AuditHead) bool { return known.Seq == h.Seq && known.Hash != h.Hash }

// End holds what Next saw against the head that the log has, and the MAC that the head has; nil = good.
func (c *AuditChain) End(head AuditHead, mac string) *AuditFault {
	for _, known := range c.Known {
		if known.Seq > head.Seq {
			return fault(head.Seq+1, fmt.Sprintf("a known head is %d: the end was cut off and an old head put back", known.Seq))
		}
	}
	switch {
	case c.Filtered:
	case c.last.Seq < head.Seq:
		return fault(c.last.Seq+1, fmt.Sprintf("the entry is missing: the head is %d, the end was cut off", head.Seq))
	case c.last != head:
		return fault(head.Seq, "the head is not that of the last entry: altered, or entries were put in behind it")
	}
	if c.Key != nil && !head.Signed(c.Key, mac) {
		return fault(head.Seq, "the head is not signed with this key: forged, or signed with another key")
	}
	return c.unrecorded()
}

func fault(seq int64, why string) *AuditFault { return &AuditFault{Seq: seq, Why: why} }
