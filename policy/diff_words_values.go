package policy

import (
	"encoding/json"
	"fmt"
	"strings"
)

// inserted puts a word into the one place of a template; what begins a sentence begins with a capital.
func inserted(template, word string) string {
	if rest, first := strings.CutPrefix(template, "%s"); first {
		return string(word[0]-'a'+'A') + word[1:] + rest
	}
	return strings.Replace(template, "%s", word, 1)
}

// plain shows a value as it is: a text without quotes, the rest as JSON.
func (w wording) plain(value any) string {
	if text, ok := value.(string); ok && text != "" {
		return text
	}
	out, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(out)
}

// quoted shows what somebody wrote.
func (w wording) quoted(value any) string {
	if text, ok := value.(string); ok {
		return "“" + text + "”"
	}
	return w.plain(value)
}

func (w wording) duration(value any) string {
	ms, whole := numberOf(value)
	if !whole || ms < 0 {
		return w.plain(value)
	}
	return DurationText(ms, w.language())
}

func (w wording) language() string { return w.pick(English, Chinese) }

func numberOf(value any) (int64, bool) {
	number, ok := value.(json.Number)
	if !ok {
		return 0, false
	}
	return wholeNumber([]byte(number))
}

// named shows the words of a value that is one of a few, else the value.
func (w wording) named(value any, words map[string][2]string) string {
	if known, ok := words[fmt.Sprint(value)]; ok {
		return w.pick(known[0], known[1])
	}
	return w.plain(value)
}

func (w wording) onOff(value any) string {
	return w.named(value, map[string][2]string{"true": {"on", "开启"}, "false": {"off", "关闭"}})
}

func (w wording) yesNo(value any) string {
	return w.named(value, map[string][2]string{"true": {"yes", "是"}, "false": {"no", "否"}})
}

func (w wording) mode(value any) string {
	return w.named(value, map[string][2]string{string(Hard): {"is refused", "拦截"}, string(Soft): {"is reminded only", "只提醒"}})
}

func (w wording) onFailure(value any) string {
	return w.named(value, map[string][2]string{string(Allow): {"let through", "放行"}, string(Refuse): {"refuse", "拦截"}})
}

func (w wording) algorithm(value any) string {
	return w.named(value, map[string][2]string{
		string(SlidingWindow): {"sliding window", "滑动窗口"}, string(FixedWindow): {"fixed window", "固定窗口"},
		string(SlidingCounter): {"sliding counter", "滑动计数"}, string(TokenBucket): {"token bucket", "令牌桶"},
		string(LeakyBucket): {"leaky bucket", "漏桶"},
	})
}

func (w wording) cause(value any) string {
	return w.named(value, map[string][2]string{
		"ladder": {"ladder", "处罚阶梯"}, "moderator": {"a moderator", "管理员"}, "review": {"manual review", "人工审核"},
		"remove": {"removed from the group", "移出群组"},
	})
}

func (w wording) list(value any) string {
	items, ok := value.([]any)
	if !ok {
		return w.plain(value)
	}
	if len(items) == 0 {
		return w.pick("none", "无")
	}
	texts := make([]string, 0, len(items))
	for _, item := range items {
		texts = append(texts, w.plain(item))
	}
	return strings.Join(texts, w.pick(", ", "、"))
}

// window shows a window as a whole: 8 in 30 s; other algorithms with what they are made of.
func (w wording) window(value any) string {
	fields, _ := value.(map[string]any)
	period, ok := numberOf(fields["period_ms"])
	if !ok {
		return w.algorithm(fields["algorithm"]) + " " + w.plain(value)
	}
	text := strings.NewReplacer("{limit}", w.plain(fields["limit"]), "{period}", DurationText(period, w.language())).
		Replace(w.pick("{limit} in {period}", "{period}内 {limit} 次"))
	if fields["count_refused"] == true {
		text += w.pick(", refused ones count", "，被拦截的也计数")
	}
	if name := fields["algorithm"]; name != nil && name != string(SlidingWindow) {
		text += w.pick(" (", "（") + w.algorithm(name) + w.pick(")", "）")
	}
	return text
}

func (w wording) ban(value any) string {
	fields, _ := value.(map[string]any)
	if ms, ok := numberOf(fields["for_ms"]); ok {
		return strings.ReplaceAll(w.pick("for {time}", "{time}"), "{time}", DurationText(ms, w.language()))
	}
	if fields["until"] == "end_of_day" {
		return w.pick("until the end of the day", "到当天结束")
	}
	return w.plain(value)
}

// ladder shows the steps: after 3: mute for 1 min, after 6: manual review.
func (w wording) ladder(value any) string {
	steps, _ := value.([]any)
	if len(steps) == 0 {
		return w.pick("a notice only", "只提示")
	}
	texts := make([]string, 0, len(steps))
	for _, step := range steps {
		fields, _ := step.(map[string]any)
		ms, _ := numberOf(fields["for_ms"])
		does := w.named(fields["do"], map[string][2]string{
			string(Mute): {"mute for {time}", "禁言 {time}"}, string(Review): {"manual review", "转人工审核"},
			string(Remove): {"remove from the group", "移出群组"},
		})
		texts = append(texts, strings.NewReplacer("{after}", w.plain(fields["after"]), "{time}", DurationText(ms, w.language())).
			Replace(w.pick("after {after}: ", "累计 {after} 次：")+does))
	}
	return strings.Join(texts, w.pick("; ", "；"))
}

// groupLimit shows the limit of a whole group by its window.
func (w wording) groupLimit(value any) string {
	fields, _ := value.(map[string]any)
	if fields["window"] == nil {
		return w.plain(value)
	}
	return w.window(fields["window"])
}
