package policy

import (
	"cmp"
	"slices"
)

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

	base   Effective // the defaults, clamped
	scopes map[Scope]map[string]Action
	bounds map[string]*ActionBounds // of every registered action
	speech map[string]bool          // of every registered action
	roles  []string                 // known: shipped and own
	zones  *zones
}

// NewSystem makes a System. The defaults may leave out what they like: it comes from ShippedDefaults, and for an action
// that those do not know from values like a comment's (no interval, 10 per 30 s). The error is CodeInvalid for bounds
// that are no bounds and for actions without a valid name, or named twice.
func NewSystem(cfg SystemConfig) (*System, error) {
	if _, err := ParseBounds(cfg.Bounds.JSON(nil)); err != nil {
		return nil, err
	}
	s := &System{
		SystemConfig: cfg,
		bounds:       make(map[string]*ActionBounds, len(cfg.Actions)),
		speech:       make(map[string]bool, len(cfg.Actions)),
		roles:        append(shippedRoles(), cfg.Bounds.Roles...),
		zones:        &zones{},
	}
	s.Actions = slices.SortedFunc(slices.Values(cfg.Actions), func(a, b ActionSpec) int { return cmp.Compare(a.Name, b.Name) })
	for _, spec := range s.Actions {
		if _, twice := s.bounds[spec.Name]; twice || !ValidActionName(spec.Name) {
			return nil, Errorf(CodeInvalid, "the registry names %.40q twice, or it is no name for an action", spec.Name)
		}
		own := cfg.Bounds.For(spec.Name)
		s.bounds[spec.Name], s.speech[spec.Name] = &own, spec.Speech
	}
	s.base = s.factory()
	s.base, _ = s.Resolve(s.shipped())
	s.base, s.DefaultsClamped = s.Resolve(cfg.Defaults)
	for name, a := range s.base.Actions {
		a.FromGroup = false
		s.base.Actions[name] = a
	}
	s.resolveScopes()
	return s, nil
}

// factory is a policy within the bounds for every action, whatever they are: what holds where even the shipped defaults
// ask for what bounds forbid.
func (s *System) factory() Effective {
	e := Effective{
		TimeZone:          "UTC",
		Actions:           make(map[string]Action, len(s.Actions)),
		ExemptRoles:       []string{RoleOwner},
		Ladder:            []Step{},
		ForgiveOneEveryMS: s.Bounds.ForgiveOneEveryMS.Min,
	}
	for name, b := range s.bounds {
		e.Actions[name] = Action{
			Enabled:       true,
			Mode:          Hard,
			MinIntervalMS: b.MinIntervalMS.Min,
			Window:        factoryWindow(b),
			OnFailure:     Allow,
		}
	}
	return e
}

// factoryWindow is 8 per 30 s, as near as bounds allow, by the first algorithm that they allow.
func factoryWindow(b *ActionBounds) *Window {
	return b.allowedWindow(8, 30*second, 4*second)
}

// allowedWindow is so many per period, or so many at once and one more each pace, as near as bounds allow, by the first
// algorithm that they allow.
func (b *ActionBounds) allowedWindow(most, periodMS, paceMS int64) *Window {
	w := Window{Algorithm: SlidingWindow}
	if !b.allows(SlidingWindow) {
		w.Algorithm = b.Algorithms[0]
	}
	if w.Algorithm == FixedWindow {
		w.Align = AlignFirst
	}
	form := formOf(w.Algorithm)
	for _, key := range form.keys[:form.needed] {
		*w.number(key) = map[string]int64{
			"limit": b.WindowLimit.hold(most), "period_ms": b.WindowPeriodMS.hold(periodMS), "buckets": b.buckets().hold(10),
			"capacity": b.capacity().hold(most), "refill_ms": b.rate(b.RefillMS).hold(paceMS), "leak_ms": b.rate(b.LeakMS).hold(paceMS),
		}[key]
	}
	return &w
}

// shipped is ShippedDefaults with the actions that it does not know. Where bounds forbid the algorithm that is shipped,
// the same figures slide.
func (s *System) shipped() Document {
	d := ShippedDefaults()
	for _, spec := range s.Actions {
		if _, ok := d.Actions[spec.Name]; !ok {
			d.Actions[spec.Name] = customDefaults()
		}
		if a := d.Actions[spec.Name]; !s.bounds[spec.Name].allows(a.Window.Value.Algorithm) {
			a.Window = State(Window{Algorithm: SlidingWindow, Limit: a.Window.Value.Limit, PeriodMS: a.Window.Value.PeriodMS})
			d.Actions[spec.Name] = a
		}
	}
	return d
}

// hold returns the nearest value within the range.
func (r Range) hold(v int64) int64 { return min(max(v, r.Min), r.Max) }

// Order is the number by which Redis refuses older writes: generation × 2^40 + the three counters.
func (s *System) Order(groupVersion int64) int64 {
	return s.Generation<<40 + s.BoundsVersion + s.DefaultsVersion + groupVersion
}

// DefaultsEffective is what holds for a group that states nothing: the defaults, clamped.
func (s *System) DefaultsEffective() Effective { return s.base }

// Registered says whether an action is in the registry.
func (s *System) Registered(action string) bool { return s.bounds[action] != nil }

// ActionNames are the registered actions, sorted.
func (s *System) ActionNames() []string {
	names := make([]string, 0, len(s.Actions))
	for _, spec := range s.Actions {
		names = append(names, spec.Name)
	}
	return names
}
