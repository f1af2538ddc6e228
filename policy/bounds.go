package policy

// Range is an inclusive range of integers.
type Range struct {
	Min, Max int64
}

// Bounds are the ranges that operators allow. They bind whoever saves, the defaults too.
type Bounds struct {
	Actions           map[string]ActionBounds // "*" for actions without an entry of their own
	MuteMS            Range
	ForgiveOneEveryMS Range
	LadderStepsMax    int64
	ExemptionsMax     int64    // entries a group
	Roles             []string // the operator's own roles, beyond owner admin bot vip member
}

// ActionBounds are the bounds of one action. MayDisable holds interval, window, action and soft; both limits off needs
// action as well. EditedBy is group or operator.
type ActionBounds struct {
	MinIntervalMS  Range
	WindowLimit    Range
	WindowPeriodMS Range
	Capacity       Range // for token and leaky buckets
	RefillMS       Range
	LeakMS         Range
	Buckets        Range
	BanMS          Range
	Algorithms     []Algorithm
	MayDisable     []string
	EditedBy       string
}

// ActionSpec is an entry of the actions registry. Strikes and mutes belong to speech actions only.
type ActionSpec struct {
	Name   string
	Speech bool
}
