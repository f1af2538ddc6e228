package enforce

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/pacekeeper/pacekeeper/policy"
)

// HashFormat is the version of the hashes' layout and meaning. A writer of an older format never replaces a newer one
// at the same order.
const HashFormat = 2

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
// first field of a listpack is the cheapest, then the same values for people. All values are at most 64 bytes (so that
// the hash stays a listpack of about 400 B) as long as roles and ladder are short enough to be written in that.
func PolicyHash(c policy.Compiled) Hash {
	h := Hash{
		"program", string(EncodeProgram(c)),
		"order", itoa(c.Order),
		"version", itoa(c.Version),
		"digest", "",
		"format", itoa(HashFormat),
		"enabled", flagText(c.Enabled),
		"speech", flagText(c.Speech),
		"mode", string(c.Mode),
		"algorithm", algorithmText(c),
		"min_interval_ms", itoa(c.MinIntervalMS),
		limitField(c), itoa(c.Limit),
		periodField(c), itoa(c.PeriodMS),
		"count_refused", flagText(c.CountRefused),
		"ban_for_ms", itoa(c.BanForMS),
		"exempt_roles", strings.Join(c.ExemptRoles, ","),
		"ladder", LadderText(c.Ladder),
		"forgive_one_every_ms", itoa(c.ForgiveOneEveryMS),
		"on_failure", string(c.OnFailure),
	}
	return append(h, rareFields(c)...).digested()
}

// NoticeHash is the hash of a group's own notice texts: language (en, zh) → key → text, as fields like en.too_soon.
func NoticeHash(order int64, texts map[string]map[string]string) Hash {
	h := Hash{"order", itoa(order), "digest", "", "format", itoa(HashFormat)}
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

// digested fills the digest: 64 bits of SHA-256 over all other fields, length-prefixed.
func (h Hash) digested() Hash {
	text, at := make([]byte, 0, 1024), -1
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
	h[at] = hex.EncodeToString(sum[:8])
	return h
}

// LadderText writes a ladder for people, durations in seconds: 3m60,4m300,5m3600,6r (m mute, r review, x remove).
func LadderText(ladder []policy.Step) string {
	var b strings.Builder
	for i, s := range ladder {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(itoa(s.After))
		b.WriteByte(penaltyByte(s.Do))
		if s.Do == policy.Mute {
			b.WriteString(strconv.FormatFloat(float64(s.ForMS)/1000, 'f', -1, 64))
		}
	}
	return b.String()
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

// rareFields are those that few policies have. The offsets are read by the scripts; the others are for people.
func rareFields(c policy.Compiled) (h Hash) {
	if c.Limit > 0 && c.Algorithm == policy.FixedWindow {
		h = append(h, "align", string(c.Align))
	}
	if c.Limit > 0 && c.Algorithm == policy.SlidingCounter {
		h = append(h, "buckets", itoa(c.Buckets))
	}
	if isBucket(c) && c.Algorithm == policy.LeakyBucket {
		h = append(h, "queue", flagText(c.Queue))
	}
	if c.BanToEndOfDay {
		h = append(h, "ban_until", "end_of_day")
	}
	if c.TimeZone != "" {
		h = append(h, "time_zone", c.TimeZone, "utc_offset_ms", itoa(c.Offsets.UTCOffsetMS),
			"next_offset_at", itoa(c.Offsets.NextOffsetAtMS), "next_offset_ms", itoa(c.Offsets.NextOffsetMS))
	}
	return h
}

func flagText(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
