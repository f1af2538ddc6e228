package policy

import (
	"strconv"
	"strings"
)

// The languages and keys of notices.
const (
	English       = "en"
	Chinese       = "zh"
	NoticeTooSoon = "too_soon" // the minimum interval refused
	NoticeTooMany = "too_many" // the window refused
)

// placeholder is the placeholder that text starts with, or "".
func placeholder(text string) string {
	for _, p := range [...]string{"{wait}", "{limit}", "{period}"} {
		if strings.HasPrefix(text, p) {
			return p
		}
	}
	return ""
}

// Notice is what the member is told of a decision: one line in the language (en or zh; others get en), or "" where the
// attempt passes without a word. Texts are the effective notices of the group; a key that is missing or empty has the
// system's text. Waits are whole seconds, rounded up, never 0.
func Notice(lang string, texts map[string]map[string]string, d Decision, p Compiled) string {
	if lang != Chinese {
		lang = English
	}
	text := texts[lang][noticeKey(d.Code)]
	if d.Code == RefusedLimit && p.Group.Limit > 0 && d.Limit == p.Group.Limit && d.Limit != p.Limit {
		text = systemGroupFull(lang) // the group's own text speaks of the member's limit
	}
	if text == "" && d.Code == RefusedLimit {
		text = systemTooMany(lang, p)
	}
	if text == "" {
		text = systemNotice(lang, d.Code, p.Action == "message")
	}
	if !strings.Contains(text, "{") {
		return text
	}
	return strings.NewReplacer(
		"{wait}", waitText(d.WaitMS, lang),
		"{limit}", strconv.FormatInt(p.Limit, 10),
		"{period}", DurationText(p.fullMS(), lang),
	).Replace(text)
}

// fullMS is the time in which the limit's number of attempts come back: the period, or what a whole bucket takes.
func (p Compiled) fullMS() int64 {
	if p.shape() == ShapeBucket {
		return p.Limit * p.PeriodMS
	}
	return p.PeriodMS
}

// noticeKey is the key of the text that groups write for a code, or "".
func noticeKey(code DecisionCode) string {
	if code == RefusedInterval {
		return NoticeTooSoon
	}
	if code == RefusedLimit {
		return NoticeTooMany
	}
	return ""
}

// systemNotice is the text of a code where the group has none of its own.
func systemNotice(lang string, code DecisionCode, message bool) string {
	english, chinese := "", ""
	switch code {
	case Allowed, AllowedExempt, Delay, AllowedDegraded: // pass without a word
	case RefusedInterval, AllowedWarned:
		english = "You’re going too fast. Please wait {wait} before the next try."
		chinese = "您的操作太快了，请等待 {wait}后再试。"
		if message {
			english = "You’re writing quickly. Please wait {wait} before the next message."
			chinese = "您发言太快了，请等待 {wait}后再发。"
		}
	case RefusedLimit: // systemTooMany
	case RefusedMuted:
		english = "You’re muted in this group. You can write again in {wait}."
		chinese = "您在本群已被禁言，{wait}后可以再发言。"
	case RefusedBanned:
		english = "You’ve reached the limit. You can do this again in {wait}."
		chinese = "您已达到上限，{wait}后可以再试。"
	case RefusedRemoved:
		english = "You can’t take part in this group at the moment."
		chinese = "您目前不能参与本群。"
	case RefusedReview:
		english = "You can’t write here until a moderator has decided."
		chinese = "您的发言需等待管理员审核。"
	case RefusedDegraded:
		english = "This isn’t possible right now. Please try again in a moment."
		chinese = "暂时无法处理，请稍后再试。"
	}
	if lang == Chinese {
		return chinese
	}
	return english
}

// systemTooMany is the text of a full window or bucket where the group has none of its own.
func systemTooMany(lang string, p Compiled) string {
	message, calendar, bucket := p.Action == "message", p.Align == AlignCalendar, p.shape() == ShapeBucket
	if lang == Chinese {
		switch unit := unitText(p.PeriodMS, lang); {
		case bucket && message:
			return "您发得太密了，请等待 {wait}后再发。"
		case bucket:
			return "您的操作太密了，请等待 {wait}后再试。"
		case calendar && message:
			return unit + "最多发 {limit} 条消息，请等待 {wait}后再发。"
		case calendar:
			return unit + "最多 {limit} 次，请等待 {wait}后再试。"
		case message:
			return "{period}内最多发 {limit} 条消息，请等待 {wait}后再发。"
		}
		return "{period}内最多 {limit} 次，请等待 {wait}后再试。"
	}
	what, next := "At most {limit}", "try"
	if message {
		what, next = "At most {limit} messages", "message"
	}
	switch {
	case bucket:
		what += " at once"
	case calendar:
		what += " each " + unitText(p.PeriodMS, lang)
	default:
		what += " in {period}"
	}
	return what + " here. Please wait {wait} before the next " + next + "."
}

// systemGroupFull is the text where the limit of the whole group refuses.
func systemGroupFull(lang string) string {
	if lang == Chinese {
		return "本群现在太热闹了，请等待 {wait}后再试。"
	}
	return "This group is very busy right now. Please wait {wait} before the next try."
}
