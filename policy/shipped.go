package policy

import "slices"

// The roles that every system knows; bounds add the operator's own.
const (
	RoleOwner  = "owner" // always exempt
	RoleAdmin  = "admin"
	RoleBot    = "bot"
	RoleVIP    = "vip"
	RoleMember = "member"
)

const (
	second = 1_000 // milliseconds
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour
)

// ShippedActions are the actions that a new system has registered, by name.
func ShippedActions() []ActionSpec {
	return []ActionSpec{
		{"comment", true},
		{"coupon", false},
		{"like", false},
		{"login", false},
		{"message", true},
		{"sms", false},
		{"upload", false},
	}
}

// ShippedDefaults is the document of a new system (contract §3). It states everything, so that what the operators' own
// document leaves out comes from here.
func ShippedDefaults() Document {
	actions := make(map[string]ActionDocument)
	for _, preset := range Presets() {
		actions[preset.Action] = preset.Policy
	}
	return Document{
		TimeZone:    State("UTC"),
		Actions:     actions,
		ExemptRoles: State([]string{RoleOwner, RoleAdmin, RoleBot}),
		Penalties:   PenaltiesDocument{Ladder: State(shippedLadder()), ForgiveOneEveryMS: State[int64](10 * minute)},
	}
}

// customDefaults is what an action of the operators has that their defaults do not mention: no interval, 10 per 30 s as
// for comments, and allowed while Redis is away.
func customDefaults() ActionDocument {
	return shippedAction(None[int64](), 10, 30*second, None[Ban](), Allow)
}

func shippedAction(interval Setting[int64], limit, periodMS int64, ban Setting[Ban], f OnFailure) ActionDocument {
	return ActionDocument{
		Enabled:       State(true),
		Mode:          State(Hard),
		MinIntervalMS: interval,
		Window:        State(Window{Algorithm: SlidingWindow, Limit: limit, PeriodMS: periodMS}),
		Ban:           ban,
		OnFailure:     State(f),
	}
}

// shippedUpload is 100 in each day of the calendar, then nothing more on that day.
func shippedUpload() ActionDocument {
	a := shippedAction(None[int64](), 100, day, State(Ban{EndOfDay: true}), Allow)
	a.Window = State(Window{Algorithm: FixedWindow, Align: AlignCalendar, Limit: 100, PeriodMS: day})
	return a
}

func shippedLadder() []Step {
	return []Step{
		{After: 3, Do: Mute, ForMS: minute},
		{After: 4, Do: Mute, ForMS: 5 * minute},
		{After: 5, Do: Mute, ForMS: hour},
		{After: 6, Do: Review},
	}
}

// FactoryPolicy is what holds for an action where no policy can be read: 2 s, 8 per 30 s and the shipped ladder,
// whatever the action (contract §4.11). Message and comment are speech; login, sms and coupon refuse while Redis is
// away. Version and Order are 0.
func FactoryPolicy(action string) Compiled {
	c := Compiled{
		Action:            action,
		Enabled:           true,
		Speech:            action == "message" || action == "comment",
		Mode:              Hard,
		MinIntervalMS:     2 * second,
		Algorithm:         SlidingWindow,
		Limit:             8,
		PeriodMS:          30 * second,
		OnFailure:         Allow,
		ExemptRoles:       []string{RoleAdmin, RoleBot, RoleOwner},
		Ladder:            shippedLadder(),
		ForgiveOneEveryMS: 10 * minute,
	}
	if slices.Contains([]string{"login", "sms", "coupon"}, action) {
		c.OnFailure = Refuse
	}
	return c
}

// FactoryGroup is the limit of a whole group where there must be one and none can be read: 100 per 30 s.
func FactoryGroup() CompiledWindow {
	return CompiledWindow{Algorithm: SlidingWindow, Limit: 100, PeriodMS: 30 * second, Buckets: 1}
}

// The switches that bounds may leave to groups (ActionBounds.MayDisable).
const (
	SwitchInterval = "interval" // min_interval_ms: null
	SwitchWindow   = "window"   // window: null
	SwitchAction   = "action"   // enabled: false, and both limits off
	SwitchSoft     = "soft"     // mode: soft
)

// Who may edit an action (ActionBounds.EditedBy).
const (
	EditedByGroup    = "group"
	EditedByOperator = "operator"
)

// ShippedBounds are the bounds of a new system (contract §3). Those of likes and uploads hold 10 in 10 s and 100 a day
// with room on both sides; those of operators' actions are as wide as the packed forms in Redis.
func ShippedBounds() Bounds {
	speech := ActionBounds{
		MinIntervalMS:  Range{second, 10 * second},
		WindowLimit:    Range{3, 50},
		WindowPeriodMS: Range{5 * second, 300 * second},
		Buckets:        Range{2, 60},
		BanMS:          Range{10 * second, 7 * day},
		Algorithms:     Algorithms(),
		MayDisable:     []string{SwitchInterval, SwitchWindow, SwitchSoft},
		EditedBy:       EditedByGroup,
	}
	wide := speech
	wide.MinIntervalMS = Range{100, hour}
	wide.WindowLimit = Range{1, 1_000}
	wide.WindowPeriodMS = Range{second, 7 * day}
	operators := wide
	operators.MinIntervalMS = Range{1, MaxIntervalMS}
	operators.WindowLimit = Range{1, MaxLimit}
	operators.BanMS = Range{second, MaxBanMS}
	operators.MayDisable = []string{SwitchInterval, SwitchWindow, SwitchAction, SwitchSoft}
	operators.EditedBy = EditedByOperator
	return Bounds{
		Actions: map[string]ActionBounds{
			"*": wide, "message": speech, "comment": speech, "like": wide, "upload": wide,
			"sms": operators, "login": operators, "coupon": operators,
		},
		MuteMS:            Range{10 * second, 7 * day},
		ForgiveOneEveryMS: Range{minute, 7 * day},
		LadderStepsMax:    MaxSteps,
		ExemptionsMax:     10_000,
	}
}
