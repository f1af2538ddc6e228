package policy

import "maps"

// settingWords is the catalogue: pointer without its first slash, an action's name as *, → words.
func settingWords() map[string]settingWord {
	all := documentWords()
	maps.Copy(all, boundsWords())
	maps.Copy(all, recordWords())
	return all
}

func documentWords() map[string]settingWord {
	words := map[string]settingWord{
		"time_zone":                      {"Time zone", "时区", wording.plain, true},
		"exempt_roles":                   {"Exempt roles", "豁免角色", wording.list, true},
		"penalties/ladder":               {"Ladder", "处罚阶梯", wording.ladder, true},
		"penalties/forgive_one_every_ms": {"One time too fast is forgiven every", "每隔多久减免一次", wording.duration, true},
		"notices/en/too_soon":            {"Notice in English, too soon", "英文提示，发言过快", wording.quoted, true},
		"notices/en/too_many":            {"Notice in English, too many", "英文提示，次数过多", wording.quoted, true},
		"notices/zh/too_soon":            {"Notice in Chinese, too soon", "中文提示，发言过快", wording.quoted, true},
		"notices/zh/too_many":            {"Notice in Chinese, too many", "中文提示，次数过多", wording.quoted, true},
		"actions/*":                      {"{action}", "{action}", wording.plain, true},
		"actions/*/enabled":              {"{action}, limits", "{action}，限制", wording.onOff, true},
		"actions/*/mode":                 {"{action}, who is too fast", "{action}，超限时", wording.mode, true},
		"actions/*/min_interval_ms":      {"{action}, shortest gap", "{action}，最短间隔", wording.duration, true},
		"actions/*/ban":                  {"{action}, ban after the limit", "{action}，超限后禁止", wording.ban, true},
		"actions/*/ban/for_ms":           {"{action}, ban after the limit", "{action}，超限后禁止", wording.duration, true},
		"actions/*/ban/until":            {"{action}, ban after the limit until", "{action}，超限后禁止至", wording.plain, true},
		"actions/*/on_failure":           {"{action}, while limits cannot be checked", "{action}，无法检查时", wording.onFailure, true},
		"actions/*/group":                {"{action}, limit for the whole group", "{action}，全群限制", wording.groupLimit, true},
	}
	maps.Copy(words, windowWords("actions/*/window", "{action}, ", "{action}，"))
	maps.Copy(words, windowWords("actions/*/group/window", "{action} of the whole group, ", "{action}（全群），"))
	return words
}

// windowWords are those of a window and what is in it.
func windowWords(path, en, zh string) map[string]settingWord {
	return map[string]settingWord{
		path:                    {en + "most in one window", zh + "窗口内上限", wording.window, true},
		path + "/limit":         {en + "most in one window", zh + "窗口内上限", wording.plain, true},
		path + "/period_ms":     {en + "window", zh + "窗口长度", wording.duration, true},
		path + "/algorithm":     {en + "counting method", zh + "计数方式", wording.algorithm, true},
		path + "/count_refused": {en + "refused ones count", zh + "被拦截的也计数", wording.yesNo, true},
		path + "/align":         {en + "window begins", zh + "窗口起点", wording.plain, true},
		path + "/buckets":       {en + "parts of the window", zh + "窗口分段", wording.plain, true},
		path + "/capacity":      {en + "burst", zh + "突发容量", wording.plain, true},
		path + "/refill_ms":     {en + "one more every", zh + "每隔多久增加一次", wording.duration, true},
		path + "/leak_ms":       {en + "one leaves every", zh + "每隔多久流出一次", wording.duration, true},
		path + "/queue":         {en + "wait in line", zh + "排队", wording.yesNo, true},
	}
}

