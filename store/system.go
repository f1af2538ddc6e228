package store

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"gorm.io/gorm"

	"github.com/pacekeeper/pacekeeper/policy"
)

// systemCache keeps the systems built last. What counters name never changes, so entries never go stale.
type systemCache struct {
	mu     sync.Mutex
	built  map[Counters]*policy.System
	recent []Counters
}

// systemsKept is more than are ever in use at once: the one in force and those of fleet jobs under way.
const systemsKept = 8

func newSystemCache() systemCache { return systemCache{built: map[Counters]*policy.System{}} }

func (c *systemCache) get(k Counters) *policy.System {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.built[k]
}

// newest is the system put last; nil without any.
func (c *systemCache) newest() *policy.System {
	c.mu.Lock()
	defer c.mu.Unlock()
	var best *policy.System
	for _, s := range c.built {
		if best == nil || s.Order(0) > best.Order(0) {
			best = s
		}
	}
	return best
}

func (c *systemCache) put(k Counters, s *policy.System) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.built[k]; !known {
		c.recent = append(c.recent, k)
	}
	c.built[k] = s
	if len(c.recent) > systemsKept {
		delete(c.built, c.recent[0])
		c.recent = c.recent[1:]
	}
}

const selectCounters = "SELECT generation, bounds_version, defaults_version FROM system WHERE id = 1"

// System is what operators have set, in force now.
func (s *Store) System(ctx context.Context) (system *policy.System, err error) {
	err = s.read(ctx, func(db *gorm.DB) error {
		system, err = s.currentSystem(db)
		return err
	})
	return system, err
}

// LastSystem is the newest system that this process has read, nil before the first: for checks while the database is
// away.
func (s *Store) LastSystem() *policy.System { return s.systems.newest() }

// SystemAt is the system at counters that were read with a row. It is built once and cached.
func (s *Store) SystemAt(ctx context.Context, c Counters) (system *policy.System, err error) {
	if system = s.systems.get(c); system != nil {
		return system, nil
	}
	err = s.read(ctx, func(db *gorm.DB) error {
		system, err = s.systemAt(db, c)
		return err
	})
	return system, err
}

func (s *Store) currentSystem(db *gorm.DB) (*policy.System, error) {
	var c Counters
	if err := one(db.Raw(selectCounters), &c); err != nil {
		return nil, err
	}
	return s.systemAt(db, c)
}

func (s *Store) systemAt(db *gorm.DB, c Counters) (*policy.System, error) {
	if system := s.systems.get(c); system != nil {
		return system, nil
	}
	cfg := policy.SystemConfig{
		Generation: c.Generation, BoundsVersion: c.BoundsVersion, DefaultsVersion: c.DefaultsVersion,
		Bounds: policy.ShippedBounds(), Defaults: policy.ShippedDefaults(), Actions: policy.ShippedActions(),
	}
	if err := loadBounds(db, &cfg); err != nil {
		return nil, err
	}
	if err := loadDefaults(db, &cfg); err != nil {
		return nil, err
	}
	system, err := policy.NewSystem(cfg)
	if err != nil {
		return nil, damaged("system", err)
	}
	s.systems.put(c, system)
	return system, nil
}

// damaged reports stored settings that this program cannot read: a fault of the database, not of the caller's input.
func damaged(what string, err error) error {
	return fmt.Errorf("store: the stored %s cannot be read: %s", what, err.Error())
}

func loadBounds(db *gorm.DB, cfg *policy.SystemConfig) error {
	if cfg.BoundsVersion == 0 {
		return nil
	}
	var text string
	err := one(db.Raw("SELECT bounds FROM bounds_versions WHERE version = ?", cfg.BoundsVersion), &text)
	if err != nil {
		return err
	}
	if cfg.Bounds, err = policy.ParseBounds([]byte(text)); err != nil {
		return damaged("bounds", err)
	}
	return nil
}

func loadDefaults(db *gorm.DB, cfg *policy.SystemConfig) error {
	if cfg.DefaultsVersion == 0 {
		return nil
	}
	var row struct{ Document, Actions string }
	err := one(db.Raw("SELECT document, actions FROM defaults_versions WHERE version = ?", cfg.DefaultsVersion), &row)
	if err != nil {
		return err
	}
	if cfg.Defaults, err = policy.ParseDefaults([]byte(row.Document)); err != nil {
		return damaged("defaults", err)
	}
	if cfg.Actions, err = parseActions(row.Actions); err != nil {
		return damaged("registry", err)
	}
	return nil
}

type actionJSON struct {
	Name   string `json:"name"`
	Speech bool   `json:"speech"`
}

func printActions(actions []policy.ActionSpec) string {
	out := make([]actionJSON, 0, len(actions))
	for _, a := range actions {
		out = append(out, actionJSON(a))
	}
	return asJSON(out)
}

func parseActions(text string) ([]policy.ActionSpec, error) {
	var rows []actionJSON
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		return nil, err
	}
	out := make([]policy.ActionSpec, 0, len(rows))
	for _, r := range rows {
		out = append(out, policy.ActionSpec(r))
	}
	return out, nil
}

func actionNames(actions []policy.ActionSpec) []string {
	out := make([]string, 0, len(actions))
	for _, a := range actions {
		out = append(out, a.Name)
	}
	return out
}
