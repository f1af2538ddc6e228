package store

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/pacekeeper/pacekeeper/policy"
)

// applyChunk is how many rows one statement of an apply writes: few enough that the log of the database is flushed between
// the saves of others, many enough that round trips do not count.
const applyChunk = 500

// applyAlone is how many groups an apply may change and still have them published at once, in this process. More are left
// to the outbox poll: a queue of thousands would stand before everybody's next save.
const applyAlone = 64

// writeConfig writes a plan. Rows are locked in the order of their ids, and those alone that change; errMoved if one is not
// as it was read.
func (t *tx) writeConfig(a Actor, st configState, p policy.ConfigPlan) error {
	w := configWriter{tx: t, actor: a, state: st, plan: p}
	w.system()
	w.groups()
	for _, step := range []func() error{
		w.lock, w.insertGroups, w.updateGroups, w.insertVersions, w.putExemptions, w.removeExemptions, w.enqueueAll, w.audits,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// configWriter collects what a plan writes.
type configWriter struct {
	*tx
	actor    Actor
	state    configState
	plan     policy.ConfigPlan
	changed  []changedGroup // sorted by id
	put      []putExemption
	gone     []exemptionKey
	versions []Version
	entries  []entry
}

// changedGroup is a group before and after.
type changedGroup struct {
	before, after groupRow
	fresh         bool // registered by this apply
}

type putExemption struct {
	group string
	row   exemptionRow
}

// system writes bounds, defaults and registry, each as one version, and asks for one pass over the fleet.
func (w *configWriter) system() {
	old, next := w.state.System, w.plan.System
	names := actionNames(next.Actions)
	for _, c := range w.plan.Changes {
		e := entry{target: string(c.Kind)}
		switch {
		case c.Op == policy.OpUnchanged:
			continue
		case c.Kind == policy.KindAction:
			e.action, e.target = "action.put", c.Target
			e.before, e.after = actionText(old.Actions, c.Target), actionText(next.Actions, c.Target)
		case c.Kind == policy.KindBounds:
			e.action, e.before, e.after = "bounds.update", string(old.Bounds.JSON(names)), string(next.Bounds.JSON(names))
		case c.Kind == policy.KindDefaults:
			e.action, e.before, e.after = "defaults.update", string(old.Defaults.JSON()), string(next.Defaults.JSON())
		default:
			continue
		}
		w.entries = append(w.entries, e)
	}
	if old == next {
		return
	}
	if next.BoundsVersion != old.BoundsVersion {
		w.finally("INSERT INTO bounds_versions (version, bounds, at, actor, reason) VALUES (?, ?, ?, ?, ?)",
			next.BoundsVersion, string(next.Bounds.JSON(names)), w.now.UnixMicro(), w.actor.Name, w.actor.Reason)
	}
	if next.DefaultsVersion != old.DefaultsVersion {
		w.finally("INSERT INTO defaults_versions (version, document, actions, at, actor, reason) VALUES (?, ?, ?, ?, ?, ?)",
			next.DefaultsVersion, string(next.Defaults.JSON()), printActions(next.Actions), w.now.UnixMicro(), w.actor.Name, w.actor.Reason)
	}
	w.finally("UPDATE system SET bounds_version = ?, defaults_version = ? WHERE id = 1", next.BoundsVersion, next.DefaultsVersion)
	w.enqueue(Change{Kind: KindFleet})
}

// actionText is an action of a registry as the audit shows it; "" for none.
func actionText(actions []policy.ActionSpec, name string) string {
	for _, a := range actions {
		if a.Name == name {
			return asJSON(actionJSON(a))
		}
	}
	return ""
}

// groups collects what the plan changes of each group.
func (w *configWriter) groups() {
	for _, c := range w.plan.Changes {
		if c.Op == policy.OpUnchanged || c.GroupID == "" {
			continue
		}
		g := w.of(c.GroupID)
		switch c.Kind { //nolint:exhaustive // the others are not of groups
		case policy.KindGroup:
			w.registration(g, c)
		case policy.KindPolicy:
			w.policy(g, c)
		case policy.KindExemption:
			w.exemption(g, c)
		}
	}
}

// of is the group that changes; the changes come by group.
func (w *configWriter) of(id string) *changedGroup {
	if n := len(w.changed); n > 0 && w.changed[n-1].after.ID == id {
		return &w.changed[n-1]
	}
	row, registered := w.state.rows[id]
	if !registered {
		row = groupRow{ID: id, Shard: shardOf(id), Document: emptyDocument, CreatedAt: w.now.UnixMicro()}
	}
	g := changedGroup{before: row, after: row, fresh: !registered}
	g.after.UpdatedAt = w.now.UnixMicro()
	w.changed = append(w.changed, g)
	return &w.changed[len(w.changed)-1]
}

func (w *configWriter) registration(g *changedGroup, c policy.ConfigChange) {
	var stated struct{ Name, Locale *string }
	for _, d := range c.Diff {
		var text string
		if json.Unmarshal(d.After, &text) != nil {
			continue // absent: never of a registration
		}
		if d.Path == "/name" {
			stated.Name = &text
		} else {
			stated.Locale = &text
		}
	}
	g.after.Revision++
	if stated.Name != nil {
		g.after.Name = *stated.Name
	}
	if stated.Locale != nil {
		g.after.Locale = *stated.Locale
	}
	e := entry{action: "group.update", target: g.after.ID, groupID: g.after.ID, before: g.before.json(), after: g.after.json()}
	if g.fresh {
		e.action, e.before = "group.create", ""
	}
	w.entries = append(w.entries, e)
}

func (w *configWriter) policy(g *changedGroup, c policy.ConfigChange) {
	action, kind := "policy.update", "update"
	g.after.Document = emptyDocument
	if stated, _ := w.state.config.Group(c.GroupID); c.Op == policy.OpRemove {
		action, kind = "policy.delete", "delete"
	} else {
		g.after.Document = string(stated.Policy.JSON())
	}
	g.after.Version++
	w.versions = append(w.versions, Version{GroupID: c.GroupID, Version: g.after.Version, Kind: kind})
	w.entries = append(w.entries, entry{
		action: action, target: c.GroupID, groupID: c.GroupID, before: g.before.Document, after: g.after.Document,
	})
}

func (w *configWriter) exemption(g *changedGroup, c policy.ConfigChange) {
	g.after.ExemptionsVersion = g.before.ExemptionsVersion + 1
	e := entry{action: "exemption.update", target: c.Target, groupID: c.GroupID}
	if row, there := w.state.entries[exemptionKey{c.GroupID, c.Target}]; there {
		was := row.public()
		e.before = was.json()
	}
	switch c.Op { //nolint:exhaustive // unchanged is none
	case policy.OpRemove:
		e.action = "exemption.remove"
		g.after.ExemptionsCount--
		w.gone = append(w.gone, exemptionKey{c.GroupID, c.Target})
	case policy.OpCreate:
		e.action = "exemption.add"
		g.after.ExemptionsCount++
		fallthrough
	default:
		row := w.exemptionRow(c)
		is := row.public()
		e.after = is.json()
		w.put = append(w.put, putExemption{c.GroupID, row})
	}
	w.entries = append(w.entries, e)
}

func (w *configWriter) exemptionRow(c policy.ConfigChange) exemptionRow {
	row := exemptionRow{UserID: c.Target, GrantedBy: w.actor.Name, GrantedAt: w.now.UnixMicro()}
	g, _ := w.state.config.Group(c.GroupID)
	i, found := slices.BinarySearchFunc(g.Exemptions, c.Target, func(e policy.ExemptionConfig, user string) int {
		return strings.Compare(e.UserID, user)
	})
	if found {
		row.ExpiresAt, row.Note = micros(g.Exemptions[i].ExpiresAt), g.Exemptions[i].Note
	}
	return row
}
