package policy

// spanText says over what a window counts, as it stands behind "at most 8 messages": in 30 s, each day, at once, and one
// more every 4 s. In Chinese it stands before, and moreText behind.
func spanText(w Window, lang string) string {
	if lang == Chinese {
		return chineseSpan(w)
	}
	pace := DurationText(w.PaceMS(), lang)
	switch w.Algorithm {
	case FixedWindow:
		if w.Align == AlignCalendar {
			return "each " + unitText(w.PeriodMS, lang)
		}
		return "in the " + pace + " from the first on"
	case SlidingCounter:
		return "in about " + pace
	case TokenBucket:
		return "at once, and one more every " + pace
	case LeakyBucket:
		if w.Queue {
			return "at once; they go out one every " + pace
		}
		return "at once, and one more every " + pace
	case SlidingWindow:
	}
	return "in " + pace
}

func chineseSpan(w Window) string {
	pace := DurationText(w.PaceMS(), Chinese)
	switch w.Algorithm {
	case FixedWindow:
		if w.Align == AlignCalendar {
			return unitText(w.PeriodMS, Chinese)
		}
		return "从第一次起的 " + pace + "内"
	case SlidingCounter:
		return "任意约 " + pace + "内"
	case TokenBucket, LeakyBucket:
		return "短时间内"
	case SlidingWindow:
	}
	return "任意 " + pace + "内"
}

// moreText is what a Chinese sentence says behind the number; "" in English and where there is nothing more.
func moreText(w Window, lang string) string {
	switch pace := DurationText(w.PaceMS(), Chinese); {
	case lang != Chinese, w.Algorithm != TokenBucket && w.Algorithm != LeakyBucket:
		return ""
	case w.Queue:
		return "，并排队每 " + pace + "放行一次"
	default:
		return "，之后每 " + pace + "恢复一次"
	}
}

// unitText names a unit of the calendar, for "each …".
func unitText(unitMS int64, lang string) string {
	english, chinese := "minute", "每分钟"
	switch unitMS {
	case hour:
		english, chinese = "hour", "每小时"
	case day:
		english, chinese = "day", "每天"
	}
	if lang == Chinese {
		return chinese
	}
	return english
}

// banText says for how long a ban holds, as it stands behind "can’t like" and, in Chinese, before it.
func banText(b Ban, lang string) string {
	switch length := DurationText(b.ForMS, lang); {
	case b.EndOfDay && lang == Chinese:
		return "当天"
	case b.EndOfDay:
		return "for the rest of the day"
	case lang == Chinese:
		return " " + length + "内"
	default:
		return "for " + length
	}
}