func boundsWords() map[string]settingWord {
	words := map[string]settingWord{
		"actions/*/algorithms":  {"{action}, counting methods allowed", "{action}，允许的计数方式", wording.list, false},
		"actions/*/may_disable": {"{action}, what groups may switch off", "{action}，群组可关闭的限制", wording.list, false},
		"actions/*/edited_by":   {"{action}, edited by", "{action}，由谁编辑", wording.plain, false},
		"ladder_steps_max":      {"Most ladder steps", "处罚阶梯最多级数", wording.plain, false},
		"exemptions_max":        {"Most exempt members of a group", "每群豁免成员上限", wording.plain, false},
		"roles":                 {"Roles of your own", "自定义角色", wording.list, false},
	}
	for _, r := range []struct {
		path, en, zh string
		show         func(wording, any) string
	}{
		{"actions/*/min_interval_ms", "{action}, %s gap", "{action}，间隔%s", wording.duration},
		{"actions/*/window_limit", "{action}, %s count in one window", "{action}，窗口内次数%s", wording.plain},
		{"actions/*/window_period_ms", "{action}, %s window", "{action}，窗口长度%s", wording.duration},
		{"actions/*/capacity", "{action}, %s burst", "{action}，突发容量%s", wording.plain},
		{"actions/*/refill_ms", "{action}, %s time to one more", "{action}，增加间隔%s", wording.duration},
		{"actions/*/leak_ms", "{action}, %s time until one leaves", "{action}，流出间隔%s", wording.duration},
		{"actions/*/buckets", "{action}, %s parts of the window", "{action}，窗口分段%s", wording.plain},
		{"actions/*/ban_ms", "{action}, %s ban", "{action}，禁止时长%s", wording.duration},
		{"mute_ms", "%s mute", "禁言时长%s", wording.duration},
		{"forgive_one_every_ms", "%s time to forgiveness", "减免间隔%s", wording.duration},
	} {
		words[r.path+"/min"] = settingWord{inserted(r.en, "lowest"), inserted(r.zh, "下限"), r.show, false}
		words[r.path+"/max"] = settingWord{inserted(r.en, "highest"), inserted(r.zh, "上限"), r.show, false}
	}
	return words
}

// recordWords are those of groups, exemptions, mutes, bans, actions, tokens and erasures.
func recordWords() map[string]settingWord {
	return map[string]settingWord{
		"group_id":    {"Group", "群组", wording.quoted, false},
		"name":        {"Name", "名称", wording.quoted, false},
		"locale":      {"Language", "语言", wording.plain, false},
		"archived_at": {"Archived", "归档时间", wording.plain, false},
		"user_id":     {"Member", "成员", wording.quoted, false},
		"expires_at":  {"Ends", "到期时间", wording.plain, false},
		"note":        {"Note", "备注", wording.quoted, false},
		"granted_by":  {"Granted by", "授予者", wording.quoted, false},
		"granted_at":  {"Granted", "授予时间", wording.plain, false},
		"start":       {"From", "开始时间", wording.plain, false},
		"until":       {"Until", "结束时间", wording.plain, false},
		"cause":       {"Cause", "原因", wording.cause, false},
		"step":        {"Step of the ladder", "处罚级别", wording.plain, false},
		"by":          {"By", "操作者", wording.quoted, false},
		"reason":      {"Reason", "理由", wording.quoted, false},
		"action":      {"Action", "操作", wording.plain, false},
		"speech":      {"Counts as speaking", "算作发言", wording.yesNo, false},
		"id":          {"Id", "编号", wording.plain, false},
		"role":        {"Role", "角色", wording.plain, false},
		"groups":      {"Groups", "群组", wording.list, false},
		"exemptions":  {"Exemptions erased", "已清除的豁免", wording.plain, false},
		"mutes":       {"Mutes erased", "已清除的禁言", wording.plain, false},
		"bans":        {"Bans erased", "已清除的禁止", wording.plain, false},
		"entries":     {"Audit entries erased", "已清除的审计条目", wording.plain, false},
		"sessions":    {"Sessions ended", "已结束的会话", wording.plain, false},
		"mentions":    {"Other places erased", "已清除的其他记录", wording.plain, false},
		"generation":  {"Generation", "世代", wording.plain, false},
	}
}
