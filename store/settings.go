package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/pacekeeper/pacekeeper/policy"
)

// Bounds reads the bounds in force.
func (s *Store) Bounds(ctx context.Context) (BoundsRecord, error) {
	system, err := s.System(ctx)
	if err != nil {
		return BoundsRecord{}, err
	}
	return boundsOf(system), nil
}

func boundsOf(s *policy.System) BoundsRecord {
	return BoundsRecord{Version: s.BoundsVersion, Bounds: s.Bounds, System: s}
}

// Defaults reads the system's own document.
func (s *Store) Defaults(ctx context.Context) (DefaultsRecord, error) {
	system, err := s.System(ctx)
	if err != nil {
		return DefaultsRecord{}, err
	}
	return defaultsOf(system), nil
}

func defaultsOf(s *policy.System) DefaultsRecord {
	return DefaultsRecord{Version: s.DefaultsVersion, Document: s.Defaults, System: s}
}

// lockSystem reads the system and keeps other operators from changing it until the transaction ends. Saves of groups do
// not wait for it.
func (t *tx) lockSystem() (*policy.System, error) {
	var c Counters
	if err := one(t.Raw(selectCounters+t.store.dialect.forUpdate("system")), &c); err != nil {
		return nil, err
	}
	return t.store.systemAt(t.DB, c)
}

// UpdateBounds replaces the bounds; every group is clamped anew. The same bounds change nothing. CodeStale (the record
// is then the current one), and what the system's validation answers.
func (s *Store) UpdateBounds(ctx context.Context, a Actor, m Match, b policy.Bounds) (r BoundsRecord, changed bool, err error) {
	err = s.write(ctx, func(t *tx) error {
		old, err := t.lockSystem()
		if err != nil {
			return err
		}
		r = boundsOf(old)
		if !m.fits(old.BoundsVersion) {
			return errStale("the bounds")
		}
		next, err := withBounds(old, b)
		if err != nil {
			return err
		}
		names := actionNames(old.Actions)
		before, after := string(old.Bounds.JSON(names)), string(b.JSON(names))
		if before == after {
			return nil
		}
		r, changed = boundsOf(next), true
		t.saveBounds(a, next.BoundsVersion, before, after)
		return nil
	})
	return r, changed && err == nil, err
}

// withBounds is the system after a change of bounds, if they may be saved.
func withBounds(old *policy.System, b policy.Bounds) (*policy.System, error) {
	if err := old.ValidateBounds(b); err != nil {
		return nil, err
	}
	cfg := old.SystemConfig
	cfg.Bounds, cfg.BoundsVersion = b, old.BoundsVersion+1
	return policy.NewSystem(cfg)
}

func (t *tx) saveBounds(a Actor, version int64, before, after string) {
	t.finally("INSERT INTO bounds_versions (version, bounds, at, actor, reason) VALUES (?, ?, ?, ?, ?)",
		version, after, t.now.UnixMicro(), a.Name, a.Reason)
	t.finally("UPDATE system SET bounds_version = ? WHERE id = 1", version)
	t.audit(a, entry{action: "bounds.update", target: "bounds", before: before, after: after})
	t.enqueue(Change{Kind: KindFleet})
}

// UpdateDefaults replaces the system's own document. The same document changes nothing. CodeStale (the record is then
// the current one), and what the system's validation answers.
func (s *Store) UpdateDefaults(ctx context.Context, a Actor, m Match, d policy.Document) (r DefaultsRecord, changed bool, err error) {
	err = s.write(ctx, func(t *tx) error {
		old, err := t.lockSystem()
		if err != nil {
			return err
		}
		r = defaultsOf(old)
		if !m.fits(old.DefaultsVersion) {
			return errStale("the defaults")
		}
		before, after := string(old.Defaults.JSON()), string(d.JSON())
		if before == after {
			return nil
		}
		next, err := withDefaults(old, d)
		if err != nil {
			return err
		}
		r, changed = defaultsOf(next), true
		t.saveDefaults(a, next, entry{
			action: "defaults.update", target: "defaults", before: before, after: after,
		}, Change{Kind: KindFleet})
		return nil
	})
	return r, changed && err == nil, err
}

