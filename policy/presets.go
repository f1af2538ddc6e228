package policy

// Preset is a ready-made policy of one action: a scene that many platforms have.
type Preset struct {
	Name   string // stable, a-z, 0-9 and _
	Action string
	Policy ActionDocument // states all of the action's limits
}

// Presets are the reference scenes; the shipped defaults are made of them.
func Presets() []Preset {
	return []Preset{
		{"message_2s_8_per_30s", "message", shippedAction(State[int64](2*second), 8, 30*second, None[Ban](), Allow)},
		{"comment_10_per_30s", "comment", shippedAction(None[int64](), 10, 30*second, None[Ban](), Allow)},
		{"like_10_per_10s_ban_1h", "like", shippedAction(None[int64](), 10, 10*second, State(Ban{ForMS: hour}), Allow)},
		{"upload_100_per_day", "upload", shippedUpload()},
		{"sms_3_per_5min", "sms", shippedAction(None[int64](), 3, 300*second, None[Ban](), Refuse)},
		{"login_5_per_10min", "login", shippedAction(None[int64](), 5, 600*second, None[Ban](), Refuse)},
		{"coupon_2_per_min", "coupon", shippedAction(None[int64](), 2, 60*second, None[Ban](), Refuse)},
	}
}

// Document states the preset and nothing else.
func (p Preset) Document() Document {
	return Document{Actions: map[string]ActionDocument{p.Action: p.Policy}}
}
