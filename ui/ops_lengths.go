package ui

import (
	"strings"
)

// lengthOf reads a length as people write it and as policy.DurationText shows it: "90", "1.5 s", "5 min 30 s", "24 h",
// "7 days", "5 分钟 30 秒". A number without a unit is seconds. It is exact to the millisecond and above 0.
func lengthOf(text string) (ms int64, ok bool) {
	rest := strings.TrimSpace(text)
	for rest != "" {
		end := len(rest) - len(strings.TrimLeft(rest, "0123456789.,"))
		number := rest[:end]
		rest = strings.TrimSpace(rest[end:])
		end = strings.IndexAny(rest, "0123456789 ")
		if end < 0 {
			end = len(rest)
		}
		factor, known := lengthUnits()[strings.ToLower(rest[:end])]
		thousandths, read := milliseconds(number)
		if !known || !read || thousandths*factor%1000 != 0 {
			return 0, false
		}
		ms += thousandths * factor / 1000
		rest = strings.TrimSpace(rest[end:])
	}
	return ms, ms > 0
}

// lengthUnits are the units that lengths are typed in, in milliseconds.
func lengthUnits() map[string]int64 {
	const second, minute, hour, day = 1000, 60_000, 3_600_000, 86_400_000
	return map[string]int64{
		"": second, "s": second, "sec": second, "秒": second, "ms": 1, "毫秒": 1,
		"min": minute, "m": minute, "分钟": minute, "分": minute, "h": hour, "小时": hour,
		"d": day, "day": day, "days": day, "天": day,
	}
}
