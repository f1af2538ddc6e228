package policy

import (
	"strconv"
	"strings"
)

// Story says in plain sentences what holds for an action under an effective policy: how fast members may do it, what
// happens to whoever is too fast, and who is not limited. named is how many named members are exempt. Languages as for
// Summary.
func (s *System) Story(e Effective, action string, named int64, lang string) string {
	sentences := []string{Summary(e, action, lang)}
	a := e.Actions[action]
	held := a.Enabled && (a.MinIntervalMS > 0 || a.Window != nil)
	limited := held || a.Enabled && a.Group != nil
	if held && a.Mode != Soft && s.speech[action] {
		sentences = append(sentences, penaltiesText(e, lang)...)
	}
	if limited {
		sentences = append(sentences, exemptText(e.ExemptRoles, named, lang))
	}
	if lang == Chinese {
		return strings.Join(sentences, "")
	}
	return strings.Join(sentences, " ")
}

func penaltiesText(e Effective, lang string) []string {
	if lang == Chinese {
		return chinesePenalties(e)
	}
	all := []string{"The first time someone is too fast, they see how long to wait."}
	if len(e.Ladder) == 0 {
		return append(all, "Nobody is muted for it.")
	}
	muted := false
	steps := make([]string, 0, len(e.Ladder))
	for _, step := range e.Ladder {
		steps = append(steps, englishStep(step, muted))
		muted = muted || step.Do == Mute
	}
	steps[0] = "A" + strings.TrimPrefix(steps[0], "a")
	return append(all, strings.Join(steps, "; ")+".", "One time is forgiven after each "+DurationText(e.ForgiveOneEveryMS, English)+".")
}

func englishStep(s Step, mutedBefore bool) string {
	after := "after " + strconv.FormatInt(s.After, 10)
	switch {
	case s.Do == Review:
		return after + ", their case goes to you for review"
	case s.Do == Remove:
		return after + ", they’re removed from the group"
	case mutedBefore:
		return after + ", for " + DurationText(s.ForMS, English)
	}
	return after + " times, they’re muted for " + DurationText(s.ForMS, English)
}

func chinesePenalties(e Effective) []string {
	all := []string{"第一次过快时，会提示需要等待多久。"}
	if len(e.Ladder) == 0 {
		return append(all, "不会因此禁言。")
	}
	steps := make([]string, 0, len(e.Ladder))
	for _, step := range e.Ladder {
		what := "禁言 " + DurationText(step.ForMS, Chinese)
		switch step.Do {
		case Review:
			what = "转人工审核"
		case Remove:
			what = "移出群组"
		case Mute:
		}
		steps = append(steps, "累计 "+strconv.FormatInt(step.After, 10)+" 次后"+what)
	}
	return append(all, strings.Join(steps, "；")+"。", "每过 "+DurationText(e.ForgiveOneEveryMS, Chinese)+"减去一次。")
}

// exemptText names the exempt roles, of which owner is always one.
func exemptText(roles []string, named int64, lang string) string {
	names := make([]string, 0, len(roles))
	for _, known := range [...]string{RoleOwner, RoleAdmin, RoleBot, RoleVIP, RoleMember} {
		for _, role := range roles {
			if role == known {
				names = append(names, RoleText(role, lang))
			}
		}
	}
	for _, role := range roles {
		if RoleText(role, lang) == role {
			names = append(names, role)
		}
	}
	count := strconv.FormatInt(named, 10)
	if lang == Chinese {
		text := strings.Join(names, "、")
		if named > 0 {
			text += "以及 " + count + " 位指定成员"
		}
		return text + "不受限制。"
	}
	last, text := len(names)-1, names[0]
	if last > 0 {
		text = strings.Join(names[:last], ", ") + " and " + names[last]
	}
	text = strings.ToUpper(text[:1]) + text[1:] + " are not limited"
	switch {
	case named == 1:
		text += ", nor is 1 named member"
	case named > 1:
		text += ", nor are " + count + " named members"
	}
	return text + "."
}

// RoleText is what the members of a role are called; an operator's own role is called by its name.
func RoleText(role, lang string) string {
	names := map[string][2]string{
		RoleOwner: {"owners", "群主"}, RoleAdmin: {"admins", "管理员"}, RoleBot: {"bots", "机器人"},
		RoleVIP: {"VIP members", "VIP 成员"}, RoleMember: {"ordinary members", "普通成员"},
	}[role]
	switch {
	case names[0] == "":
		return role
	case lang == Chinese:
		return names[1]
	}
	return names[0]
}

// Range is what bounds allow of a number of an action's document, by its key (limit, period_ms, capacity, refill_ms …).
func (b Bounds) Range(action, key string) Range { return b.of(action, key, false) }

// SystemNotice is the text of a notice (NoticeTooSoon, NoticeTooMany) where nobody has written one, its placeholders not
// filled in: what a field for an own text shows while it is empty.
func SystemNotice(lang, key string) string {
	code := RefusedInterval
	if key == NoticeTooMany {
		code = RefusedLimit
	}
	return systemNotice(lang, code, true)
}
