package policy

import (
	"sync"
	"time"
)

// zones keeps the time zones that were looked up. Safe for concurrent use; the zero zones are empty.
type zones struct{ byName sync.Map }

// offsets are those of a zone at a moment; UTC for a zone that is not in the zone database.
func (z *zones) offsets(name string, nowMS int64) Offsets {
	location, known := z.byName.Load(name)
	if !known {
		loaded, err := time.LoadLocation(name)
		if err != nil {
			loaded = time.UTC
		}
		location, _ = z.byName.LoadOrStore(name, loaded)
	}
	return offsetsAt(time.UnixMilli(nowMS).In(location.(*time.Location)))
}

// offsetsAt looks for the next change of a zone's offset; changes of its name alone are none.
func offsetsAt(now time.Time) Offsets {
	offset := offsetMS(now)
	for _, next := now.ZoneBounds(); !next.IsZero(); _, next = next.ZoneBounds() {
		if after := offsetMS(next); after != offset {
			return Offsets{offset, next.UnixMilli(), after}
		}
	}
	return Offsets{UTCOffsetMS: offset}
}

func offsetMS(t time.Time) int64 {
	_, seconds := t.Zone()
	return int64(seconds) * second
}

// At is a compiled policy with the offsets of its time zone at a moment (ms since the epoch) and after. The offsets hold
// past their next change, so there are weeks to compile anew before the one after that.
func (s *System) At(c Compiled, nowMS int64) Compiled {
	if c.TimeZone != "" {
		c.Offsets = s.zones.offsets(c.TimeZone, nowMS)
	}
	return c
}

// maxOffsetMS is more than any zone is away from UTC.
const maxOffsetMS = day

// repaired is UTC where the offsets are none that a zone can have.
func (o Offsets) repaired() Offsets {
	if max(o.UTCOffsetMS, -o.UTCOffsetMS) > maxOffsetMS {
		return Offsets{}
	}
	if max(o.NextOffsetMS, -o.NextOffsetMS) > maxOffsetMS || o.NextOffsetAtMS < 0 || o.NextOffsetAtMS > MaxMomentMS {
		return Offsets{UTCOffsetMS: o.UTCOffsetMS}
	}
	return o
}

// unitEnd is when the calendar's minute, hour or day that holds a moment ends. A day ends at local midnight, whatever the
// zone does in it: 23 and 25 hours are days too, and one whose midnight is skipped ends where the clock jumps over it.
func (o Offsets) unitEnd(nowMS, unitMS int64) int64 {
	offset := o.UTCOffsetMS
	changes := o.NextOffsetAtMS > nowMS
	if o.NextOffsetAtMS > 0 && !changes {
		offset = o.NextOffsetMS
	}
	into := (nowMS + offset) % unitMS
	if into < 0 {
		into += unitMS
	}
	end := nowMS + unitMS - into
	if unitMS == day && changes && end >= o.NextOffsetAtMS {
		end = max(end+offset-o.NextOffsetMS, o.NextOffsetAtMS)
	}
	return end
}
