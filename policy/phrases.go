package policy

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