// withDefaults is the system after a change of the defaults, if they may be saved.
func withDefaults(old *policy.System, d policy.Document) (*policy.System, error) {
	if err := old.ValidateDefaults(old.Defaults, d); err != nil {
		return nil, err
	}
	cfg := old.SystemConfig
	cfg.Defaults, cfg.DefaultsVersion = d, old.DefaultsVersion+1
	return policy.NewSystem(cfg)
}

// maxGeneration is the highest generation: orders end at 2^53 (design §5).
const maxGeneration = 8191

// BumpGeneration makes every order of the database higher than any of a generation up to atLeast-1, so that a database
// that was restored from a backup prevails over what Redis has of later edits: to atLeast, or to the next generation if
// that is higher. Every group is published anew. CodeInvalid without a reason, CodeConflict when no generation is left.
func (s *Store) BumpGeneration(ctx context.Context, a Actor, atLeast int64) (from, to int64, err error) {
	if a.Reason == "" {
		return 0, 0, policy.Errorf(policy.CodeInvalid, "a reason is required")
	}
	if err := policy.CheckLine("/reason", a.Reason); err != nil {
		return 0, 0, err
	}
	err = s.write(ctx, func(t *tx) error {
		old, err := t.lockSystem()
		if err != nil {
			return err
		}
		from, to = old.Generation, max(old.Generation+1, atLeast)
		if to > maxGeneration {
			return policy.Errorf(policy.CodeConflict, "generation %d is above the highest, %d", to, maxGeneration)
		}
		t.finally("UPDATE system SET generation = ? WHERE id = 1", to)
		t.audit(a, entry{
			action: "generation.bump", target: "generation", before: asJSON(generationJSON{from}), after: asJSON(generationJSON{to}),
		})
		t.enqueue(Change{Kind: KindFleet})
		return nil
	})
	return from, to, err
}

type generationJSON struct {
	Generation int64 `json:"generation"`
}

// saveDefaults writes document and registry, which share a counter, as the next version.
func (t *tx) saveDefaults(a Actor, next *policy.System, e entry, c Change) {
	t.finally("INSERT INTO defaults_versions (version, document, actions, at, actor, reason) VALUES (?, ?, ?, ?, ?, ?)",
		next.DefaultsVersion, string(next.Defaults.JSON()), printActions(next.Actions), t.now.UnixMicro(), a.Name, a.Reason)
	t.finally("UPDATE system SET defaults_version = ? WHERE id = 1", next.DefaultsVersion)
	t.audit(a, e)
	t.enqueue(c)
}

// PutAction registers an action or changes whether it is speech; the same again changes nothing. Actions are never
// removed. CodeInvalid for a bad name, and for one more than policy.MaxActions.
func (s *Store) PutAction(ctx context.Context, a Actor, spec policy.ActionSpec) (created, changed bool, err error) {
	if !policy.ValidActionName(spec.Name) {
		return false, false, &policy.Error{
			Code: policy.CodeInvalid, Message: "the action's name is not valid", Fields: []policy.FieldError{
				{Pointer: "/name", Code: "format", Detail: "a name is a lower-case letter and up to 31 of a-z, 0-9, _ and -"},
			},
		}
	}
	err = s.write(ctx, func(t *tx) error {
		old, err := t.lockSystem()
		if err != nil {
			return err
		}
		actions := slices.Clone(old.Actions)
		i := slices.IndexFunc(actions, func(x policy.ActionSpec) bool { return x.Name == spec.Name })
		e := entry{action: "action.put", target: spec.Name, after: asJSON(actionJSON(spec))}
		switch {
		case i < 0 && len(actions) >= policy.MaxActions:
			return errTooManyActions()
		case i < 0:
			actions, created = append(actions, spec), true
		case actions[i] == spec:
			return nil
		default:
			e.before = asJSON(actionJSON(actions[i]))
			actions[i] = spec
		}
		cfg := old.SystemConfig
		cfg.Actions, cfg.DefaultsVersion = actions, old.DefaultsVersion+1
		next, err := policy.NewSystem(cfg)
		if err != nil {
			return err
		}
		changed = true
		t.saveDefaults(a, next, e, Change{Kind: KindFleet, Action: spec.Name})
		return nil
	})
	return created && err == nil, changed && err == nil, err
}

func errTooManyActions() error {
	return &policy.Error{
		Code: policy.CodeInvalid, Message: "the registry is full", Fields: []policy.FieldError{{
			Pointer: "/name", Code: "range", Detail: fmt.Sprintf("at most %d actions may be registered", policy.MaxActions),
		}},
	}
}
