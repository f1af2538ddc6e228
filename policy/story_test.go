package policy_test

import (
	"testing"

	"github.com/pacekeeper/pacekeeper/policy"
)

func TestStoryTellsPaceLadderAndWhoIsExempt(t *testing.T) {
	t.Parallel()
	s := shippedSystem(t)
	for _, test := range []struct{ document, action, lang, want string }{
		{
			`{}`, "message", policy.English,
			"Members may send one message every 2 s, and at most 8 in 30 s. The first time someone is too fast, they see how long to wait. " +
				"After 3 times, they’re muted for 1 min; after 4, for 5 min; after 5, for 1 h; after 6, their case goes to you for review. " +
				"One time is forgiven after each 10 min. Owners, admins and bots are not limited, nor are 2 named members.",
		},
		{
			`{"exempt_roles":["vip"]}`, "message", policy.Chinese,
			"成员每 2 秒可发 1 条消息，任意 30 秒内最多 8 条。第一次过快时，会提示需要等待多久。累计 3 次后禁言 1 分钟；累计 4 次后禁言 5 分钟；" +
				"累计 5 次后禁言 1 小时；累计 6 次后转人工审核。每过 10 分钟减去一次。群主、VIP 成员以及 2 位指定成员不受限制。",
		},
		{
			`{"penalties":{"ladder":[]},"exempt_roles":[]}`, "comment", policy.English,
			"Members may post at most 10 comments in 30 s. The first time someone is too fast, they see how long to wait. " +
				"Nobody is muted for it. Owners are not limited, nor are 2 named members.",
		},
		{
			`{}`, "upload", policy.English,
			"Members may upload at most 100 files each day; who tries more can’t upload files for the rest of the day. Owners, admins and bots are not limited, nor are 2 named members.",
		},
	} {
		e, _ := s.Resolve(parsed(t, test.document))
		equal(t, test.want, s.Story(e, test.action, 2, test.lang))
	}
}
