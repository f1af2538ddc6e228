package enforce

import (
	"slices"

	"github.com/pacekeeper/pacekeeper/policy"
)

// The packed forms are what check.lua reads and writes, byte by byte; numbers are big-endian and unsigned. Whatever
// cannot be parsed counts as missing.
const (
	programHead = 25 // algorithm 1, flags 1, interval 4, limit 2, period 4, version 5, ban 4, forgive 4
	programMore = 2  // of sliding counters: buckets 2
	programStep = 6  // after 1, do 1, for 4
	groupLen    = 10 // algorithm 1, flags 1, limit 2, period 4, buckets 2

	memberFormat = 1
	memberLen    = 28 // format 1, strikes 1, last_strike 6, held_until 6, mute_start 6, mute_end 6, cause 1, step 1

	flagEnabled      = 1
	flagSoft         = 2
	flagCountRefused = 4
	flagSpeech       = 8
	flagToEndOfDay   = 16 // a ban holds to the end of the day
	flagGroup        = 32 // the whole group has a limit, packed beside the program
)

// The first byte of a program: its algorithm.
const (
	programSliding  = 1
	programFirst    = 2
	programCalendar = 3
	programCounter  = 4
	programToken    = 5
	programMeter    = 6
	programQueue    = 7
)

// EncodeProgram packs a compiled policy as the scripts run it: at most 63 bytes, of which 6 for each step of the ladder.
// Numbers beyond what a field holds are cut to its largest; steps beyond policy.MaxSteps are left out.
func EncodeProgram(c policy.Compiled) []byte {
	return appendProgram(make([]byte, 0, programHead+programMore+programStep*policy.MaxSteps), c)
}

func appendProgram(b []byte, c policy.Compiled) []byte {
	algorithm := programAlgorithm(windowOf(c))
	b = append(b, algorithm, programFlags(c))
	b = appendUint(b, c.MinIntervalMS, 4)
	b = appendUint(b, c.Limit, 2)
	b = appendUint(b, c.PeriodMS, 4)
	b = appendUint(b, c.Version, 5)
	b = appendUint(b, c.BanForMS, 4)
	b = appendUint(b, c.ForgiveOneEveryMS, 4)
	if algorithm == programCounter {
		b = appendUint(b, c.Buckets, programMore)
	}
	for _, s := range c.Ladder[:min(len(c.Ladder), policy.MaxSteps)] {
		b = appendUint(b, s.After, 1)
		b = append(b, penaltyByte(s.Do))
		b = appendUint(b, s.ForMS, 4)
	}
	return b
}

func programAlgorithm(w policy.CompiledWindow) byte {
	switch w.Algorithm {
	case policy.FixedWindow:
		if w.Align == policy.AlignCalendar {
			return programCalendar
		}
		return programFirst
	case policy.SlidingCounter:
		return programCounter
	case policy.TokenBucket:
		return programToken
	case policy.LeakyBucket:
		if w.Queue {
			return programQueue
		}
		return programMeter
	case policy.SlidingWindow:
	}
	return programSliding
}

// windowOf is the member's window of a policy.
func windowOf(c policy.Compiled) policy.CompiledWindow {
	return policy.CompiledWindow{Algorithm: c.Algorithm, Align: c.Align, Queue: c.Queue}
}

// setAlgorithm is programAlgorithm backwards.
func setAlgorithm(c *policy.CompiledWindow, program byte) (known bool) {
	switch program {
	case programSliding:
		c.Algorithm = policy.SlidingWindow
	case programFirst:
		c.Algorithm, c.Align = policy.FixedWindow, policy.AlignFirst
	case programCalendar:
		c.Algorithm, c.Align = policy.FixedWindow, policy.AlignCalendar
	case programCounter:
		c.Algorithm = policy.SlidingCounter
	case programToken:
		c.Algorithm = policy.TokenBucket
	case programMeter, programQueue:
		c.Algorithm, c.Queue = policy.LeakyBucket, program == programQueue
	default:
		return false
	}
	return true
}

// EncodeGroupProgram packs the limit of the whole group; nil where the policy has none.
func EncodeGroupProgram(c policy.Compiled) []byte {
	if c.Group.Limit <= 0 {
		return nil
	}
	b := make([]byte, 0, groupLen)
	b = append(b, programAlgorithm(c.Group), flag(c.Group.CountRefused, flagCountRefused))
	b = appendUint(b, c.Group.Limit, 2)
	b = appendUint(b, c.Group.PeriodMS, 4)
	return appendUint(b, c.Group.Buckets, 2)
}

func decodeGroup(b []byte) (w policy.CompiledWindow) {
	if len(b) != groupLen || !setAlgorithm(&w, b[0]) || readUint(b[2:4]) == 0 {
		return policy.FactoryGroup()
	}
	w.CountRefused = b[1]&flagCountRefused != 0
	w.Limit, w.PeriodMS, w.Buckets = readUint(b[2:4]), readUint(b[4:8]), readUint(b[8:10])
	return w
}

