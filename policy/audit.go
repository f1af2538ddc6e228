package policy

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
)

// AuditRecord is an audit entry with all that its proof needs. Its hash covers every field but MAC and Changed.
type AuditRecord struct {
	ID       string
	Seq      int64 // from 1, without gaps; 0 until the entry is sealed
	AtMicros int64 // µs since 1970 UTC
	Role     string
	Channel  string
	Action   string
	GroupID  string

	Actor, Address                string // who: may be erased
	Target, Before, After, Reason string // what: may be erased; Before and After are JSON, "" = nothing

	RequestID      string
	Who, What      AuditSeal
	MAC            []byte // made with the audit key when the entry is written
	PrevHash, Hash string // hex; the first entry has no hash before it

	Changed string // AuditChanged of Before and After, for filters; derived, and so neither in the hash nor in exports
}

// AuditSeal stands for a personal part of an entry: a salt as long as the texts are there; the digest instead once they
// are erased.
type AuditSeal struct {
	Salt, Digest []byte
	Erasure      string // who erased them: "<id of the erasing entry>:<MAC as hex>"; "" = not erased
}

// AuditSaltBytes is the length of a salt.
const AuditSaltBytes = 16

// Erased says that the texts were erased.
func (s AuditSeal) Erased() bool { return s.Digest != nil }

// digest is the salted digest of the texts. A seal that has both or none of its parts, or has texts although they were
// erased, has a digest that belongs to nothing.
func (s AuditSeal) digest(texts []string) []byte {
	if s.Erased() {
		if s.Salt != nil || strings.Join(texts, "") != "" {
			return nil
		}
		return s.Digest
	}
	c := canon(make([]byte, 0, usualBytes)).text("pacekeeper audit part 1").bytes(s.Salt)
	for _, text := range texts {
		c = c.text(text)
	}
	return c.sum()
}

// content is the digest of what the entry says, whatever its number.
func (r AuditRecord) content() []byte {
	c := canon(make([]byte, 0, usualBytes)).text("pacekeeper audit entry 1").text(r.ID).number(r.AtMicros)
	for _, text := range [...]string{r.Role, r.Channel, r.Action, r.GroupID, r.RequestID} {
		c = c.text(text)
	}
	c = c.bytes(r.Who.digest([]string{r.Actor, r.Address}))
	return c.bytes(r.What.digest([]string{r.Target, r.Before, r.After, r.Reason})).sum()
}

// Sign is the MAC of the entry: nobody without the key can write one that a server did not.
func (r AuditRecord) Sign(key []byte) []byte { return sign(key, r.content()) }

// Link is the hash of the entry in its place behind the hash prev; hex.
func (r AuditRecord) Link(prev string) string { return r.link(prev, r.content()) }

func (r AuditRecord) link(prev string, content []byte) string {
	c := canon(make([]byte, 0, usualBytes)).text("pacekeeper audit link 1").text(prev).number(r.Seq).bytes(content)
	return hex.EncodeToString(c.sum())
}

func sign(key, message []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write(message)
	return m.Sum(nil)
}

// AuditHead names the last entry of the chain; the zero AuditHead that of an empty one.
type AuditHead struct {
	Seq  int64
	Hash string // hex
}

// String is seq:hash, as ?expect_head= takes it.
func (h AuditHead) String() string { return strconv.FormatInt(h.Seq, 10) + ":" + h.Hash }

// ParseAuditHead reads seq:hash. CodeMalformed.
func ParseAuditHead(text string) (AuditHead, error) {
	number, sum, _ := strings.Cut(text, ":")
	seq, err := strconv.ParseInt(number, 10, 64)
	raw, hexErr := hex.DecodeString(sum)
	h := AuditHead{Seq: seq, Hash: sum}
	if err != nil || hexErr != nil || h.String() != text || (seq == 0) != (sum == "") || seq < 0 ||
		(seq > 0 && len(raw) != sha256.Size) {
		return AuditHead{}, Errorf(CodeMalformed, "a head is the number of its entry, a colon and 64 hexadecimal digits")
	}
	return h, nil
}

// Sign is the MAC of the head, as hex: HMAC-SHA256 over its number and its hash.
func (h AuditHead) Sign(key []byte) string {
	return hex.EncodeToString(sign(key, canon(nil).text("pacekeeper audit head 1").number(h.Seq).text(h.Hash)))
}

// Signed reports whether mac is the head's. An empty chain needs none: there is nothing to prove yet.
func (h AuditHead) Signed(key []byte, mac string) bool {
	if h == (AuditHead{}) && mac == "" {
		return true
	}
	return hmac.Equal([]byte(h.Sign(key)), []byte(mac))
}

// canon is a list of values as bytes that no other list gives: each text with its length before it.
type canon []byte

const usualBytes = 512 // most entries need no more

func (c canon) number(n int64) canon {
	return binary.BigEndian.AppendUint64(c, uint64(n)) //nolint:gosec // the bits as they are
}

func (c canon) text(s string) canon { return append(c.number(int64(len(s))), s...) }

func (c canon) bytes(b []byte) canon { return append(c.number(int64(len(b))), b...) }

func (c canon) sum() []byte {
	sum := sha256.Sum256(c)
	return sum[:]
}
