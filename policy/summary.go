package policy

import (
	"strconv"
	"strings"
)

// Summary says in one sentence how fast members may do an action under an effective policy, in English or Chinese
// (other languages get English). It says what is in force, not what was requested.
func Summary(e Effective, action, lang string) string {
	say, phrases := englishSentences(), englishPhrases(action)
	if lang == Chinese {
		say, phrases = chineseSentences(), chinesePhrases(action)
	}
	a := e.Actions[action]
	values := []string{"{action}", action, "{interval}", DurationText(a.MinIntervalMS, lang)}
	many := phrases.many
	if a.Window != nil {
		if a.Window.Limit == 1 {
			many = phrases.one
		}
		values = append(values, "{limit}", strconv.FormatInt(a.Window.Limit, 10), "{period}", DurationText(a.Window.PeriodMS, lang))
	}
	if a.Ban != nil {
		values = append(values, "{ban}", DurationText(a.Ban.ForMS, lang))
	}
	sentence := strings.NewReplacer("{once}", phrases.once, "{many}", many, "{doing}", phrases.doing, "{unit}", phrases.unit).
		Replace(say.of(a))
	return strings.NewReplacer(values...).Replace(sentence)
}

// sentences are the whole sentences of one language, one for each combination of limits.
type sentences struct {
	both, interval, window             string // refusing
	bothBan, windowBan                 string // and a ban behind the window
	bothSoft, intervalSoft, windowSoft string // warning only
	none, off                          string
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
		both:         "Members may {once} every {interval}, and at most {limit} in {period}.",
		interval:     "Members may {once} every {interval}.",
		window:       "Members may {many} in {period}.",
		bothBan:      "Members may {once} every {interval}, and at most {limit} in {period}; who tries more can’t {doing} for {ban}.",
		windowBan:    "Members may {many} in {period}; who tries more can’t {doing} for {ban}.",
		bothSoft:     "Members are asked to {once} every {interval} at most, and no more than {limit} in {period}; nothing is refused.",
		intervalSoft: "Members are asked to {once} every {interval} at most; nothing is refused.",
		windowSoft:   "Members are asked to {many} in {period}; nothing is refused.",
		none:         "Members may {doing} as fast as they like.",
		off:          "Members may {doing} as fast as they like, because this limit is switched off.",
	}
}

func chineseSentences() sentences {
	return sentences{
		both:         "成员每 {interval}可{once}，任意 {period}内最多 {limit} {unit}。",
		interval:     "成员每 {interval}可{once}。",
		window:       "成员在任意 {period}内最多可{many}。",
		bothBan:      "成员每 {interval}可{once}，任意 {period}内最多 {limit} {unit}；超出后 {ban}内不能{doing}。",
		windowBan:    "成员在任意 {period}内最多可{many}；超出后 {ban}内不能{doing}。",
		bothSoft:     "建议成员每 {interval}{once}，任意 {period}内不超过 {limit} {unit}；超出时只提醒，不拦截。",
		intervalSoft: "建议成员每 {interval}{once}；超出时只提醒，不拦截。",
		windowSoft:   "建议成员在任意 {period}内最多{many}；超出时只提醒，不拦截。",
		none:         "成员可以{doing}，不限速度。",
		off:          "成员可以{doing}，不限速度，因为此限制已关闭。",
	}
}

// phrases are what an action is called inside the sentences: doing it once, at most many times, at most one time, and
// at all; unit counts it in Chinese.
type phrases struct{ once, many, one, doing, unit string }

func englishPhrases(action string) phrases {
	switch action {
	case "message":
		return phrases{"send one message", "send at most {limit} messages", "send at most one message", "send messages", ""}
	case "comment":
		return phrases{"post one comment", "post at most {limit} comments", "post at most one comment", "comment", ""}
	case "like":
		return phrases{"like once", "like at most {limit} times", "like at most once", "like", ""}
	case "upload":
		return phrases{"upload one file", "upload at most {limit} files", "upload at most one file", "upload files", ""}
	case "sms":
		return phrases{"ask for one SMS code", "ask for at most {limit} SMS codes", "ask for at most one SMS code", "ask for SMS codes", ""}
	case "login":
		return phrases{"try to sign in once", "try to sign in at most {limit} times", "try to sign in at most once", "sign in", ""}
	case "coupon":
		return phrases{"claim one coupon", "claim at most {limit} coupons", "claim at most one coupon", "claim coupons", ""}
	}
	return phrases{"use “{action}” once", "use “{action}” at most {limit} times", "use “{action}” at most once", "use “{action}”", ""}
}

func chinesePhrases(action string) phrases {
	switch action {
	case "message":
		return phrases{"发 1 条消息", "发 {limit} 条消息", "发 1 条消息", "发消息", "条"}
	case "comment":
		return phrases{"发 1 条评论", "发 {limit} 条评论", "发 1 条评论", "发评论", "条"}
	case "like":
		return phrases{"点赞 1 次", "点赞 {limit} 次", "点赞 1 次", "点赞", "次"}
	case "upload":
		return phrases{"上传 1 个文件", "上传 {limit} 个文件", "上传 1 个文件", "上传文件", "个"}
	case "sms":
		return phrases{"获取 1 次短信验证码", "获取 {limit} 次短信验证码", "获取 1 次短信验证码", "获取短信验证码", "次"}
	case "login":
		return phrases{"尝试登录 1 次", "尝试登录 {limit} 次", "尝试登录 1 次", "登录", "次"}
	case "coupon":
		return phrases{"领取 1 张优惠券", "领取 {limit} 张优惠券", "领取 1 张优惠券", "领取优惠券", "张"}
	}
	return phrases{"使用“{action}” 1 次", "使用“{action}” {limit} 次", "使用“{action}” 1 次", "使用“{action}”", "次"}
}
