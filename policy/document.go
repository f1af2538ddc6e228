// Package policy is the vocabulary of Pacekeeper and every decision it makes: parsing, overlaying, clamping, compiling
// and summarising documents, and deciding single attempts. It is pure: values in, values out; no IO, clock or
// randomness.
package policy

// Mode says what a limit that is hit does.
type Mode string

// The modes of an action.
const (
	Hard Mode = "hard" // refuses
	Soft Mode = "soft" // lets pass with code 2; takes no strike, step or ban
)

// OnFailure says how an attempt is decided while Redis cannot answer.
type OnFailure string

// The failure rules of an action.
const (
	Allow  OnFailure = "allow"
	Refuse OnFailure = "refuse"
)

// Algorithm names how a window counts.
type Algorithm string

// The algorithms. Each is exact to its definition in enforce/README.md.
const (
	SlidingWindow  Algorithm = "sliding_window"  // at most Limit in any PeriodMS
	FixedWindow    Algorithm = "fixed_window"    // at most Limit in each window of PeriodMS; Align says where windows begin
	SlidingCounter Algorithm = "sliding_counter" // at most Limit in any PeriodMS, forgotten up to a bucket's width late
	TokenBucket    Algorithm = "token_bucket"    // Capacity at once, one more each RefillMS
	LeakyBucket    Algorithm = "leaky_bucket"    // Capacity at once, one leaks each LeakMS; with Queue they leave one by one
)

// Align says where the windows of FixedWindow begin.
type Align string

// The alignments of FixedWindow.
const (
	AlignFirst    Align = "first"    // with the first accepted attempt
	AlignCalendar Align = "calendar" // with each minute, hour or day of the group's time zone
)

// Algorithms are all that there are.
func Algorithms() []Algorithm {
	return []Algorithm{SlidingWindow, FixedWindow, SlidingCounter, TokenBucket, LeakyBucket}
}

func algorithmNames() []string {
	names := make([]string, 0, len(Algorithms()))
	for _, a := range Algorithms() {
		names = append(names, string(a))
	}
	return names
}

// Penalty is what a step of the ladder does.
type Penalty string

// The penalties of a ladder.
const (
	Mute   Penalty = "mute"   // may not speak for ForMS
	Review Penalty = "review" // held until a moderator decides, at most 7 days
	Remove Penalty = "remove" // refused for 24 h; the platform is asked to remove the member
)

// Setting is one value of a document: absent (follows the defaults), null (none), or stated. The zero Setting is absent.
type Setting[T any] struct {
	Set   bool // stated in the document, be it a value or null
	Null  bool // stated as null; Value is then the zero value
	Value T
}

// State makes a stated Setting.
func State[T any](v T) Setting[T] { return Setting[T]{Set: true, Value: v} }

// None makes a Setting stated as null.
func None[T any]() Setting[T] { return Setting[T]{Set: true, Null: true} }

// Document is what a group admin saves, and the shape of the system's defaults. Absent settings follow the defaults,
// today's and tomorrow's; stated ones are pinned even if equal. The zero Document states nothing.
type Document struct {
	TimeZone    Setting[string] // IANA name
	Actions     map[string]ActionDocument
	ExemptRoles Setting[[]string]
	Penalties   PenaltiesDocument
	Notices     map[string]map[string]string // language (en, zh) → key (too_soon, too_many) → text, ≤ 160 characters

	// Scopes are what the system's own document states of its scopes, by action; a group's has none. An action that a
	// scope does not name is not limited there, and a setting that is absent is none: nothing follows the defaults but
	// on_failure.
	Scopes map[Scope]map[string]ActionDocument
}

// ActionDocument holds what a document states of one action. MinIntervalMS, Window, Ban and Group may be null.
type ActionDocument struct {
	Enabled       Setting[bool]
	Mode          Setting[Mode]
	MinIntervalMS Setting[int64]
	Window        Setting[Window]
	Ban           Setting[Ban]
	OnFailure     Setting[OnFailure]
	Group         Setting[GroupLimit]
}

// PenaltiesDocument holds what a document states of penalties.
type PenaltiesDocument struct {
	Ladder            Setting[[]Step]
	ForgiveOneEveryMS Setting[int64]
}

// Window limits accepted attempts by an algorithm. Limit and PeriodMS belong to the windows and the counter, Capacity to
// the buckets; what does not belong to the algorithm is zero.
type Window struct {
	Algorithm    Algorithm
	Limit        int64 // attempts, ≥ 1; in force 1 to MaxLimit
	PeriodMS     int64 // milliseconds, ≥ 1; in force 1 to MaxPeriodMS; calendar: one of the calendar's units
	Align        Align // of FixedWindow; else ""
	Buckets      int64 // of SlidingCounter, ≥ 1; in force 1 to MaxBuckets
	Capacity     int64 // attempts, ≥ 1; in force 1 to MaxLimit
	RefillMS     int64 // of TokenBucket: milliseconds for a token, ≥ 1; in force 1 to MaxPeriodMS
	LeakMS       int64 // of LeakyBucket: milliseconds for a drop, ≥ 1; in force 1 to MaxPeriodMS
	Queue        bool  // of LeakyBucket: attempts are told to wait their turn
	CountRefused bool  // refused attempts count too
}

// Most is how many attempts fit at once: Limit or Capacity.
func (w Window) Most() int64 { return max(w.Limit, w.Capacity) }

// PaceMS is the algorithm's time in milliseconds: PeriodMS, RefillMS or LeakMS.
func (w Window) PaceMS() int64 { return max(w.PeriodMS, w.RefillMS, w.LeakMS) }

// GroupLimit limits what all members of a group do together. A refusal by it alone is no violation of a member's: it takes
// no strike and no ban.
type GroupLimit struct {
	Window Window
}

// Ban keeps a member from the action after its window refused: for ForMS milliseconds, or to the end of the day in the
// group's time zone, and then ForMS is 0.
type Ban struct {
	ForMS    int64
	EndOfDay bool
}

// Step is one rung of the ladder: at After strikes or more, Do. ForMS is the length of a mute in milliseconds, else 0.
type Step struct {
	After int64
	Do    Penalty
	ForMS int64
}

// The most that bounds may allow of numbers: what the packed forms in Redis can hold. Documents may ask for more, up to
// 2^53 − 1, and are clamped.
const (
	MaxIntervalMS = 86_400_000    // 1 day
	MaxPeriodMS   = 604_800_000   // 7 days
	MaxLimit      = 10_000        // 4 bytes of state for each
	MaxBuckets    = 1_000         // 6 bytes of state for each
	MaxMuteMS     = 2_592_000_000 // 30 days
	MaxBanMS      = 2_592_000_000 // 30 days
	MaxForgiveMS  = 2_592_000_000 // 30 days
	MaxStrikes    = 255
	MaxSteps      = 6
	MaxActions    = 64 // registered; each has a default hash in every shard, and a place in every effective policy

	ReviewHoldMS = 604_800_000 // a review holds for 7 days at most
	RemoveHoldMS = 86_400_000  // a removal refuses for 24 h
)
