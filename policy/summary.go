package policy

import (
	"strconv"
	"strings"
)

// Summary says in one sentence how fast members may do an action under an effective policy, in English or Chinese
// (other languages get English), and in a second one what all members together may do, where that has a limit. It says
// what is in force, not what was requested.
func Summary(e Effective, action, lang string) string {
	say, phrases := englishSentences(), englishPhrases(action)
	if lang == Chinese {
		say, phrases = chineseSentences(), chinesePhrases(action)
	}
	a := e.Actions[action]
	values := []string{"{action}", action, "{interval}", DurationText(a.MinIntervalMS, lang)}
	many := phrases.many
	if w := a.Window; w != nil {
		if w.Most() == 1 {
			many = phrases.one
		}
		values = append(values, "{limit}", strconv.FormatInt(w.Most(), 10), "{span}", spanText(*w, lang), "{more}", moreText(*w, lang))
	}
	if a.Ban != nil {
		values = append(values, "{ban}", banText(*a.Ban, lang))
	}
	sentence := strings.NewReplacer("{once}", phrases.once, "{many}", many, "{doing}", phrases.doing, "{unit}", phrases.unit).
		Replace(say.of(a))
	return strings.NewReplacer(values...).Replace(sentence) + say.together(a, phrases.unit, lang)
}

// together is the sentence of the limit of the whole group; "" where there is none.
func (s sentences) together(a Action, unit, lang string) string {
	if !a.Enabled || a.Group == nil {
		return ""
	}
	sentence := s.group
	if a.Mode == Soft {
		sentence = s.groupSoft
	}
	return strings.NewReplacer(
		"{limit}", strconv.FormatInt(a.Group.Most(), 10), "{span}", spanText(*a.Group, lang),
		"{more}", moreText(*a.Group, lang), "{unit}", unit,
	).Replace(sentence)
}

// sentences are the whole sentences of one language, one for each combination of limits.
type sentences struct {
	both, interval, window             string // refusing
	bothBan, windowBan                 string // and a ban behind the window
	bothSoft, intervalSoft, windowSoft string // warning only
	none, off                          string
	group, groupSoft                   string // of the whole group, behind any of the others
}

func (s sentences) of(a Action) string {
	interval, window, soft, ban := a.MinIntervalMS > 0, a.Window != nil, a.Mode == Soft, a.Ban != nil
	switch {
	case !a.Enabled:
		return s.off
	case !interval && !window:
		return s.none
	case soft:
		return pick(interval, window, s.bothSoft, s.intervalSoft, s.windowSoft)
	case ban:
		return pick(interval, window, s.bothBan, s.interval, s.windowBan)
	}
	return pick(interval, window, s.both, s.interval, s.window)
}

func pick(hasInterval, hasWindow bool, both, interval, window string) string {
	switch {
	case hasInterval && hasWindow:
		return both
	case hasInterval:
		return interval
	}
	return window
}

func englishSentences() sentences {
	return sentences{
		both:         "Members may {once} every {interval}, and at most {limit} {span}.",
		interval:     "Members may {once} every {interval}.",
		window:       "Members may {many} {span}.",
		bothBan:      "Members may {once} every {interval}, and at most {limit} {span}; who tries more can’t {doing} {ban}.",
		windowBan:    "Members may {many} {span}; who tries more can’t {doing} {ban}.",
		bothSoft:     "Members are asked to {once} every {interval} at most, and no more than {limit} {span}; nothing is refused.",
		intervalSoft: "Members are asked to {once} every {interval} at most; nothing is refused.",
		windowSoft:   "Members are asked to {many} {span}; nothing is refused.",
		none:         "Members may {doing} as fast as they like.",
		off:          "Members may {doing} as fast as they like, because this limit is switched off.",
		group:        " All members together: at most {limit} {span}.",
		groupSoft:    " All members together are asked for at most {limit} {span}; nothing is refused.",
	}
}

func chineseSentences() sentences {
	return sentences{
		both:         "成员每 {interval}可{once}，{span}最多 {limit} {unit}{more}。",
		interval:     "成员每 {interval}可{once}。",
		window:       "成员在{span}最多可{many}{more}。",
		bothBan:      "成员每 {interval}可{once}，{span}最多 {limit} {unit}{more}；超出后{ban}不能{doing}。",
		windowBan:    "成员在{span}最多可{many}{more}；超出后{ban}不能{doing}。",
		bothSoft:     "建议成员每 {interval}{once}，{span}不超过 {limit} {unit}{more}；超出时只提醒，不拦截。",
		intervalSoft: "建议成员每 {interval}{once}；超出时只提醒，不拦截。",
		windowSoft:   "建议成员在{span}最多{many}{more}；超出时只提醒，不拦截。",
		none:         "成员可以{doing}，不限速度。",
		off:          "成员可以{doing}，不限速度，因为此限制已关闭。",
		group:        "全群合计{span}最多 {limit} {unit}{more}。",
		groupSoft:    "建议全群合计{span}不超过 {limit} {unit}{more}；超出时只提醒，不拦截。",
	}
}
