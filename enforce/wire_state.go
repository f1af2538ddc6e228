package enforce

import (
	"encoding/binary"
	"slices"

	"github.com/pacekeeper/pacekeeper/policy"
)

// A packed state begins with a byte of flags, whose upper half is the shape of what it ends with.
const (
	stateHead   = 7  // flags 1, last 6
	stateBan    = 12 // ban_start 6, ban_end 6; present with flagBan
	stateWindow = 8  // of windows and buckets: at 6, count 2
	stateBucket = 6  // of each bucket of a counter: start 4, count 2

	flagBan     = 1
	flagRefused = 2 // the newest entry of the log may be a refused attempt
	shapeUnit   = 16
)

// EncodeState packs a state.
func EncodeState(s policy.ActionState) []byte {
	b := make([]byte, 0, stateHead+stateBan+stateWindow+4*len(s.Log)+stateBucket*len(s.Buckets))
	hasBan := s.BanStartMS != 0 || s.BanEndMS != 0
	flags := byte(s.Shape) * shapeUnit
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
	return appendCount(b, s)
}

// appendCount appends what the state's shape remembers.
func appendCount(b []byte, s policy.ActionState) []byte {
	switch s.Shape {
	case policy.ShapeLog:
		for _, t := range s.Log {
			b = binary.BigEndian.AppendUint32(b, t)
		}
	case policy.ShapeCounter:
		for _, bucket := range s.Buckets {
			b = appendUint(binary.BigEndian.AppendUint32(b, bucket.Start), bucket.Count, 2)
		}
	case policy.ShapeFirst, policy.ShapeCalendar, policy.ShapeBucket:
		b = appendUint(appendUint(b, s.AtMS, 6), s.Count, 2)
	}
	return b
}

// DecodeState reads a packed state; anything unparsable is the zero state.
func DecodeState(b []byte) policy.ActionState {
	if len(b) < stateHead {
		return policy.ActionState{}
	}
	s, rest := policy.ActionState{LastMS: readUint(b[1:7]), Shape: policy.Shape(b[0] / shapeUnit)}, b[stateHead:]
	switch flags := b[0] % shapeUnit; {
	case flags > flagBan|flagRefused, s.Shape != policy.ShapeLog && flags > flagBan:
		return policy.ActionState{}
	case flags&flagBan != 0 && len(rest) < stateBan:
		return policy.ActionState{}
	case flags&flagBan != 0:
		s.BanStartMS, s.BanEndMS = readUint(rest[:6]), readUint(rest[6:12])
		rest = rest[stateBan:]
	}
	s.Refused = b[0]%shapeUnit&flagRefused != 0
	if !readCount(&s, rest) {
		return policy.ActionState{}
	}
	return s
}

// readCount is appendCount backwards; false = the length does not belong to the shape.
func readCount(s *policy.ActionState, b []byte) bool {
	switch s.Shape {
	case policy.ShapeLog:
		for t := range slices.Chunk(b[:len(b)/4*4], 4) {
			s.Log = append(s.Log, binary.BigEndian.Uint32(t))
		}
		return len(b)%4 == 0
	case policy.ShapeCounter:
		for t := range slices.Chunk(b[:len(b)/stateBucket*stateBucket], stateBucket) {
			s.Buckets = append(s.Buckets, policy.Bucket{Start: binary.BigEndian.Uint32(t), Count: readUint(t[4:])})
		}
		return len(b)%stateBucket == 0
	case policy.ShapeFirst, policy.ShapeCalendar, policy.ShapeBucket:
		if len(b) == stateWindow {
			s.AtMS, s.Count = readUint(b[:6]), readUint(b[6:])
			return true
		}
	}
	return false
}
