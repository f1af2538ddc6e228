package policy

// Effective is a document over the defaults, clamped: what is in force for a group. It is complete; it never holds a
// value outside the bounds.
type Effective struct {
	TimeZone          string
	Actions           map[string]Action // every registered action
	ExemptRoles       []string          // sorted; always holds owner
	Ladder            []Step
	ForgiveOneEveryMS int64
	Notices           map[string]map[string]string
}

// Action is the effective policy of one action.
type Action struct {
	Enabled       bool
	Mode          Mode
	MinIntervalMS int64   // 0 = none
	Window        *Window // nil = none
	Ban           *Ban    // nil = none
	Group         *Window // of the whole group; nil = none
	OnFailure     OnFailure
	FromGroup     bool // the group's document names the action; else it comes from the defaults
}

// Clamp reports one requested value that is not in force. Requested and Effective are JSON values: int64, bool, string,
// nil, json.RawMessage for a window, or the length of an array. Bound is min, max or forbidden; Limit is the bound
// itself, nil where Bound is forbidden.
type Clamp struct {
	Path      string // JSON pointer into the document
	Requested any
	Effective any
	Bound     string
	Limit     any
}

// Compiled is the effective policy of one action of one group as the scripts read it. The zero Compiled is disabled.
type Compiled struct {
	Action            string
	Version           int64 // the group's version, 0 = the defaults
	Order             int64
	Enabled           bool
	Speech            bool
	Mode              Mode
	MinIntervalMS     int64     // 0 = none
	Algorithm         Algorithm // "" = SlidingWindow
	Align             Align     // of FixedWindow; "" = AlignFirst
	Limit             int64     // or capacity; 0 = no window
	PeriodMS          int64     // or milliseconds for a token, for a drop
	Buckets           int64     // of SlidingCounter
	Queue             bool      // of LeakyBucket
	CountRefused      bool
	BanForMS          int64 // 0 = none, or to the end of the day
	BanToEndOfDay     bool
	Group             CompiledWindow // of the whole group
	OnFailure         OnFailure
	ExemptRoles       []string
	Ladder            []Step
	ForgiveOneEveryMS int64
	TimeZone          string // "" where nothing depends on days: no calendar windows, no ban to the end of the day
	Offsets           Offsets
}

// CompiledWindow is a limit of the whole group as the scripts read it; fields as those of Compiled. The zero
// CompiledWindow is none.
type CompiledWindow struct {
	Algorithm    Algorithm
	Align        Align
	Limit        int64
	PeriodMS     int64
	Buckets      int64
	Queue        bool
	CountRefused bool
}

// Offsets are a time zone's distance from UTC, local minus UTC in milliseconds, now and after its next change. The zero
// Offsets are UTC.
type Offsets struct {
	UTCOffsetMS    int64
	NextOffsetAtMS int64 // ms since the epoch; 0 = no change is known
	NextOffsetMS   int64 // from NextOffsetAtMS on
}
