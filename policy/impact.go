package policy

// Impact counts what a change of bounds or defaults would do, one group after the other, in memory that does not grow
// with them. Make it with NewImpact; not safe for concurrent use. Numbers are of groups unless they say otherwise.
type Impact struct {
	Groups          int64
	WithoutDocument int64 // state nothing and follow the defaults alone
	Changed         int64 // something else is in force than before
	Loosened        int64 // a setting becomes looser (Compare); a group may be loosened and tightened
	Tightened       int64
	NewlyClamped    int64 // a setting is held back that was not before
	Released        int64 // a setting is held back no more
	Settings        []*ImpactSetting
	Samples         []ImpactSample
	Scopes          []ImpactChange // of the system's own scopes, which concern no group

	before, after *System
	samples       int // how many to keep
	actions       map[string]*actionImpact
	mutes, steps  *ImpactSetting
	forgiveness   *ImpactSetting
}

// ImpactSample is one group that would change.
type ImpactSample struct {
	GroupID             string
	Loosened, Tightened bool
	Changes             []ImpactChange
}

// NewImpact prepares counting for a change from one system to another of the same registry, with at most so many samples.
func NewImpact(before, after *System, samples int) *Impact {
	im := &Impact{before: before, after: after, samples: samples, actions: make(map[string]*actionImpact, len(before.Actions))}
	for _, name := range before.ActionNames() {
		im.actions[name] = im.action(name)
	}
	im.mutes = im.setting("/penalties/ladder/*/for_ms", "milliseconds", before.Bounds.MuteMS, after.Bounds.MuteMS)
	im.steps = im.setting("/penalties/ladder", "steps",
		Range{0, before.Bounds.LadderStepsMax}, Range{0, after.Bounds.LadderStepsMax})
	im.forgiveness = im.setting("/penalties/forgive_one_every_ms", "milliseconds",
		before.Bounds.ForgiveOneEveryMS, after.Bounds.ForgiveOneEveryMS)
	im.Scopes = ScopesChanges(before, after)
	return im
}

// Add counts n groups that have the same document; id names one of them, should it become a sample.
func (im *Impact) Add(id string, n int64, d Document) {
	im.Groups += n
	if d.statesNothing() {
		im.WithoutDocument += n
	}
	im.measure(&d, n)
	before, held := im.before.Resolve(d)
	after, holds := im.after.Resolve(d)
	if more(holds, held) {
		im.NewlyClamped += n
	}
	if more(held, holds) {
		im.Released += n
	}
	if sameEffect(&before, &after) {
		return
	}
	im.Changed += n
	way := Compare(before, after)
	if way.Loosens() {
		im.Loosened += n
	}
	if way.Tightens() {
		im.Tightened += n
	}
	if len(im.Samples) < im.samples {
		im.Samples = append(im.Samples, ImpactSample{
			GroupID: id, Loosened: way.Loosens(), Tightened: way.Tightens(), Changes: explain(d, before.Document(), after.Document(), held, holds),
		})
	}
}

// more says whether any setting is held back in these and not in those.
func more(these, those []Clamp) bool {
	for i := range these {
		if !holdsBack(those, these[i].Path) {
			return true
		}
	}
	return false
}

func holdsBack(clamps []Clamp, path string) bool {
	for i := range clamps {
		if clamps[i].Path == path {
			return true
		}
	}
	return false
}

func (d *Document) statesNothing() bool {
	return !d.TimeZone.Set && len(d.Actions) == 0 && !d.ExemptRoles.Set && !d.Penalties.stated() && len(d.Notices) == 0
}
