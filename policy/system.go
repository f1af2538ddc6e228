package policy

// SystemConfig is what operators have set. Actions may come in any order.
type SystemConfig struct {
	Generation      int64 // ≥ 1, < 8192; bumped when a restored backup lags behind Redis
	BoundsVersion   int64
	DefaultsVersion int64 // counts defaults and registry edits
	Bounds          Bounds
	Defaults        Document
	Actions         []ActionSpec
}

// System is what operators have set, in force for every group. It is immutable and safe for concurrent use; what its
// methods return may share memory with it and is read only.
type System struct {
	SystemConfig // Actions are sorted by name here

	// DefaultsClamped reports what the operators' own defaults ask for and bounds hold back.
	DefaultsClamped []Clamp
}
