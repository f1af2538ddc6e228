package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pacekeeper/pacekeeper/policy"
)

// sentences are the changes between two texts, one a line.
func sentences(t *testing.T, before, after, lang string) string {
	t.Helper()
	changes, err := policy.DiffJSON([]byte(before), []byte(after))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, w := range policy.DiffWords(changes, lang) {
		lines = append(lines, w.Sentence)
	}
	return strings.Join(lines, "\n")
}

func TestDiffWords(t *testing.T) {
	t.Parallel()
	const window = `{"algorithm":"sliding_window","limit":8,"period_ms":30000,"count_refused":false}`
	for _, test := range []struct{ name, before, after, en, zh string }{
		{
			"interval stated", `{}`, `{"actions":{"message":{"min_interval_ms":2000}}}`,
			"Messages, shortest gap: system default → 2 s", "消息，最短间隔：系统默认 → 2 秒",
		},
		{
			"interval none", `{"actions":{"like":{"min_interval_ms":500}}}`, `{"actions":{"like":{"min_interval_ms":null}}}`,
			"Likes, shortest gap: 0.5 s → none", "点赞，最短间隔：0.5 秒 → 无",
		},
		{
			"window stated", `{}`, `{"actions":{"wave":{"window":` + window + `}}}`,
			"“wave”, most in one window: system default → 8 in 30 s", "“wave”，窗口内上限：系统默认 → 30 秒内 8 次",
		},
		{
			"a limit of the whole group", `{"actions":{"message":{"group":null}}}`, `{"actions":{"message":{"group":{"window":` + window + `}}}}`,
			"Messages, limit for the whole group: none → 8 in 30 s", "消息，全群限制：无 → 30 秒内 8 次",
		},
		{
			"window looked into", `{"actions":{"message":{"window":` + window + `}}}`,
			`{"actions":{"message":{"window":` + strings.NewReplacer("8,", "15,", "30000", "60000", "false", "true").Replace(window) + `}}}`,
			"Messages, most in one window: 8 → 15\nMessages, window: 30 s → 1 min\nMessages, refused ones count: no → yes",
			"消息，窗口内上限：8 → 15\n消息，窗口长度：30 秒 → 1 分钟\n消息，被拦截的也计数：否 → 是",
		},
		{
			"switches", `{"actions":{"sms":{"enabled":true,"mode":"hard","ban":{"for_ms":3600000},"on_failure":"refuse"}}}`,
			`{"actions":{"sms":{"enabled":false,"mode":"soft","ban":null,"on_failure":"allow"}}}`,
			"SMS codes, limits: on → off\nSMS codes, who is too fast: is refused → is reminded only\n" +
				"SMS codes, ban after the limit: for 1 h → none\nSMS codes, while limits cannot be checked: refuse → let through",
			"短信验证码，限制：开启 → 关闭\n短信验证码，超限时：拦截 → 只提醒\n短信验证码，超限后禁止：1 小时 → 无\n短信验证码，无法检查时：拦截 → 放行",
		},
		{
			"ladder", `{"penalties":{"ladder":[]}}`,
			`{"penalties":{"ladder":[{"after":3,"do":"mute","for_ms":60000},{"after":6,"do":"review"}]}}`,
			"Ladder: a notice only → after 3: mute for 1 min; after 6: manual review", "处罚阶梯：只提示 → 累计 3 次：禁言 1 分钟；累计 6 次：转人工审核",
		},
		{
			"roles and notices", `{"exempt_roles":["owner"],"notices":{"en":{"too_soon":"Wait {wait}"}}}`, `{"exempt_roles":["owner","vip"]}`,
			"Exempt roles: owner → owner, vip\nNotice in English, too soon: “Wait {wait}” → system default",
			"豁免角色：owner → owner、vip\n英文提示，发言过快：“Wait {wait}” → 系统默认",
		},
		{
			"bounds", `{"actions":{"*":{"min_interval_ms":{"min":500,"max":9000}}},"mute_ms":{"min":1000,"max":2000}}`,
			`{"actions":{"*":{"min_interval_ms":{"min":1000,"max":9000}}},"mute_ms":{"min":1000,"max":60000}}`,
			"All other actions, lowest gap: 0.5 s → 1 s\nHighest mute: 2 s → 1 min", "其他操作，间隔下限：0.5 秒 → 1 秒\n禁言时长上限：2 秒 → 1 分钟",
		},
		{
			"exemption added", ``, `{"user_id":"周岚","note":"host"}`,
			"Member: “周岚”\nNote: “host”", "成员：“周岚”\n备注：“host”",
		},
		{
			"mute lifted", `{"user_id":"u1","cause":"ladder","step":1}`, ``,
			"Member: “u1” (removed)\nCause: ladder (removed)\nStep of the ladder: 1 (removed)",
			"成员：“u1”（已移除）\n原因：处罚阶梯（已移除）\n处罚级别：1（已移除）",
		},
		{"no words for it", `{"x/y":1}`, `{"x/y":{"z":[1]}}`, `/x~1y: 1 → {"z":[1]}`, `/x~1y：1 → {"z":[1]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.en, sentences(t, test.before, test.after, policy.English)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.zh, sentences(t, test.before, test.after, policy.Chinese)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestDiffWordsHaveWordsForEverySetting states all that documents and bounds can, against nothing.
func TestDiffWordsHaveWordsForEverySetting(t *testing.T) {
	t.Parallel()
	system := shippedSystem(t)
	everything, _ := system.Resolve(policy.Document{})
	doc := everything.Document()
	doc.Notices = map[string]map[string]string{"en": {"too_soon": "a", "too_many": "b"}, "zh": {"too_soon": "a", "too_many": "b"}}
	for name, text := range map[string][]byte{"document": doc.JSON(), "bounds": system.Bounds.JSON(system.ActionNames())} {
		for _, before := range []string{"", `{"actions":{"message":{"window":{},"ban":{}}}}`} {
			changes, err := policy.DiffJSON([]byte(before), text)
			if err != nil || len(changes) < 20 {
				t.Fatalf("%s: %d changes, %v", name, len(changes), err)
			}
			for i, w := range policy.DiffWords(changes, policy.English) {
				if w.Setting == changes[i].Path || strings.Contains(w.Sentence, "{action}") {
					t.Errorf("%s: no words for %s: %s", name, changes[i].Path, w.Sentence)
				}
			}
		}
	}
}

func TestAuditChanged(t *testing.T) {
	t.Parallel()
	const message = "/actions /actions/message /actions/message/"
	for _, test := range []struct{ before, after, want string }{
		{"", "", ""},
		{`{"a":1}`, `{"a":1}`, ""},
		{`{}`, `{"actions":{"message":{"min_interval_ms":5}}}`, message + "min_interval_ms"},
		{
			`{}`, `{"actions":{"message":{"window":{"limit":8,"period_ms":1}}}}`,
			message + "window /actions/message/window/limit /actions/message/window/period_ms",
		},
		{
			`{"actions":{"message":{"window":{"limit":8,"period_ms":1}}}}`, `{"actions":{"message":{"window":{"limit":9,"period_ms":1}}}}`,
			message + "window /actions/message/window/limit",
		},
		{"", `{"name":"x","groups":["a"]}`, "/groups /name"},
		{`{"penalties":{"ladder":[{"after":3}]}}`, `{"penalties":{"ladder":[{"after":4}]}}`, "/penalties /penalties/ladder"},
		{`{"a/b":{}}`, ``, "/a~1b"},
		{"not JSON", "{}", ""},
	} {
		if diff := cmp.Diff(test.want, policy.AuditChanged(test.before, test.after)); diff != "" {
			t.Errorf("%s → %s: %s", test.before, test.after, diff)
		}
	}
}
