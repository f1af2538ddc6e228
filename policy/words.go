package policy

import (
	"strconv"
	"strings"
)

// DurationText says a length in words that people read: 2 s, 1.5 s, 90 s, 1 min, 5 min 30 s, 1 h, 24 h, 7 days; in
// Chinese 2 秒, 1 分钟, 1 小时, 7 天. It is exact to the millisecond.
func DurationText(ms int64, lang string) string {
	u := englishUnits()
	if lang == Chinese {
		u = chineseUnits()
	}
	switch {
	case ms >= 2*day && ms%day == 0:
		return counted(ms/day, u.days)
	case ms >= hour && ms%hour == 0:
		return counted(ms/hour, u.hours)
	case ms >= minute && ms%minute == 0:
		return counted(ms/minute, u.minutes)
	case ms < 2*minute:
		return seconds(ms) + " " + u.seconds
	}
	var parts []string
	if h := ms / hour; h > 0 {
		parts = append(parts, counted(h, u.hours))
	}
	if m := ms % hour / minute; m > 0 {
		parts = append(parts, counted(m, u.minutes))
	}
	if s := ms % minute; s > 0 {
		parts = append(parts, seconds(s)+" "+u.seconds)
	}
	return strings.Join(parts, " ")
}

type units struct{ days, hours, minutes, seconds string }

func englishUnits() units { return units{"days", "h", "min", "s"} }

func chineseUnits() units { return units{"天", "小时", "分钟", "秒"} }

func counted(n int64, unit string) string { return strconv.FormatInt(n, 10) + " " + unit }

// seconds writes milliseconds as seconds, with as many digits behind the point as they need.
func seconds(ms int64) string {
	text := strconv.FormatInt(ms/second, 10)
	if rest := ms % second; rest > 0 {
		digits := strconv.FormatInt(second+rest, 10)[1:]
		text += "." + strings.TrimRight(digits, "0")
	}
	return text
}

// waitText is a wait as people see it: whole seconds, rounded up, at least one.
func waitText(ms int64, lang string) string {
	return DurationText(max(1, (ms+second-1)/second)*second, lang)
}
