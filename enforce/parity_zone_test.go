package enforce_test

import (
	"math/rand/v2"
	"regexp"
	"strconv"

	"github.com/pacekeeper/pacekeeper/policy"
)

func zoneFields() [3]string { return [3]string{"utc_offset_ms", "next_offset_at", "next_offset_ms"} }

// randomZone are offsets as a hash holds them, now and then broken; the next change lies near a local midnight, the same
// one or another, so that days of all lengths come up.
func randomZone(r *rand.Rand, now int64) (zone [3]string) {
	const hour = int64(3_600_000)
	offset := pick(r, 0, 8*hour, -5*hour, 11*hour/2, 14*hour, -12*hour)
	shift := pick(r, hour, -hour, hour/2, -hour/2, 24*hour, -24*hour)
	midnight := now - (now+offset)%(24*hour) + pick[int64](r, 0, 24, 24, 48)*hour
	at := midnight + pick(r, 0, 0, hour, 2*hour, -hour, -1, 1, 90_000)
	for i, n := range []int64{offset, at, offset + shift} {
		zone[i] = pick(r, strconv.FormatInt(n, 10), strconv.FormatInt(n, 10), strconv.FormatInt(n, 10), strconv.FormatInt(n, 10),
			pick(r, "", "abc", "1e3", "-", "0", "123456789012345", "-86400001", "86400001", " 5", "5.5", "0x10"))
	}
	return zone
}

// offsetsOf reads the fields as the script must: what is no number is none, and without all of a change there is none.
func offsetsOf(zone [3]string) (o policy.Offsets) {
	whole := regexp.MustCompile(`^-?[0-9]+$`)
	n, ok := [3]int64{}, [3]bool{}
	for i, text := range zone {
		if len(text) <= 14 && whole.MatchString(text) {
			n[i], _ = strconv.ParseInt(text, 10, 64)
			ok[i] = true
		}
	}
	o.UTCOffsetMS = n[0]
	if ok[1] && ok[2] {
		o.NextOffsetAtMS, o.NextOffsetMS = n[1], n[2]
	}
	return o
}

// countBounds are moments at which what a window or bucket counts changes.
func (l *lane) countBounds(p policy.Compiled, st policy.ActionState) (bounds []int64) {
	r, offsets := l.r, p.Offsets
	switch st.Shape {
	case policy.ShapeLog:
		if n := len(st.Log); n > 0 {
			bounds = append(bounds, l.now-int64(uint32(l.now)-st.Log[r.IntN(n)])+p.PeriodMS)
		}
	case policy.ShapeFirst:
		bounds = append(bounds, st.AtMS+p.PeriodMS)
	case policy.ShapeCalendar:
		bounds = append(bounds, st.AtMS)
	case policy.ShapeBucket:
		bounds = append(bounds, st.AtMS+p.PeriodMS*(1+r.Int64N(4)), st.AtMS+p.PeriodMS*st.Count)
	case policy.ShapeCounter:
		if n := len(st.Buckets); n > 0 {
			width := (p.PeriodMS + p.Buckets - 1) / max(p.Buckets, 1)
			at := l.now - int64(uint32(l.now)-st.Buckets[r.IntN(n)].Start)
			bounds = append(bounds, at+width, at+p.PeriodMS, at+p.PeriodMS+width)
		}
	}
	if p.Align == policy.AlignCalendar || p.BanToEndOfDay {
		day := int64(86_400_000)
		bounds = append(bounds, offsets.NextOffsetAtMS, l.now-(l.now+offsets.UTCOffsetMS)%day+day,
			l.now-(l.now+offsets.NextOffsetMS)%day+day)
	}
	return bounds
}

// groupOf is the limit of the whole group as a policy.
func groupOf(p policy.Compiled) policy.Compiled {
	return policy.Compiled{
		Enabled: true, Algorithm: p.Group.Algorithm, Align: p.Group.Align, Limit: p.Group.Limit, PeriodMS: p.Group.PeriodMS,
		Buckets: p.Group.Buckets, Offsets: p.Offsets,
	}
}
