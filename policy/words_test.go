package policy_test

import (
	"strings"
	"testing"

	"github.com/pacekeeper/pacekeeper/policy"
)

func TestDurationText(t *testing.T) {
	t.Parallel()
	for ms, want := range map[int64][2]string{
		1: {"0.001 s", "0.001 秒"}, 500: {"0.5 s", "0.5 秒"}, 2_000: {"2 s", "2 秒"}, 1_250: {"1.25 s", "1.25 秒"},
		30_000: {"30 s", "30 秒"}, 60_000: {"1 min", "1 分钟"}, 90_000: {"90 s", "90 秒"}, 330_000: {"5 min 30 s", "5 分钟 30 秒"},
		3_600_000: {"1 h", "1 小时"}, 3_661_500: {"1 h 1 min 1.5 s", "1 小时 1 分钟 1.5 秒"}, 3_601_000: {"1 h 1 s", "1 小时 1 秒"},
		86_400_000: {"24 h", "24 小时"}, 604_800_000: {"7 days", "7 天"}, 5_400_000: {"90 min", "90 分钟"}, 0: {"0 s", "0 秒"},
	} {
		equal(t, want, [2]string{policy.DurationText(ms, "en"), policy.DurationText(ms, "zh")})
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	b := policy.ShippedBounds()
	b.Actions = map[string]policy.ActionBounds{"*": b.Actions["login"]}
	s, err := policy.NewSystem(policy.SystemConfig{
		Generation: 1, Bounds: b, Actions: append(policy.ShippedActions(), policy.ActionSpec{Name: "shout"}),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ action, document, en, zh string }{
		{"message", `{}`, "Members may send one message every 2 s, and at most 8 in 30 s.", "成员每 2 秒可发 1 条消息，任意 30 秒内最多 8 条。"},
		{"message", message(`"window":null`), "Members may send one message every 2 s.", "成员每 2 秒可发 1 条消息。"},
		{"message", message(`"window":null,"ban":{"for_ms":60000}`), "Members may send one message every 2 s.", "成员每 2 秒可发 1 条消息。"},
		{"message", message(`"mode":"soft"`), "Members are asked to send one message every 2 s at most, and no more than 8 in 30 s; nothing is refused.", "建议成员每 2 秒发 1 条消息，任意 30 秒内不超过 8 条；超出时只提醒，不拦截。"},
		{"message", message(`"min_interval_ms":null,"window":null`), "Members may send messages as fast as they like.", "成员可以发消息，不限速度。"},
		{"message", message(`"enabled":false`), "Members may send messages as fast as they like, because this limit is switched off.", "成员可以发消息，不限速度，因为此限制已关闭。"},
		{"message", message(`"group":{"window":{"algorithm":"sliding_window","limit":100,"period_ms":30000}}`), "Members may send one message every 2 s, and at most 8 in 30 s. All members together: at most 100 in 30 s.", "成员每 2 秒可发 1 条消息，任意 30 秒内最多 8 条。全群合计任意 30 秒内最多 100 条。"},
		{"message", message(`"mode":"soft","window":null,"group":{"window":{"algorithm":"fixed_window","limit":100,"period_ms":60000}}`), "Members are asked to send one message every 2 s at most; nothing is refused. All members together are asked for at most 100 in the 1 min from the first on; nothing is refused.", "建议成员每 2 秒发 1 条消息；超出时只提醒，不拦截。建议全群合计从第一次起的 1 分钟内不超过 100 条；超出时只提醒，不拦截。"},
		{"comment", `{}`, "Members may post at most 10 comments in 30 s.", "成员在任意 30 秒内最多可发 10 条评论。"},
		{"like", `{}`, "Members may like at most 10 times in 10 s; who tries more can’t like for 1 h.", "成员在任意 10 秒内最多可点赞 10 次；超出后 1 小时内不能点赞。"},
		{"upload", `{"actions":{"upload":{"ban":null,"window":{"algorithm":"sliding_window","limit":1,"period_ms":60000}}}}`, "Members may upload at most one file in 1 min.", "成员在任意 1 分钟内最多可上传 1 个文件。"},
		{"upload", `{}`, "Members may upload at most 100 files each day; who tries more can’t upload files for the rest of the day.", "成员在每天最多可上传 100 个文件；超出后当天不能上传文件。"},
		{"message", messageWindow(`"algorithm":"fixed_window","limit":5,"period_ms":60000`), "Members may send one message every 2 s, and at most 5 in the 1 min from the first on.", "成员每 2 秒可发 1 条消息，从第一次起的 1 分钟内最多 5 条。"},
		{"message", messageWindow(`"algorithm":"sliding_counter","limit":5,"period_ms":60000,"buckets":6`), "Members may send one message every 2 s, and at most 5 in about 1 min.", "成员每 2 秒可发 1 条消息，任意约 1 分钟内最多 5 条。"},
		{"comment", comment(`"algorithm":"token_bucket","capacity":5,"refill_ms":4000`), "Members may post at most 5 comments at once, and one more every 4 s.", "成员在短时间内最多可发 5 条评论，之后每 4 秒恢复一次。"},
		{"comment", comment(`"algorithm":"leaky_bucket","capacity":5,"leak_ms":4000`), "Members may post at most 5 comments at once, and one more every 4 s.", "成员在短时间内最多可发 5 条评论，之后每 4 秒恢复一次。"},
		{"comment", comment(`"algorithm":"leaky_bucket","capacity":5,"leak_ms":4000,"queue":true`), "Members may post at most 5 comments at once; they go out one every 4 s.", "成员在短时间内最多可发 5 条评论，并排队每 4 秒放行一次。"},
		{"sms", `{}`, "Members may ask for at most 3 SMS codes in 5 min.", "成员在任意 5 分钟内最多可获取 3 次短信验证码。"},
		{"login", `{}`, "Members may try to sign in at most 5 times in 10 min.", "成员在任意 10 分钟内最多可尝试登录 5 次。"},
		{"coupon", `{}`, "Members may claim at most 2 coupons in 1 min.", "成员在任意 1 分钟内最多可领取 2 张优惠券。"},
		{"shout", `{"actions":{"shout":{"mode":"soft"}}}`, "Members are asked to use “shout” at most 10 times in 30 s; nothing is refused.", "建议成员在任意 30 秒内最多使用“shout” 10 次；超出时只提醒，不拦截。"},
	} {
		e, clamps := s.Resolve(parsed(t, c.document))
		equal(t, []policy.Clamp(nil), clamps)
		equal(t, [2]string{c.en, c.zh}, [2]string{policy.Summary(e, c.action, "en"), policy.Summary(e, c.action, "zh")})
	}
}

func TestSummarySaysWhatIsInForce(t *testing.T) {
	t.Parallel()
	e, _ := shippedSystem(t).Resolve(parsed(t, message(`"min_interval_ms":500`)))
	equal(t, "Members may send one message every 1 s, and at most 8 in 30 s.", policy.Summary(e, "message", "fr"))
}

func TestC10_NoticesNeverSayZero(t *testing.T) {
	t.Parallel()
	p := policy.FactoryPolicy("message")
	for wait, want := range map[int64][2]string{
		0: {"1 s", "1 秒"}, 1: {"1 s", "1 秒"}, 1_000: {"1 s", "1 秒"}, 1_001: {"2 s", "2 秒"}, 59_001: {"1 min", "1 分钟"}, 61_000: {"61 s", "61 秒"},
	} {
		d := policy.Decision{Code: policy.RefusedInterval, WaitMS: wait}
		equal(t, "You’re writing quickly. Please wait "+want[0]+" before the next message.", policy.Notice("en", nil, d, p))
		equal(t, "您发言太快了，请等待 "+want[1]+"后再发。", policy.Notice("zh", nil, d, p))
	}
}

func TestNoticesOfEveryCode(t *testing.T) {
	t.Parallel()
	p := policy.FactoryPolicy("like")
	for code := range policy.DecisionCode(20) {
		d := policy.Decision{Code: code, WaitMS: 14_000}
		en, zh := policy.Notice("en", nil, d, p), policy.Notice("zh", nil, d, p)
		speaks := code == policy.AllowedWarned || code >= policy.RefusedInterval && code <= policy.RefusedDegraded
		if speaks == (en == "") || speaks == (zh == "") || speaks && en == zh || strings.ContainsAny(en+zh, "{}") {
			t.Errorf("%d: %q, %q", code, en, zh)
		}
	}
	d := policy.Decision{Code: policy.RefusedLimit, WaitMS: 14_000}
	equal(t, "At most 8 messages in 30 s here. Please wait 14 s before the next message.", policy.Notice("en", nil, d, policy.FactoryPolicy("message")))
	equal(t, "30 秒内最多发 8 条消息，请等待 14 秒后再发。", policy.Notice("zh", nil, d, policy.FactoryPolicy("message")))
}

func TestNoticesOfTheGroup(t *testing.T) {
	t.Parallel()
	texts := map[string]map[string]string{
		"en": {"too_soon": "Slow: {wait} {wait}", "too_many": "{limit} in {period}, wait {wait}"}, "zh": {"too_soon": ""},
	}
	p := policy.FactoryPolicy("message")
	soon := policy.Decision{Code: policy.RefusedInterval, WaitMS: 1_999}
	equal(t, "Slow: 2 s 2 s", policy.Notice("en", texts, soon, p))
	equal(t, "Slow: 2 s 2 s", policy.Notice("de", texts, soon, p))
	equal(t, "您发言太快了，请等待 2 秒后再发。", policy.Notice("zh", texts, soon, p)) // empty: the system's text
	equal(t, "8 in 30 s, wait 1 min", policy.Notice("en", texts, policy.Decision{Code: policy.RefusedLimit, WaitMS: 60_000}, p))
}

func TestNoticesOfTheWholeGroupsLimit(t *testing.T) {
	t.Parallel()
	p := policy.FactoryPolicy("message")
	p.Group = policy.FactoryGroup()
	own := map[string]map[string]string{"en": {"too_many": "{limit} in {period}, wait {wait}"}}
	full := policy.Decision{Code: policy.RefusedLimit, WaitMS: 14_000, Limit: p.Group.Limit}
	equal(t, "This group is very busy right now. Please wait 14 s before the next try.", policy.Notice("en", own, full, p))
	equal(t, "本群现在太热闹了，请等待 14 秒后再试。", policy.Notice("zh", own, full, p))
	full.Limit = p.Limit
	equal(t, "8 in 30 s, wait 14 s", policy.Notice("en", own, full, p))
}

func TestNoticesOfOtherAlgorithms(t *testing.T) {
	t.Parallel()
	full := policy.Decision{Code: policy.RefusedLimit, WaitMS: 14_000}
	own := map[string]map[string]string{"en": {"too_many": "{limit} in {period}"}}
	for _, c := range []struct {
		window      policy.Compiled
		en, zh, own string
	}{
		{
			policy.Compiled{Action: "message", Algorithm: policy.TokenBucket, Limit: 5, PeriodMS: 4_000},
			"At most 5 messages at once here. Please wait 14 s before the next message.", "您发得太密了，请等待 14 秒后再发。", "5 in 20 s",
		},
		{
			policy.Compiled{Action: "like", Algorithm: policy.LeakyBucket, Limit: 5, PeriodMS: 4_000},
			"At most 5 at once here. Please wait 14 s before the next try.", "您的操作太密了，请等待 14 秒后再试。", "5 in 20 s",
		},
		{
			policy.Compiled{Action: "upload", Algorithm: policy.FixedWindow, Align: policy.AlignCalendar, Limit: 5, PeriodMS: 86_400_000},
			"At most 5 each day here. Please wait 14 s before the next try.", "每天最多 5 次，请等待 14 秒后再试。", "5 in 24 h",
		},
		{
			policy.Compiled{Action: "message", Algorithm: policy.FixedWindow, Align: policy.AlignCalendar, Limit: 5, PeriodMS: 3_600_000},
			"At most 5 messages each hour here. Please wait 14 s before the next message.", "每小时最多发 5 条消息，请等待 14 秒后再发。", "5 in 1 h",
		},
		{
			policy.Compiled{Action: "like", Algorithm: policy.SlidingCounter, Limit: 5, PeriodMS: 60_000},
			"At most 5 in 1 min here. Please wait 14 s before the next try.", "1 分钟内最多 5 次，请等待 14 秒后再试。", "5 in 1 min",
		},
	} {
		equal(t, c.en, policy.Notice("en", nil, full, c.window))
		equal(t, c.zh, policy.Notice("zh", nil, full, c.window))
		equal(t, c.own, policy.Notice("en", own, full, c.window))
	}
}

func messageWindow(window string) string { return message(`"window":{` + window + `}`) }

func comment(window string) string { return `{"actions":{"comment":{"window":{` + window + `}}}}` }
