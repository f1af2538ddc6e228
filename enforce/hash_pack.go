package enforce

import (
	"strconv"

	"github.com/pacekeeper/pacekeeper/policy"
)

// What most policies fit into; a longer one takes memory of its own.
const (
	packedText = 256 // bytes of values that are made for the hash
	packedCuts = 20  // of them
	usualWords = 28  // fields and values
)

// packer builds a hash whose made values lie in one piece of memory: a fleet has millions of them.
type packer struct {
	hash Hash
	text []byte
	cuts []span
}

// span is where a value of the hash ends in the text; it begins where the one before ends.
type span struct{ at, end int }

func (p *packer) word(name, value string) { p.hash = append(p.hash, name, value) }

func (p *packer) number(name string, n int64) {
	p.text = strconv.AppendInt(p.text, n, 10)
	p.cut(name)
}

// cut makes a field of what was appended to the text since the last.
func (p *packer) cut(name string) {
	p.hash = append(p.hash, name, "")
	p.cuts = append(p.cuts, span{len(p.hash) - 1, len(p.text)})
}

// roles are those that no limit holds.
func (p *packer) roles(c policy.Compiled) {
	for i, role := range c.ExemptRoles {
		if i > 0 {
			p.text = append(p.text, ',')
		}
		p.text = append(p.text, role...)
	}
	p.cut("exempt_roles")
}

// penalties are what an attempt meets that is refused.
func (p *packer) penalties(c policy.Compiled) {
	if c.CountRefused {
		p.word("count_refused", "1")
	}
	if c.BanForMS > 0 {
		p.number("ban_for_ms", c.BanForMS)
	}
	if c.Speech {
		p.text = appendLadder(p.text, c.Ladder)
		p.cut("ladder")
		p.number("forgive_one_every_ms", c.ForgiveOneEveryMS)
	}
}

// rare are fields that few policies have. The offsets and group_program are read by the scripts; the others are
// for people.
func (p *packer) rare(c policy.Compiled) {
	if c.Limit > 0 && c.Algorithm == policy.FixedWindow {
		p.word("align", string(c.Align))
	}
	if c.Limit > 0 && c.Algorithm == policy.SlidingCounter {
		p.number("buckets", c.Buckets)
	}
	if isBucket(c) && c.Algorithm == policy.LeakyBucket {
		p.number("queue", flagNumber(c.Queue))
	}
	if c.BanToEndOfDay {
		p.word("ban_until", "end_of_day")
	}
	if c.Group.Limit > 0 {
		p.word("group_program", string(EncodeGroupProgram(c)))
		p.word("group_algorithm", string(c.Group.Algorithm))
		p.number("group_limit", c.Group.Limit)
		p.number("group_period_ms", c.Group.PeriodMS)
	}
	if c.TimeZone != "" {
		p.word("time_zone", c.TimeZone)
		p.number("utc_offset_ms", c.Offsets.UTCOffsetMS)
		p.number("next_offset_at", c.Offsets.NextOffsetAtMS)
		p.number("next_offset_ms", c.Offsets.NextOffsetMS)
	}
}

func flagNumber(on bool) int64 {
	if on {
		return 1
	}
	return 0
}

// done cuts the values out of the text.
func (p *packer) done() Hash {
	text, from := string(p.text), 0
	for _, c := range p.cuts {
		p.hash[c.at], from = text[from:c.end], c.end
	}
	return p.hash
}
