package enforce

import (
	"encoding/binary"
	"slices"

	"github.com/pacekeeper/pacekeeper/policy"
)

// The packed forms are what check.lua reads and writes, byte by byte; numbers are big-endian and unsigned. Whatever
// cannot be parsed counts as missing.
const (
	programFormat = 1
	programHead   = 25 // format 1, flags 1, interval 4, limit 2, period 4, version 5, ban 4, forgive 4
	programStep   = 6  // after 1, do 1, for 4
	memberFormat  = 1
	memberLen     = 28 // format 1, strikes 1, last_strike 6, held_until 6, mute_start 6, mute_end 6, cause 1, step 1
	stateHead     = 7  // flags 1, last 6
	stateBan      = 12 // ban_start 6, ban_end 6; present with flagBan

	flagBan     = 1
	flagRefused = 2 // the newest entry of the log may be a refused attempt

	flagEnabled      = 1
	flagSoft         = 2
	flagCountRefused = 4
	flagSpeech       = 8
)

// EncodeProgram packs a compiled policy as the scripts run it: 25 + 6n bytes for n steps of the ladder. Numbers beyond
// what a field holds are cut to its largest; steps beyond policy.MaxSteps are left out.
func EncodeProgram(c policy.Compiled) []byte {
	b := make([]byte, 0, programHead+programStep*policy.MaxSteps)
	b = append(b, programFormat, programFlags(c))
	b = appendUint(b, c.MinIntervalMS, 4)
	b = appendUint(b, c.Limit, 2)
	b = appendUint(b, c.PeriodMS, 4)
	b = appendUint(b, c.Version, 5)
	b = appendUint(b, c.BanForMS, 4)
	b = appendUint(b, c.ForgiveOneEveryMS, 4)
	for _, s := range c.Ladder[:min(len(c.Ladder), policy.MaxSteps)] {
		b = appendUint(b, s.After, 1)
		b = append(b, penaltyByte(s.Do))
		b = appendUint(b, s.ForMS, 4)
	}
	return b
}

func programFlags(c policy.Compiled) byte {
	var flags byte
	for flag, on := range map[byte]bool{
		flagEnabled: c.Enabled, flagSoft: c.Mode == policy.Soft, flagCountRefused: c.CountRefused, flagSpeech: c.Speech,
	} {
		if on {
			flags |= flag
		}
	}
	return flags
}

// DecodeProgram reads what EncodeProgram packed; false = damaged. Action, Order, OnFailure and ExemptRoles are not part
// of it.
func DecodeProgram(b []byte) (policy.Compiled, bool) {
	steps := len(b) - programHead
	if steps < 0 || steps%programStep != 0 || steps > programStep*policy.MaxSteps || b[0] != programFormat {
		return policy.Compiled{}, false
	}
	c := policy.Compiled{
		Enabled:           b[1]&flagEnabled != 0,
		Speech:            b[1]&flagSpeech != 0,
		Mode:              policy.Hard,
		CountRefused:      b[1]&flagCountRefused != 0,
		MinIntervalMS:     readUint(b[2:6]),
		Limit:             readUint(b[6:8]),
		PeriodMS:          readUint(b[8:12]),
		Version:           readUint(b[12:17]),
		BanForMS:          readUint(b[17:21]),
		ForgiveOneEveryMS: readUint(b[21:25]),
	}
	if b[1]&flagSoft != 0 {
		c.Mode = policy.Soft
	}
	for s := range slices.Chunk(b[programHead:], programStep) {
		c.Ladder = append(c.Ladder, policy.Step{After: int64(s[0]), Do: penaltyOf(s[1]), ForMS: readUint(s[2:6])})
	}
	return c, true
}

// EncodeState packs a state.
func EncodeState(s policy.ActionState) []byte {
	b := make([]byte, 0, stateHead+stateBan+4*len(s.Log))
	hasBan := s.BanStartMS != 0 || s.BanEndMS != 0
	var flags byte
	if hasBan {
		flags |= flagBan
	}
	if s.Refused {
		flags |= flagRefused
	}
	b = appendUint(append(b, flags), s.LastMS, 6)
	if hasBan {
		b = appendUint(b, s.BanStartMS, 6)
		b = appendUint(b, s.BanEndMS, 6)
	}
	for _, t := range s.Log {
		b = binary.BigEndian.AppendUint32(b, t)
	}
	return b
}

// DecodeState reads a packed state; anything unparsable is the zero state.
func DecodeState(b []byte) policy.ActionState {
	if len(b) < stateHead || b[0] > flagBan|flagRefused {
		return policy.ActionState{}
	}
	s, rest := policy.ActionState{LastMS: readUint(b[1:7]), Refused: b[0]&flagRefused != 0}, b[stateHead:]
	if b[0]&flagBan != 0 {
		if len(rest) < stateBan {
			return policy.ActionState{}
		}
		s.BanStartMS, s.BanEndMS = readUint(rest[:6]), readUint(rest[6:12])
		rest = rest[stateBan:]
	}
	if len(rest)%4 != 0 {
		return policy.ActionState{}
	}
	for t := range slices.Chunk(rest, 4) {
		s.Log = append(s.Log, binary.BigEndian.Uint32(t))
	}
	return s
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
