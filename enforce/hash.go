package enforce

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/pacekeeper/pacekeeper/policy"
)

// HashFormat is the version of the hashes' layout and meaning. A writer of an older format never replaces a newer one
// at the same order.
const HashFormat = 3

const formatText = "3"

// Hash is a Redis hash as flat field, value, field, value …, in the order in which it is written.
type Hash []string

// Get answers one field's value, "" where it is absent.
func (h Hash) Get(field string) string {
	for i := 0; i+1 < len(h); i += 2 {
		if h[i] == field {
			return h[i+1]
		}
	}
	return ""
}

// Map answers the hash as HGETALL does.
func (h Hash) Map() map[string]string {
	m := make(map[string]string, len(h)/2)
	for i := 0; i+1 < len(h); i += 2 {
		m[h[i]] = h[i+1]
	}
	return m
}

// PolicyHash is the hash of one compiled policy: `program` first, because the scripts read it with every check and the
// first field of a listpack is the cheapest, and the roles that it sets free, then what guards it, then the same values for people. What says only what
// holds anyway is left out: `enabled` stands there where it is 0, `count_refused` where it is 1, `ban_for_ms` where there
// is one, ladder and forgiveness where the action is speech. Such a hash takes no more than 320 B (ADR 0018). All values
// are at most 64 bytes, so that the hash stays a listpack, as long as roles and ladder are short enough to be written in
// that.
func PolicyHash(c policy.Compiled) Hash {
	var text [packedText]byte
	var cuts [packedCuts]span
	p := packer{hash: make(Hash, 0, usualWords), text: text[:0], cuts: cuts[:0]}
	p.text = appendProgram(p.text, c)
	p.cut("program")
	p.roles(c)
	p.number("order", c.Order)
	p.word("digest", "")
	p.word("format", formatText)
	p.number("version", c.Version)
	if !c.Enabled {
		p.word("enabled", "0")
	}
	p.word("mode", string(c.Mode))
	p.word("algorithm", algorithmText(c))
	p.number("min_interval_ms", c.MinIntervalMS)
	p.number(limitField(c), c.Limit)
	p.number(periodField(c), c.PeriodMS)
	p.penalties(c)
	p.word("on_failure", string(c.OnFailure))
	p.rare(c)
	return p.done().digested()
}

// NoticeHash is the hash of a group's own notice texts: language (en, zh) → key → text, as fields like en.too_soon.
func NoticeHash(order int64, texts map[string]map[string]string) Hash {
	h := Hash{"order", itoa(order), "digest", "", "format", formatText}
	var fields []string
	for lang, byKey := range texts {
		for key := range byKey {
			fields = append(fields, lang+"."+key)
		}
	}
	slices.Sort(fields)
	for _, field := range fields {
		lang, key, _ := strings.Cut(field, ".")
		h = append(h, field, texts[lang][key])
	}
	return h.digested()
}

// NoticeTexts reads a notice hash as HGETALL answers it: language → key → text.
func NoticeTexts(fields map[string]string) map[string]map[string]string {
	texts := map[string]map[string]string{}
	for field, text := range fields {
		lang, key, ok := strings.Cut(field, ".")
		if !ok {
			continue
		}
		if texts[lang] == nil {
			texts[lang] = map[string]string{}
		}
		texts[lang][key] = text
	}
	return texts
}

// tombstone is what is left of a withdrawn hash: its order alone guards against late writes.
func tombstone(order int64) Hash { return Hash{"order", itoa(order), "deleted", "1"} }

// digested fills the digest: 63 bits of SHA-256 over all other fields, length-prefixed, as a decimal number, which is the
// shortest that a listpack holds.
func (h Hash) digested() Hash {
	var room [1024]byte
	text, at := room[:0], -1
	for i := 0; i+1 < len(h); i += 2 {
		if h[i] == "digest" {
			at = i + 1
			continue
		}
		for _, word := range h[i : i+2] {
			text = append(strconv.AppendInt(text, int64(len(word)), 10), ':')
			text = append(text, word...)
		}
	}
	sum := sha256.Sum256(text)
	h[at] = strconv.FormatUint(binary.BigEndian.Uint64(sum[:8])>>1, 10)
	return h
}

// appendLadder writes a ladder for people, durations in seconds: 3m60,4m300,5m3600,6r (m mute, r review, x remove).
func appendLadder(b []byte, ladder []policy.Step) []byte {
	for i, s := range ladder {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendInt(b, s.After, 10), penaltyByte(s.Do))
		switch {
		case s.Do != policy.Mute:
		case s.ForMS%1000 == 0:
			b = strconv.AppendInt(b, s.ForMS/1000, 10)
		default:
			b = strconv.AppendFloat(b, float64(s.ForMS)/1000, 'f', -1, 64)
		}
	}
	return b
}

func algorithmText(c policy.Compiled) string {
	switch {
	case c.Limit == 0:
		return "none"
	case c.Algorithm == "":
		return string(policy.SlidingWindow)
	}
	return string(c.Algorithm)
}

func isBucket(c policy.Compiled) bool {
	return c.Limit > 0 && (c.Algorithm == policy.TokenBucket || c.Algorithm == policy.LeakyBucket)
}

// limitField and periodField name the two numbers as the document does.
func limitField(c policy.Compiled) string {
	if isBucket(c) {
		return "capacity"
	}
	return "limit"
}

func periodField(c policy.Compiled) string {
	switch {
	case !isBucket(c):
		return "period_ms"
	case c.Algorithm == policy.TokenBucket:
		return "refill_ms"
	}
	return "leak_ms"
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
