package policy

import (
	"bytes"
	"encoding/json"
	"strings"
)

// ChangeWords is a Change as people read it, in one language.
type ChangeWords struct {
	Setting  string // what was changed: Messages, shortest gap
	Before   string // how it was: 1 s; not set; system default
	After    string
	Sentence string // all of it: Messages, shortest gap: 1 s → 2 s
}

// DiffWords says changes of documents, bounds, exemptions, mutes, bans, groups, actions and tokens in words, in English or
// Chinese (other languages get English). What it has no words for keeps its pointer and its JSON.
func DiffWords(changes []Change, lang string) []ChangeWords {
	w := wording{settings: settingWords(), zh: lang == Chinese}
	out := make([]ChangeWords, 0, len(changes))
	for _, c := range changes {
		out = append(out, w.change(c))
	}
	return out
}

// wording holds the words of one language.
type wording struct {
	settings map[string]settingWord
	zh       bool
}

// settingWord is what a setting is called in both languages, and how its values are shown; * in its pattern is {action}.
type settingWord struct {
	en, zh   string
	show     func(w wording, value any) string
	document bool // of documents: absent follows the defaults
}

// pick is the text of the language.
func (w wording) pick(en, zh string) string {
	if w.zh {
		return zh
	}
	return en
}

func (w wording) change(c Change) ChangeWords {
	tokens := strings.Split(strings.TrimPrefix(c.Path, "/"), "/")
	action, scoped := "", tokens[0] == "scopes" && len(tokens) > 2
	switch {
	case scoped:
		action, tokens = w.scoped(Scope(tokens[1]), w.action(unescapePointer(tokens[2]))), append([]string{"actions", "*"}, tokens[3:]...)
	case tokens[0] == "actions" && len(tokens) > 1:
		action, tokens[1] = w.action(unescapePointer(tokens[1])), "*"
	}
	s, known := w.settings[strings.Join(tokens, "/")]
	s.document = s.document && !scoped // what a scope does not state is not limited, and follows nothing
	if !known {
		s = settingWord{en: c.Path, zh: c.Path, show: wording.plain}
	}
	out := ChangeWords{
		Setting: strings.ReplaceAll(w.pick(s.en, s.zh), "{action}", action),
		Before:  w.value(s, c.Before), After: w.value(s, c.After),
	}
	out.Sentence = w.sentence(s, c, out)
	return out
}

func (w wording) sentence(s settingWord, c Change, said ChangeWords) string {
	switch {
	case c.Before == nil && !s.document:
		return said.Setting + w.pick(": ", "：") + said.After
	case c.After == nil && !s.document:
		return said.Setting + w.pick(": ", "：") + said.Before + w.pick(" (removed)", "（已移除）")
	}
	return said.Setting + w.pick(": ", "：") + said.Before + " → " + said.After
}

// value shows one side of a change.
func (w wording) value(s settingWord, text []byte) string {
	switch {
	case text == nil && s.document:
		return w.pick("system default", "系统默认")
	case text == nil:
		return w.pick("not set", "未设置")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return string(text)
	}
	if value == nil {
		return w.pick("none", "无")
	}
	return s.show(w, value)
}

func unescapePointer(token string) string {
	return strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
}

// scoped is an action as the subject of its settings in a scope of the system.
func (w wording) scoped(scope Scope, action string) string {
	switch scope {
	case ScopeUser:
		return action + w.pick(" of one member in all groups", "（同一成员，所有群组合计）")
	case ScopePeer:
		return action + w.pick(" between two members", "（两人之间合计）")
	case ScopeIP:
		return action + w.pick(" from one address", "（同一 IP 地址合计）")
	case ScopeGroup:
	}
	return action
}

// action is what an action is called as the subject of its settings.
func (w wording) action(name string) string {
	switch name {
	case anyAction:
		return w.pick("All other actions", "其他操作")
	case "message":
		return w.pick("Messages", "消息")
	case "comment":
		return w.pick("Comments", "评论")
	case "like":
		return w.pick("Likes", "点赞")
	case "upload":
		return w.pick("Uploads", "上传")
	case "sms":
		return w.pick("SMS codes", "短信验证码")
	case "login":
		return w.pick("Sign-ins", "登录")
	case "coupon":
		return w.pick("Coupons", "优惠券")
	}
	return "“" + name + "”"
}