func programFlags(c policy.Compiled) byte {
	return flag(c.Enabled, flagEnabled) | flag(c.Mode == policy.Soft, flagSoft) | flag(c.CountRefused, flagCountRefused) |
		flag(c.Speech, flagSpeech) | flag(c.BanToEndOfDay, flagToEndOfDay) | flag(c.Group.Limit > 0, flagGroup)
}

func flag(on bool, bit byte) byte {
	if on {
		return bit
	}
	return 0
}

// DecodeProgram reads what EncodeProgram and EncodeGroupProgram packed; false = the program is damaged. A damaged group
// program, where there must be one, is policy.FactoryGroup. Action, Order, OnFailure, ExemptRoles, TimeZone and Offsets are
// not part of them.
func DecodeProgram(b, group []byte) (c policy.Compiled, ok bool) {
	var w policy.CompiledWindow
	if len(b) < programHead || !setAlgorithm(&w, b[0]) {
		return policy.Compiled{}, false
	}
	c.Algorithm, c.Align, c.Queue = w.Algorithm, w.Align, w.Queue
	if b[1]&flagGroup != 0 {
		c.Group = decodeGroup(group)
	}
	ladder := b[programHead:]
	if b[0] == programCounter && len(ladder) >= programMore {
		c.Buckets, ladder = readUint(ladder[:programMore]), ladder[programMore:]
	} else if b[0] == programCounter {
		return policy.Compiled{}, false
	}
	if len(ladder)%programStep != 0 || len(ladder) > programStep*policy.MaxSteps {
		return policy.Compiled{}, false
	}
	c.Enabled, c.Speech = b[1]&flagEnabled != 0, b[1]&flagSpeech != 0
	c.CountRefused, c.BanToEndOfDay = b[1]&flagCountRefused != 0, b[1]&flagToEndOfDay != 0
	c.Mode = policy.Hard
	if b[1]&flagSoft != 0 {
		c.Mode = policy.Soft
	}
	c.MinIntervalMS, c.Limit, c.PeriodMS = readUint(b[2:6]), readUint(b[6:8]), readUint(b[8:12])
	c.Version, c.BanForMS, c.ForgiveOneEveryMS = readUint(b[12:17]), readUint(b[17:21]), readUint(b[21:25])
	for s := range slices.Chunk(ladder, programStep) {
		c.Ladder = append(c.Ladder, policy.Step{After: int64(s[0]), Do: penaltyOf(s[1]), ForMS: readUint(s[2:6])})
	}
	return c, true
}

// EncodeMember packs a member record.
func EncodeMember(m policy.MemberRecord) []byte {
	b := make([]byte, 0, memberLen)
	b = append(b, memberFormat)
	b = appendUint(b, m.Strikes, 1)
	b = appendUint(b, m.LastStrikeMS, 6)
	b = appendUint(b, m.HeldUntilMS, 6)
	b = appendUint(b, m.MuteStartMS, 6)
	b = appendUint(b, m.MuteEndMS, 6)
	b = append(b, causeByte(m.Cause))
	return appendUint(b, m.Step, 1)
}

// DecodeMember reads a packed member record; anything unparsable is the zero record.
func DecodeMember(b []byte) policy.MemberRecord {
	if len(b) != memberLen || b[0] != memberFormat {
		return policy.MemberRecord{}
	}
	return policy.MemberRecord{
		Strikes:      int64(b[1]),
		LastStrikeMS: readUint(b[2:8]),
		HeldUntilMS:  readUint(b[8:14]),
		MuteStartMS:  readUint(b[14:20]),
		MuteEndMS:    readUint(b[20:26]),
		Cause:        causeOf(b[26]),
		Step:         int64(b[27]),
	}
}

// appendUint appends n in width bytes, cut to what they hold.
func appendUint(b []byte, n int64, width int) []byte {
	n = min(max(n, 0), int64(1)<<(8*width)-1)
	for shift := 8 * (width - 1); shift >= 0; shift -= 8 {
		b = append(b, byte(n>>shift)) //nolint:gosec // one byte of n is meant
	}
	return b
}

func readUint(b []byte) int64 {
	var n int64
	for _, c := range b {
		n = n<<8 | int64(c)
	}
	return n
}

func penaltyByte(p policy.Penalty) byte {
	switch p {
	case policy.Review:
		return 'r'
	case policy.Remove:
		return 'x'
	case policy.Mute:
	}
	return 'm'
}

func penaltyOf(b byte) policy.Penalty {
	switch b {
	case 'r':
		return policy.Review
	case 'x':
		return policy.Remove
	}
	return policy.Mute
}

func causeByte(c policy.Cause) byte {
	switch c {
	case policy.CauseLadder:
		return 'l'
	case policy.CauseModerator:
		return 'm'
	case policy.CauseReview:
		return 'v'
	case policy.CauseRemove:
		return 'x'
	case policy.CauseLifted:
		return '-'
	case policy.CauseNone:
	}
	return '0'
}

func causeOf(b byte) policy.Cause {
	switch b {
	case 'l':
		return policy.CauseLadder
	case 'm':
		return policy.CauseModerator
	case 'v':
		return policy.CauseReview
	case 'x':
		return policy.CauseRemove
	case '-':
		return policy.CauseLifted
	}
	return policy.CauseNone
}
